use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib", "$FindBin::Bin/..";

use File::Temp ();
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

use TestPlan      ();
use TestRecords   ();
use Larder::Cache ();
use Larder::Phase ();
use Larder::Plan  ();

# A cache that refuses every value, and is slow to explain why.
package Refusing {    ## no critic (RequireFilenameMatchesPackage)
    use parent -norequire, 'Larder::Cache';
    sub set { return 0 }

    sub refusal {
        Time::HiRes::sleep(0.05);
        return Larder::Failure->new(other => 'not today');
    }
}

# The result of a phase of ten sets, and the time that it took by this test's clock.
sub ten_sets ($cache) {
    my $folder = File::Temp->newdir;
    my $plan   = TestPlan->new("$folder", keys => ['key']);
    my @sets   = map { [ set => 0, $plan->value(0, 50) ] } 1 .. 10;
    $plan->phase({ operations => ['set'] }, \@sets);
    my $loaded = Larder::Plan->read_from($plan->write);
    my $records = TestRecords->receive("$folder");
    my $phase = Larder::Phase->new(plan => $loaded, cache => $cache, phase => 0, process => 0);
    my $began = clock_gettime(CLOCK_MONOTONIC);
    $phase->run(sub { });
    my $took_ns = (clock_gettime(CLOCK_MONOTONIC) - $began) * 1e9;
    return ($records->counts($plan, 0)->[0], $took_ns);
}

my ($refused, $took_ns) = ten_sets(bless {}, 'Refusing');
is_deeply $refused->{operations}{set}{errors_by_kind}, { other => 10 }, 'each refusal is explained';
cmp_ok $refused->{wall_ns}, '<', $took_ns - 10 * 50_000_000 + 1_000_000, 'while the clock stands still';

done_testing;
