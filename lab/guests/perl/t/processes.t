use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib";

use File::Temp ();
use Test::More;
use Time::HiRes qw(sleep time);

use TestGuest ();
use TestPlan  ();

my $server = TestGuest->memcached_or_not;

# One process replaces large values of one key while two other processes read it. The readers get values that are
# thousands of versions newer than they expect.
subtest 'telling a newer value from a wrong one takes no time' => sub {
    my $folder   = File::Temp->newdir;
    my $plan     = TestPlan->new("$folder", keys => ['hot'], processes => 3);
    my $oldest   = $plan->value(0, 10_000);
    my @versions = map { $plan->value(0, 10_000) } 1 .. 4_000;
    my @get      = map { [ get => 0, $oldest ] } 1 .. 2_000;
    $plan->phase({ operations => ['set'] }, [ [ set => 0, $oldest ] ], [], []);
    $plan->phase({ operations => [qw(get set)] }, [ map { [ set => 0, $_ ] } @versions ], \@get, \@get);
    my (undef, $ran) = TestGuest->start('fastmmap')->run_plan($plan);
    my @gets = map { $_->{operations}{get} } @$ran[ 1, 2 ];
    is $_->{hits} + $_->{misses}, 2_000, 'no newer value is wrong' for @gets;
    cmp_ok $_->{busy_ns} / 2_000, '<', 500_000, 'and what precedes the newest of thousands is not gone through' for @gets;
};

# Each process sets its own keys and reads all keys in turn, so that runs of equal operations are short.
subtest 'counting what several processes did takes no longer than doing it' => sub {
    my $folder = File::Temp->newdir;
    my $plan   = TestPlan->new("$folder", keys => [ map { "key-$_" } 0 .. 8 ], processes => 3);
    my @first  = map { $plan->value($_, 100) } 0 .. 8;
    my @last   = @first;
    my @shares = map {
        my $process = $_;
        [
            map {
                my $own = 3 * ($_ % 3) + $process;
                my $any = int($_ / 7) % 9;
                $last[$own] = $plan->value($own, 100);
                ([ set => $own, $last[$own] ], [ get => $any, $any % 3 == $process ? $last[$any] : $first[$any] ]);
            } 1 .. 20_000
        ];
    } 0 .. 2;
    $plan->phase({ operations => ['set'] }, [ map { [ set => $_, $first[$_] ] } 0 .. 8 ], [], []);
    $plan->phase({ operations => [qw(get set)] }, @shares);
    my $guest = TestGuest->start('fastmmap');
    my $began = time;
    my (undef, $ran) = $guest->run_plan($plan);
    my $took = time - $began;
    is_deeply [ map { $_->{operations}{get}{hits} } @$ran ], [ (20_000) x 3 ], 'all values are right';
    my ($longest) = sort { $b <=> $a } map { $_->{wall_ns} / 1e9 } @$ran;
    cmp_ok $longest, '<', 60, 'the phase is not held up';
    cmp_ok $took - $longest, '<', 60, 'nor what follows it';
};

SKIP: {
    skip 'memcached is not installed', 1 if !$server;

    subtest 'a guest whose children do nothing says nothing' => sub {
        my $folder = File::Temp->newdir;
        my $plan   = TestPlan->new("$folder", keys => ['key'], processes => 2);
        my $value  = $plan->value(0, 100);
        my @gets   = map { [ get => 0, $value ] } 1 .. 100;
        $plan->phase({ operations => ['get'], time_limit_s => 600, again => JSON::PP::true }, \@gets, \@gets);
        my $guest = TestGuest->start('memcached', servers => [ $server->address ], options => { io_timeout => 60 });
        $guest->ask('load ' . $plan->write);
        $guest->send("run 0\n");
        ok $guest->answer->{alive} > 0, 'while they work it does';
        $server->pause;
        my $told = 0;
        $told++ while $told < 10 && $guest->answers_within(2.5) && $guest->answer->{alive};
        cmp_ok $told, '<', 10, 'what they did until then it tells, and then no more';
        $server->resume;
        ok $guest->answers_within(300), 'until they go on';
    };
}

done_testing;
