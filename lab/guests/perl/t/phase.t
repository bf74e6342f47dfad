use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib", "$FindBin::Bin/..";

use File::Temp ();
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

use TestPlan            ();
use Larder::Cache       ();
use Larder::Cache::Null ();
use Larder::Judge       ();
use Larder::Phase       ();
use Larder::Plan        ();
use Larder::Processes   ();
use Larder::Protocol    ();

use constant NOTHING => 0xFFFF_FFFF;

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
    my $phase  = Larder::Phase->new(plan => $loaded, cache => $cache, judge => Larder::Judge->new($loaded),
        phase => 0, process => 0);
    my $began = clock_gettime(CLOCK_MONOTONIC);
    $phase->run(sub { });
    my $took_ns = (clock_gettime(CLOCK_MONOTONIC) - $began) * 1e9;
    $phase->write_result("$folder");
    return (Larder::Plan::read_json("$folder/ran-0-0.json"), $took_ns);
}

my ($refused, $took_ns) = ten_sets(bless {}, 'Refusing');
is_deeply $refused->{operations}{set}{errors_by_kind}, { other => 10 }, 'each refusal is explained';
cmp_ok $refused->{wall_ns}, '<', $took_ns - 10 * 50_000_000 + 1_000_000, 'while the clock stands still';

# A cache that does not delete.
package Stubborn {    ## no critic (RequireFilenameMatchesPackage)
    use parent -norequire, 'Larder::Cache::Null';
    sub delete { return undef }    ## no critic (ProhibitExplicitReturnUndef, ProhibitBuiltinHomonyms)
}

for my $processes (1, 2) {
    subtest "after a delete that failed a hit is right, with $processes processes" => sub {
        my $folder = File::Temp->newdir;
        my $kept  = TestPlan->new("$folder", keys => ['stays'], processes => $processes);
        my $value = $kept->value(0, 40);
        my @idle  = map { [] } 2 .. $processes;
        $kept->phase({ operations => [qw(set delete)] }, [ [ set => 0, $value ], [ delete => 0 ] ], @idle);
        $kept->phase({ operations => [qw(set get)] }, [ [ set => 0, $value ], [ get => 0, NOTHING ] ], @idle);
        my $loaded = Larder::Plan->read_from($kept->write);
        my %parts  = (plan => $loaded, judge => Larder::Judge->new($loaded), cache => Stubborn->open_cache({}));
        pipe my $commands, my $to_guest or die "cannot make a pipe: $!\n";
        open my $answers, '>', '/dev/null' or die "cannot open /dev/null: $!\n";
        for my $phase (0, 1) {
            if ($processes > 1) {
                Larder::Processes->new(Larder::Protocol->new($commands, $answers), %parts, phase => $phase)->run(sub { });
                next;
            }
            my $alone = Larder::Phase->new(%parts, phase => $phase, process => 0);
            $alone->run(sub { });
            $alone->write_result("$folder");
        }
        my $get = Larder::Plan::read_json("$folder/ran-1-0.json")->{operations}{get};
        is_deeply [ @$get{qw(hits wrong)} ], [ 1, 0 ], 'what it should have deleted may be there';
    };
}

done_testing;
