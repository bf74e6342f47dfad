package Larder::Timeline;

# The course of a phase: operations, and the slowest of them, in slots of equal length from its start. There are at most
# 32 slots, whose length is a power of two of nanoseconds. After the last slot, neighbours are merged and the length
# doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 slots.

use v5.36;

use constant {
    SLOTS       => 32,
    SHORTEST_NS => 1024,
};

sub new ($class) {
    return bless { slot_ns => SHORTEST_NS, end_ns => SLOTS * SHORTEST_NS, ops => [], max_ns => [] }, $class;
}

# Adds operations that ended at `$at`, in nanoseconds from the start, and that took `$took`.
sub add ($self, $at, $took, $ops = 1) {
    $self->_double while $at >= $self->{end_ns};
    my $slot = int($at / $self->{slot_ns});
    $self->{ops}[$slot] += $ops;
    $self->{max_ns}[$slot] = $took if $took > ($self->{max_ns}[$slot] // -1);
    return;
}

# The end of the slot that is open at this instant.
sub slot_end ($self, $at) {
    $self->_double while $at >= $self->{end_ns};
    my $slot_ns = $self->{slot_ns};
    return (int($at / $slot_ns) + 1) * $slot_ns;
}

# The slots of a phase that lasted `$wall_ns`, for its result.
sub over ($self, $wall_ns) {
    $self->_double while $wall_ns >= $self->{end_ns};
    my ($ops, $max_ns) = @$self{qw(ops max_ns)};
    my @slots = 0 .. int($wall_ns / $self->{slot_ns});
    return {
        slot_ns => $self->{slot_ns},
        ops     => [ map { $_ // 0 } @$ops[@slots] ],
        max_ns  => [ map { $_ // 0 } @$max_ns[@slots] ],
    };
}

sub _double ($self) {
    my (@ops, @max_ns);
    for my $slot (0 .. $#{ $self->{ops} }) {
        next if !defined $self->{ops}[$slot];
        my $half = $slot >> 1;
        my $max  = $self->{max_ns}[$slot];
        $ops[$half] += $self->{ops}[$slot];
        $max_ns[$half] = $max if $max > ($max_ns[$half] // -1);
    }
    @$self{qw(ops max_ns)} = (\@ops, \@max_ns);
    $self->{$_} *= 2 for qw(slot_ns end_ns);
    return;
}

1;
