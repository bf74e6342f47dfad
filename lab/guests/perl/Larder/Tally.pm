package Larder::Tally;

# Counts, latencies and time line of one operation, made from the loop's notes.

use v5.36;

use Larder::Block    ();
use Larder::Timeline ();

use constant {
    RIGHT   => Larder::Block::RIGHT,
    FILLED  => Larder::Block::FILLED,
    PLANNED => Larder::Block::PLANNED,
};

# The ways in which a value is wrong.
my %WRONG = (
    damaged   => Larder::Block::DAMAGED,
    truncated => Larder::Block::TRUNCATED,
    stale     => Larder::Block::STALE,
    other_key => Larder::Block::OTHER_KEY,
);
# The result has at most this many bytes of a wrong value.
use constant TOLD_BYTES => 65_536;

sub new ($class, $is_read) {
    return bless {
        is_read   => $is_read,
        ops       => 0,
        outcomes  => [ (0) x Larder::Block::OUTCOMES ],
        requests  => 0,
        bytes     => 0,
        busy_ns   => 0,
        latencies => {},
        kinds     => {},
        examples  => {},
        timeline  => Larder::Timeline->new,
    }, $class;
}

# Adds the operations of a block from `$from` to `$to`, all of this kind, of which the first began at `$then`. The code
# is written out as the loop's is, for it takes as long.
sub add_run ($self, $block, $from, $to, $then) {
    my ($outcome, $want, $end, $bytes_of) = @$block{qw(outcome want end bytes_of)};
    my ($latencies, $outcomes, $timeline) = @$self{qw(latencies outcomes timeline)};
    my ($bin_ops, $slowest, $bytes, $began) = (0, 0, 0, $then);
    my $bin_end = $timeline->bin_end($end->[$from]);
    for my $n ($from .. $to) {
        my $at   = $end->[$n];
        my $took = $at - $then;
        $then = $at;
        if ($at >= $bin_end) {
            $timeline->add($bin_end - 1, $slowest, $bin_ops);
            ($bin_ops, $slowest) = (0, 0);
            $bin_end = $timeline->bin_end($at);
        }
        $bin_ops++;
        $slowest = $took if $took > $slowest;
        my $what = $outcome->[$n];
        $outcomes->[$what]++;
        if ($what) {
            next if $what != FILLED && $what != PLANNED;
            $bytes -= length $want->[$n] if $what == PLANNED;
        }
        $bytes += length $want->[$n];
        $latencies->{ $took < 1_000 ? $took : $took < 10_000 ? int($took / 10 + 0.5) * 10 : _rounded($took) }++;
    }
    $timeline->add($bin_end - 1, $slowest, $bin_ops);
    # Values whose length is not the expected one, right or wrong.
    if (%$bytes_of) {
        for my $n ($from .. $to) {
            my $length = $bytes_of->{$n} // next;
            $bytes += $length - ($outcome->[$n] == RIGHT ? length $want->[$n] : 0);
        }
    }
    $self->{ops}     += $to - $from + 1;
    $self->{busy_ns} += $then - $began;
    $self->{bytes}   += $bytes;
    return;
}

# Adds a request of many keys: the outcome of each key, and the bytes of all values.
sub add_request ($self, $outcomes, $at, $took, $bytes) {
    $self->{ops} += @$outcomes;
    $self->{outcomes}[$_]++ for @$outcomes;
    $self->{busy_ns} += $took;
    $self->{bytes}   += $bytes;
    $self->{timeline}->add($at, $took, scalar @$outcomes);
    $self->{latencies}{ _rounded($took) }++ if grep { $_ == RIGHT || $_ == PLANNED } @$outcomes;
    return;
}

# Rounds to three digits: more digits tell nothing, and few different latencies remain.
sub _rounded ($took) {
    my $unit = $took < 1_000 ? 1 : $took < 10_000 ? 10 : $took < 100_000 ? 100 : 1_000;
    $unit *= 10 while $took >= 1_000 * $unit;
    return int($took / $unit + 0.5) * $unit;
}

sub error ($self, $kind) {
    $self->{kinds}{$kind}++;
    return;
}

# Keeps the first value that is wrong in each way, with the key and the value asked for.
sub add_wrong ($self, $block, $of_outcome) {
    for my $name (keys %WRONG) {
        my ($n, $got) = @{ $of_outcome->{ $WRONG{$name} } // next };
        my $is_own = $block->{under_index}[$n] == $block->{key_index}[$n];
        $self->{examples}{$name} //= {
            key    => $block->{key_index}[$n],
            value  => $is_own ? $block->{value}[$n] : 0,
            length => length $got,
            begins => unpack('H*', substr $got, 0, TOLD_BYTES),
        };
    }
    return;
}

# The counts for the result of a phase that lasted `$wall_ns`.
sub over ($self, $wall_ns) {
    my ($right, $misses, $damaged, $truncated, $errors, $filled, $unfilled, $stale, $other_key, $planned)
        = @{ $self->{outcomes} };
    my $latencies = $self->{latencies};
    return {
        ops            => $self->{ops},
        hits           => $self->{is_read} ? $right : 0,
        misses         => $misses + $filled + $unfilled + $planned,
        planned_misses => $planned,
        wrong          => $damaged + $truncated + $stale + $other_key,
        truncated      => $truncated,
        stale          => $stale,
        other_key      => $other_key,
        damaged        => $damaged,
        wrong_examples => $self->{examples},
        errors         => $errors,
        failed_fills   => $unfilled,
        succeeded      => $right + $filled + $planned,
        bytes          => $self->{bytes},
        busy_ns        => $self->{busy_ns},
        latencies      => [ map { [ $_ + 0, $latencies->{$_} ] } sort { $a <=> $b } keys %$latencies ],
        errors_by_kind => $self->{kinds},
        timeline       => $self->{timeline}->over($wall_ns),
    };
}

1;
