use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib", "$FindBin::Bin/..";

use File::Temp ();
use Test::More;

use TestGuest           ();
use TestPlan            ();
use Larder::Cache       ();
use Larder::Cache::Null ();
use Larder::Judge       ();
use Larder::Phase       ();
use Larder::Plan        ();
use Larder::Processes   ();
use Larder::Protocol    ();

# The cache is tampered with by commands between the phases of a plan, and what the gets find is compared.
my $folder = File::Temp->newdir;
my $guest  = TestGuest->start('fastmmap', options => { page_size => 65_536 });
my $plan   = TestPlan->new("$folder", keys => [ map { "key-$_" } 0 .. 9 ]);
my @old    = map { $plan->value($_, 200) } 0 .. 9;
my @new    = map { $plan->value($_, 300) } 0 .. 9;
my $short  = $plan->value(9, 20);

# 0 newest, 1 older, 2 truncated, 3 other key's, 4 nothing, 5 empty, 6 longer, 7 one bit, 9 a short one without header.
$guest->set('key-0', $plan->text($new[0]));
$guest->set('key-1', $plan->text($old[1]));
$guest->set('key-2', substr $plan->text($new[2]), 0, 299);
$guest->set('key-3', $plan->text($new[4]));
$guest->set('key-5', '');
$guest->set('key-6', $plan->text($new[6]) . 'x');
$guest->set('key-7', $plan->text($new[7]) ^. ("\0" x 150 . "\1"));
$guest->set('key-9', $plan->text($short));

# What gets find that expect the given value of each key.
sub found (@expected) {
    my @get = map { [ get => $_, $expected[$_] ] } 0 .. $#expected;
    $plan->{phases} = [];
    $plan->phase({ operations => ['get'] }, \@get);
    my ($ran) = $guest->run_plan($plan);
    my $get = $ran->[0]{operations}{get};
    return [ @$get{qw(hits misses wrong truncated)} ];
}

is_deeply found(@new[ 0 .. 7 ]), [ 1, 1, 6, 2 ], 'the newest, a miss, and six that are wrong, two of them truncated';
is_deeply found($old[0], $old[1]), [ 2, 0, 0, 0 ], 'a value that came later than the expected one is right';
is_deeply found($new[0], $new[1]), [ 1, 0, 1, 0 ], 'one that came earlier is not';
is_deeply found(0, 0), [ 2, 0, 0, 0 ], 'where any is expected, every one of the key is right';
is_deeply found(0, 0, 0, 0), [ 2, 0, 2, 1 ], 'but none of another key, and no part of one';
is_deeply found((0) x 8, 0, $short), [ 2 + 1, 2, 5, 2 ], 'a value without a header is right';

# In which way what gets find is wrong.
sub wrong (@expected) {
    found(@expected);
    my $get = $guest->result($plan, 0)->[0]{operations}{get};
    return ([ @$get{qw(wrong truncated stale other_key damaged)} ], $get->{wrong_examples});
}

subtest 'each way in which a value is wrong is told' => sub {
    my ($counts, $examples) = wrong(@new[ 0 .. 7 ]);
    is_deeply $counts, [ 6, 2, 1, 1, 2 ], 'two cut short, an older one, another key\'s, one too long and one with a flipped bit';
    is_deeply [ map { [ $_, @{ $examples->{$_} }{qw(key value length)} ] } sort keys %$examples ],
        [ [ damaged => 6, $new[6], 301 ], [ other_key => 3, $new[3], 300 ], [ stale => 1, $new[1], 200 ], [ truncated => 2, $new[2], 299 ] ],
        'the first of each';
    is $examples->{other_key}{begins}, unpack('H*', $plan->text($new[4])), 'with its bytes';
    my $earlier = $plan->stranger(0, 77_777, 300);
    $guest->set('key-0', $earlier);
    is_deeply [ wrong($new[0]) ], [ [ 1, 0, 1, 0, 0 ], { stale => { key => 0, value => $new[0], length => 300, begins => unpack('H*', $earlier) } } ],
        'a value of an earlier round is stale';
    $guest->set('key-0', substr $plan->stranger(1, 77_777, 300), 0, 100);
    is_deeply +(wrong($new[0]))[0], [ 1, 0, 0, 1, 0 ], 'one of another key is so, cut short too';
    substr my $forged = $earlier, 9, 1, "\xff";
    $guest->set('key-0', $forged);
    is_deeply +(wrong($new[0]))[0], [ 1, 0, 0, 0, 1 ], 'one with a damaged header is damaged';
    my @short = ($plan->value(8, 12), $plan->value(8, 12));
    $guest->set('key-8', $plan->text($short[0]));
    is_deeply +(wrong((0) x 8, $short[1]))[0]->[2], 1, 'an older one without a header is stale';
    $guest->set('key-8', substr $plan->text($short[1]), 0, 5);
    is_deeply +(wrong((0) x 8, $short[1]))[0]->[1], 3, 'a part of one is truncated';
    $guest->delete('key-8');
    $guest->set('key-0', $plan->text($new[0]));
};

subtest 'after a set that failed every value of the key is right' => sub {
    $plan->value(1, 90_000);
    $plan->{phases} = [];
    my $large = $plan->{newest}{1};
    $plan->phase({ operations => ['set'] }, [ [ set => 1, $large ] ]);
    $plan->phase({ operations => ['get'] }, [ [ get => 1, $large ] ]);
    my ($sets, $gets) = map { $_->[0] } $guest->run_plan($plan);
    is_deeply $sets->{failed}, [$large], 'the value that was not taken is named';
    my $set = $sets->{operations}{set};
    is_deeply [ @$set{qw(ops errors succeeded bytes)} ], [ 1, 1, 0, 0 ], 'it is an error';
    is_deeply $set->{errors_by_kind}, { too_large => 1 }, 'with a kind';
    like $sets->{first_error}, qr/do not fit into a page/, 'in words';
    my $get = $gets->{operations}{get};
    is $get->{hits} + $get->{misses}, 1, 'what is there is not called wrong';
};

use constant NOTHING => 0xFFFF_FFFF;

subtest 'what is there after a delete is wrong' => sub {
    # A delete that the cache acknowledges, and one after which somebody brings the value back.
    my ($gone, $back) = map { $plan->value($_, 40) } 4, 5;
    for my $multiget (1, 2) {
        $plan->{phases} = [];
        $plan->phase({ operations => [qw(set delete)] },
            [ [ set => 4, $gone ], [ set => 5, $back ], [ delete => 4 ], [ delete => 5 ] ]);
        $plan->phase({ operations => [ $multiget > 1 ? 'get_many' : 'get' ], multiget => $multiget },
            [ [ get => 4, NOTHING ], [ get => 5, NOTHING ] ]);
        $guest->ask('load ' . $plan->write);
        $guest->ask('run 0');
        $guest->set('key-5', $plan->text($back));
        $guest->ask('run 1');
        my ($get) = values %{ $guest->result($plan, 1)->[0]{operations} };
        is_deeply [ @$get{qw(hits misses wrong truncated bytes)} ], [ 0, 1, 1, 0, 40 ], "in requests of $multiget";
        is $get->{stale}, 1, 'it is stale';
        is_deeply [ @$get{qw(planned_misses succeeded)} ], [ 1, 1 ], 'and what is gone is a right answer';
        my $timed = 0;
        $timed += $_->[1] for @{ $get->{latencies} };
        is $timed, 1, 'with a latency';
    }
};

# A cache that does not delete.
package Stubborn {    ## no critic (RequireFilenameMatchesPackage)
    use parent -norequire, 'Larder::Cache::Null';
    sub delete { return undef }    ## no critic (ProhibitExplicitReturnUndef, ProhibitBuiltinHomonyms)
}

for my $processes (1, 2) {
    subtest "after a delete that failed it is not, with $processes processes" => sub {
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

subtest 'a fill that is refused is a miss that did not succeed' => sub {
    my $value = $plan->value(8, 90_000);
    $plan->{phases} = [];
    $plan->phase({ operations => ['get_or_set'] }, [ [ get_or_set => 8, $value ] ]);
    my ($ran) = $guest->run_plan($plan);
    my $fill = $ran->[0]{operations}{get_or_set};
    is_deeply [ @$fill{qw(ops misses errors failed_fills succeeded)} ], [ 1, 1, 0, 1, 0 ], 'and no error';
    is_deeply $ran->[0]{failed}, [$value], 'its value is named';
};

subtest 'a fill goes where the plan says' => sub {
    my $value = $plan->value(0, 64);
    $plan->{phases} = [];
    $guest->delete("key-$_") for 0, 1;
    $plan->phase({ operations => ['get_or_set'] }, [ map { [ get_or_set => 0, $value, 1 ] } 1 .. 5 ]);
    my ($ran) = $guest->run_plan($plan);
    is $ran->[0]{operations}{get_or_set}{misses}, 5, 'a script that stores under the wrong key never hits';
    is $guest->get('key-1'), $plan->text($value), 'and that key has the value';
};

subtest 'where everything fails it gives up' => sub {
    my $value = $plan->value(3, 90_000);
    $plan->{phases} = [];
    $plan->phase({ operations => ['set'] }, [ map { [ set => 3, $value ] } 1 .. 200 ]);
    my $answer = $guest->ask('load ' . $plan->write) && $guest->ask('run 0');
    is $answer->{kind}, 'too_large', 'and says which kind of failure it was';
    like $answer->{error}, qr/^gave up after 100 failures in a row: key and value of/, 'and how many';
};

subtest 'time ends a phase' => sub {
    my $null = TestGuest->start('null');
    my $endless = TestPlan->new("$folder", keys => ['key'], replays => 1);
    my $value   = $endless->value(0, 100);
    my %limited = (time_limit_s => 0.5, again => JSON::PP::true);
    $endless->phase({ operations => ['set'], %limited }, [ map { [ set => 0, $value ] } 1 .. 5000 ]);
    $null->ask('load ' . $endless->write);
    $null->send("run 0\n");
    my $alive = $null->answer->{alive};
    cmp_ok $alive, '>', 5000, 'the operations come again and again, and it says how far it is';
    my $answer;
    do { $answer = $null->answer } while exists $answer->{alive};
    is $answer->{ran}, 0, 'then it is over';
    open my $file, '<', "$folder/ran-0-0.json" or die "no result: $!\n";
    my $ran = JSON::PP->new->decode(scalar readline $file);
    cmp_ok abs($ran->{wall_ns} / 1e9 - 0.5), '<', 0.1, 'after the time that was given';
    my $slots = @{ $ran->{operations}{set}{timeline}{ops} };
    ok $slots >= 17 && $slots <= 32, 'with 17 to 32 slots of time';
    cmp_ok $alive, '<', $ran->{operations}{set}{ops}, 'and more operations than were told before';
};

done_testing;
