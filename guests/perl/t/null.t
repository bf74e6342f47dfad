use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib";

use File::Temp ();
use Test::More;

use TestGuest ();
use TestPlan  ();

my $guest = TestGuest->start('null');
is $guest->opened->{cache}, 'null', 'the guest says which cache it has';
like $guest->opened->{language}, qr/^perl 5\.\d+\.\d+$/, 'and which language';

is $guest->get('a'), undef, 'nothing is there at first';
ok $guest->set('a', "line\nfeed")->{stored}, 'a value is stored';
is $guest->get('b'), "line\nfeed", 'what was set last comes back, whatever the key';

my $folder = File::Temp->newdir;
my $plan   = TestPlan->new("$folder", keys => [ map { "key-$_" } 0 .. 99 ], replays => 1);
my @values = map { $plan->value($_, $_ < 5 ? $_ : 100) } 0 .. 99;
$plan->phase({ operations => ['set'] }, [ map { [ set => $_, $values[$_] ] } 0 .. 99 ]);
$plan->phase({ operations => ['get'] }, [ map { [ get => $_, $values[$_] ] } 0 .. 99, 0 .. 99 ]);
my ($sets, $gets) = map { $_->[0] } $guest->run_plan($plan);

my $set = $sets->{operations}{set};
my @set = @$set{qw(ops succeeded errors hits misses bytes)};
is_deeply \@set, [ 100, 100, 0, 0, 0, 10 + 95 * 100 ], 'sets are counted';
my $get = $gets->{operations}{get};
is_deeply [ @$get{qw(ops hits misses wrong succeeded bytes)} ], [ 200, 200, 0, 0, 200, 20_000 ], 'and gets';

for my $ran ($sets, $gets) {
    my ($name) = keys %{ $ran->{operations} };
    my $found = $ran->{operations}{$name};
    my ($latencies, $slots) = (0, 0);
    $latencies += $_->[1] for @{ $found->{latencies} };
    $slots     += $_      for @{ $found->{timeline}{ops} };
    is $latencies, $found->{succeeded}, "$name: as many latencies as successes";
    is $slots,     $found->{ops},       "$name: every operation is on the time line";
    is $found->{busy_ns}, $ran->{wall_ns}, "$name: one process alone is always busy";
    cmp_ok $ran->{cpu_user_ns} + $ran->{cpu_system_ns}, '>', 0, "$name: CPU time is told";
    cmp_ok $ran->{rss_bytes}, '>', 1_000_000, "$name: memory is told";
}

is $guest->end, 0, 'the guest ends when it is told to';

done_testing;
