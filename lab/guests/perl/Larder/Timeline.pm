package Larder::Timeline;

# The course of a phase: operations, and the slowest of them, in bins of equal length from its start. There are at most
# 32 bins, whose length is a power of two of nanoseconds. After the last bin, neighbours are merged and the length
# doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 bins.

use v5.36;

use constant {
    BINS       => 32,
    SHORTEST_NS => 1024,
};

sub new ($class) {
    return bless { bin_ns => SHORTEST_NS, end_ns => BINS * SHORTEST_NS, ops => [], max_ns => [] }, $class;
}

# Adds operations that ended at `$at`, in nanoseconds from the start, and that took `$took`.
sub add ($self, $at, $took, $ops = 1) {
    $self->_double while $at >= $self->{end_ns};
    my $bin = int($at / $self->{bin_ns});
    $self->{ops}[$bin] += $ops;
    $self->{max_ns}[$bin] = $took if $took > ($self->{max_ns}[$bin] // -1);
    return;
}

# The end of the bin that is open at this instant.
sub bin_end ($self, $at) {
    $self->_double while $at >= $self->{end_ns};
    my $bin_ns = $self->{bin_ns};
    return (int($at / $bin_ns) + 1) * $bin_ns;
}

# The bins of a phase that lasted `$wall_ns`, for its result.
sub over ($self, $wall_ns) {
    $self->_double while $wall_ns >= $self->{end_ns};
    my ($ops, $max_ns) = @$self{qw(ops max_ns)};
    my @bins = 0 .. int($wall_ns / $self->{bin_ns});
    return {
        bin_ns => $self->{bin_ns},
        ops     => [ map { $_ // 0 } @$ops[@bins] ],
        max_ns  => [ map { $_ // 0 } @$max_ns[@bins] ],
    };
}

sub _double ($self) {
    my (@ops, @max_ns);
    for my $bin (0 .. $#{ $self->{ops} }) {
        next if !defined $self->{ops}[$bin];
        my $half = $bin >> 1;
        my $max  = $self->{max_ns}[$bin];
        $ops[$half] += $self->{ops}[$bin];
        $max_ns[$half] = $max if $max > ($max_ns[$half] // -1);
    }
    @$self{qw(ops max_ns)} = (\@ops, \@max_ns);
    $self->{$_} *= 2 for qw(bin_ns end_ns);
    return;
}

1;
