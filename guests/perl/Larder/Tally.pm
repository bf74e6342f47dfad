package Larder::Tally;

# Counts, latencies and time line of one operation, made from what the loop noted.

use v5.36;

use Larder::Block    ();
use Larder::Timeline ();

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

# An operation: what came of it, when it ended and how long it took, the bytes that it moved.
sub add ($self, $outcome, $at, $took, $bytes) {
    $self->{ops}++;
    $self->{outcomes}[$outcome]++;
    $self->{busy_ns} += $took;
    $self->{bytes}   += $bytes;
    $self->{timeline}->add($at, $took);
    $self->latency($took) if $outcome == Larder::Block::RIGHT || $outcome == Larder::Block::FILLED;
    return;
}

# A request of many keys: the outcome of each, and the bytes of all.
sub add_request ($self, $outcomes, $at, $took, $bytes) {
    $self->{ops} += @$outcomes;
    $self->{outcomes}[$_]++ for @$outcomes;
    $self->{busy_ns} += $took;
    $self->{bytes}   += $bytes;
    $self->{timeline}->add($at, $took, scalar @$outcomes);
    $self->latency($took) if grep { $_ == Larder::Block::RIGHT } @$outcomes;
    return;
}

# Rounded to three digits: no more can be told apart, and there are few different ones.
sub latency ($self, $took) {
    my $unit = $took < 1_000 ? 1 : $took < 10_000 ? 10 : $took < 100_000 ? 100 : $took < 1_000_000 ? 1_000 : 10_000;
    $unit *= 10 while $took >= 1_000 * $unit;
    $self->{latencies}{ int($took / $unit + 0.5) * $unit }++;
    return;
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
