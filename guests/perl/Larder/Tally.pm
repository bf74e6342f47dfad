package Larder::Tally;

# Counts, latencies and time line of one operation, made from what the loop noted.

use v5.36;

use Larder::Block    ();
use Larder::Timeline ();

use constant {
    RIGHT  => Larder::Block::RIGHT,
    FILLED => Larder::Block::FILLED,
};

sub new ($class, $is_read) {
    return bless {
        is_read   => $is_read,
        ops       => 0,
        outcomes  => [ (0) x 7 ],
        requests  => 0,
        bytes     => 0,
        busy_ns   => 0,
        latencies => {},
        kinds     => {},
        timeline  => Larder::Timeline->new,
    }, $class;
}

# The operations of a block from `$from` to `$to`, all of this kind, that ended after `$then`. Written out as
# the loop is, for it takes as long.
sub add_run ($self, $block, $from, $to, $then) {
    my ($outcome, $want, $end, $bytes_of) = @$block{qw(outcome want end bytes_of)};
    my ($latencies, $outcomes, $timeline) = @$self{qw(latencies outcomes timeline)};
    my ($slot_ops, $slowest, $bytes, $began) = (0, 0, 0, $then);
    my $slot_end = $timeline->slot_end($end->[$from]);
    for my $n ($from .. $to) {
        my $at   = $end->[$n];
        my $took = $at - $then;
        $then = $at;
        if ($at >= $slot_end) {
            $timeline->add($slot_end - 1, $slowest, $slot_ops);
            ($slot_ops, $slowest) = (0, 0);
            $slot_end = $timeline->slot_end($at);
        }
        $slot_ops++;
        $slowest = $took if $took > $slowest;
        my $what = $outcome->[$n];
        $outcomes->[$what]++;
        next if $what != RIGHT && $what != FILLED;
        $bytes += length $want->[$n];
        $latencies->{ $took < 1_000 ? $took : $took < 10_000 ? int($took / 10 + 0.5) * 10 : _rounded($took) }++;
    }
    $timeline->add($slot_end - 1, $slowest, $slot_ops);
    # What had another length than was expected, right or wrong.
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

# A request of many keys: the outcome of each, and the bytes of all.
sub add_request ($self, $outcomes, $at, $took, $bytes) {
    $self->{ops} += @$outcomes;
    $self->{outcomes}[$_]++ for @$outcomes;
    $self->{busy_ns} += $took;
    $self->{bytes}   += $bytes;
    $self->{timeline}->add($at, $took, scalar @$outcomes);
    $self->{latencies}{ _rounded($took) }++ if grep { $_ == RIGHT } @$outcomes;
    return;
}

# Three digits: no more can be told apart, and there are few different ones.
sub _rounded ($took) {
    my $unit = $took < 1_000 ? 1 : $took < 10_000 ? 10 : $took < 100_000 ? 100 : 1_000;
    $unit *= 10 while $took >= 1_000 * $unit;
    return int($took / $unit + 0.5) * $unit;
}

sub error ($self, $kind) {
    $self->{kinds}{$kind}++;
    return;
}

# What is written down of a phase that lasted so long.
sub over ($self, $wall_ns) {
    my ($right, $misses, $wrong, $truncated, $errors, $filled, $unfilled) = @{ $self->{outcomes} };
    my $latencies = $self->{latencies};
    return {
        ops            => $self->{ops},
        hits           => $self->{is_read} ? $right : 0,
        misses         => $misses + $filled + $unfilled,
        wrong          => $wrong + $truncated,
        truncated      => $truncated,
        errors         => $errors,
        failed_fills   => $unfilled,
        succeeded      => $right + $filled,
        bytes          => $self->{bytes},
        busy_ns        => $self->{busy_ns},
        latencies      => [ map { [ $_ + 0, $latencies->{$_} ] } sort { $a <=> $b } keys %$latencies ],
        errors_by_kind => $self->{kinds},
        timeline       => $self->{timeline}->over($wall_ns),
    };
}

1;
