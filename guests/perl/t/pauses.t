use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib", "$FindBin::Bin/..";

use File::Temp ();
use Test::More;
use Time::HiRes qw(sleep);

use TestPlan       ();
use Larder::Cache  ();
use Larder::Judge  ();
use Larder::Phase  ();
use Larder::Plan   ();

# A cache that refuses everything, and takes its time to say why.
package Refusing {    ## no critic (RequireFilenameMatchesPackage)
    use parent -norequire, 'Larder::Cache';
    sub set { return 0 }

    sub refusal {
        Time::HiRes::sleep(0.05);
        return Larder::Failure->new(other => 'not today');
    }
}

# The result of a phase of ten sets.
sub ten_sets ($cache) {
    my $folder = File::Temp->newdir;
    my $plan   = TestPlan->new("$folder", keys => ['key']);
    my @sets   = map { [ set => 0, $plan->value(0, 50) ] } 1 .. 10;
    $plan->phase({ operations => ['set'] }, \@sets);
    my $loaded = Larder::Plan->read_from($plan->write);
    my $phase  = Larder::Phase->new(plan => $loaded, cache => $cache, judge => Larder::Judge->new($loaded),
        phase => 0, process => 0);
    $phase->run(sub { });
    $phase->write_result("$folder");
    return Larder::Plan::read_json("$folder/ran-0-0.json");
}

my $refused = ten_sets(bless {}, 'Refusing');
is_deeply $refused->{operations}{set}{errors_by_kind}, { other => 10 }, 'each refusal is explained';
cmp_ok $refused->{wall_ns}, '<', 50_000_000, 'while the clock stands still';

done_testing;
