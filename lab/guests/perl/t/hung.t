use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib";

use File::Temp ();
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

use TestGuest ();
use TestPlan  ();

# A server that hangs, and a server that ends: the client reports both as misses.
my $server = TestGuest->memcached_or_not;
plan skip_all => 'memcached is not installed' if !$server;

my @names = qw(ops hits misses errors failed_fills succeeded);

sub client ($io_timeout, %options) {
    return TestGuest->start(memcached => servers => [ $server->address ],
        options => { connect => 'session', io_timeout => $io_timeout, %options });
}

# The first process's result of the only phase, or the error of the phase. The server hangs before the phase, and goes on
# when `$event` has happened. With `$event` undef it goes on after the phase.
sub run_hung ($guest, $plan, $event) {
    $guest->ask('load ' . $plan->write);
    $server->pause;
    $guest->send("run 0\n");
    return ran($guest, $plan, $event);
}

sub ran ($guest, $plan, $event) {
    if ($event) {
        $event->();
        $server->resume;
    }
    my $answer = $guest->last_answer;
    $server->resume;
    return exists $answer->{error} ? $answer : $guest->result($plan, 0)->[0];
}

# A request has timed out: its client closed the connection, and another connection waits in its place.
sub timed_out { return $server->wait_for_clients(1) }

sub new_plan ($name, $keys, %plan) {
    my $folder = File::Temp->newdir;
    my $plan   = TestPlan->new("$folder", keys => [ map { "$name-$_" } 0 .. $keys - 1 ], %plan, kept => $folder);
    my @values = map { $plan->value($_, 50) } 0 .. $keys - 1;
    return ($plan, @values);
}

sub counts ($of) { return [ map { $of->{$_} } @names ] }

subtest 'a get that times out is an error, and the later gets that miss are not' => sub {
    my ($plan, @values) = new_plan('get', 4);
    $plan->phase({ operations => ['get'] }, [ map { [ get => $_, $values[$_] ] } 0 .. 3 ]);
    my $get = run_hung(client(3), $plan, \&timed_out)->{operations}{get};
    is_deeply counts($get), [ 4, 0, 3, 1, 0, 0 ], 'one is, and three are not';
    is_deeply $get->{errors_by_kind}, { timeout => 1 }, 'timed out';
};

subtest 'a get that times out is an error, and the earlier gets that miss are not' => sub {
    my ($plan, @values) = new_plan('later', 4);
    $plan->phase({ operations => ['get'], time_limit_s => 5, again => JSON::PP::true },
        [ map { [ get => $_, $values[$_] ] } 0 .. 3 ]);
    my $guest = client(0.3);
    $guest->ask('load ' . $plan->write);
    $guest->send("run 0\n");
    $server->wait_for_gets;
    $server->pause;
    my $get = ran($guest, $plan, \&timed_out)->{operations}{get};
    cmp_ok $get->{errors}, '>', 0, 'some do';
    is_deeply $get->{errors_by_kind}, { timeout => $get->{errors} }, 'timed out';
    cmp_ok $get->{misses}, '>', 0, 'others miss';
    is $get->{misses} + $get->{errors}, $get->{ops}, 'and that is all';
};

subtest 'a get that times out before a fill is an error' => sub {
    my ($plan, @values) = new_plan('fill', 3);
    $plan->phase({ operations => ['get_or_set'] }, [ map { [ get_or_set => $_, $values[$_] ] } 0 .. 2 ]);
    my $ran  = run_hung(client(3), $plan, \&timed_out);
    my $fill = $ran->{operations}{get_or_set};
    is_deeply counts($fill), [ 3, 0, 2, 1, 0, 2 ], 'even if the server takes the value then';
    is_deeply $fill->{errors_by_kind}, { timeout => 1 }, 'by its name';
    is_deeply $ran->{failed}, [ $values[0] ], 'and the value may be there or not';
    ($plan, @values) = new_plan('nothing', 3);
    $plan->phase({ operations => ['get_or_set'] }, [ map { [ get_or_set => $_, $values[$_] ] } 0 .. 2 ]);
    $ran  = run_hung(client(0.3), $plan, undef);
    $fill = $ran->{operations}{get_or_set};
    is_deeply counts($fill), [ 3, 0, 0, 3, 0, 0 ], 'or takes nothing';
    is_deeply $fill->{errors_by_kind}, { timeout => 3 }, 'each once';
    is_deeply $ran->{failed}, \@values, 'and the value is not there';
};

subtest 'all keys of a request that times out are errors' => sub {
    my ($plan, @values) = new_plan('many', 50);
    $plan->phase({ operations => ['get_many'], multiget => 50 }, [ map { [ get => $_ % 50, $values[ $_ % 50 ] ] } 0 .. 199 ]);
    my $many = run_hung(client(3), $plan, \&timed_out)->{operations}{get_many};
    is_deeply counts($many), [ 200, 0, 150, 50, 0, 0 ], 'and those of others are not';
    is_deeply $many->{errors_by_kind}, { timeout => 50 }, 'each is counted';
};

subtest 'unawaited sets are awaited before the clock stops' => sub {
    my ($plan, @values) = new_plan('nowait', 5);
    $plan->phase({ operations => ['set'] }, [ map { [ set => $_, $values[$_] ] } 0 .. 4 ]);
    my $hung_s;
    my $ran = run_hung(
        client(60, nowait => JSON::PP::true),
        $plan,
        sub {
            $server->wait_for_request;
            my $began = clock_gettime(CLOCK_MONOTONIC);
            sleep 0.3;
            $hung_s = clock_gettime(CLOCK_MONOTONIC) - $began;
        });
    is $ran->{operations}{set}{succeeded}, 5, 'the client takes all sets at once';
    cmp_ok $ran->{wall_ns}, '>', $hung_s * 1e9, 'and the server takes its time';
    is client(5, nowait => JSON::PP::true, connect => 'operation')->opened->{unavailable},
        'nowait needs connect=session: a client closed after an operation waits for answers', 'or there is none';
};

subtest 'the phase is given up when every operation hangs' => sub {
    my ($plan, @values) = new_plan('mixed', 5);
    my @round = map { ([ set => $_, $values[$_] ], [ get => $_, $values[$_] ], [ get => 0, $values[0] ]) } 0 .. 4;
    $plan->phase({ operations => [qw(set get_many)], multiget => 2 }, [ (@round) x 10 ]);
    my $answer = run_hung(client(0.3), $plan, undef);
    my ($failures) = $answer->{error} =~ /^gave up after (\d+) failures in a row: no answer within io_timeout, 0.3 s/;
    cmp_ok $failures, '>', 1, 'after some';
    cmp_ok $failures, '<=', 18, 'which take 5 s';
    is $answer->{kind}, 'timeout', 'and says why';
};

done_testing;
