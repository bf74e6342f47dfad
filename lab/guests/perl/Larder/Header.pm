package Larder::Header;

# The header of a value: the tag of its key, its version, its length and a checksum. With the seed of the plan it
# identifies any value of this run, also a value of an earlier round.

use v5.36;

use constant BYTES => 24;

no warnings 'portable';    ## no critic (ProhibitNoWarnings)
use constant {
    GAMMA  => 0x9e37_79b9_7f4a_7c15,
    FIRST  => 0xbf58_476d_1ce4_e5b9,
    SECOND => 0x94d0_49bb_1331_11eb,
};

# `seed` is the seed of the values, in 16 hexadecimal digits; values begin in the first `span` bytes of `pool`.
sub new ($class, $seed, $span, $pool) {
    return bless { seed => unpack('Q>', pack 'H16', $seed), span => $span, pool => $pool }, $class;
}

# The tag of the key with this index.
sub tag_of ($self, $key) { return _mix($self->{seed} ^ ($key << 1 | 1)) }

# The header of a value, for a program that composes values itself.
sub of ($self, $key, $version, $length) {
    my $tag = $self->tag_of($key);
    return pack 'Q<VVQ<', $tag, $version, $length, $self->_checksum($tag, $version, $length);
}

# The place in the pool where the value of this key and version begins.
sub offset ($self, $key, $version) { return $self->_offset($self->tag_of($key), $version) }

# The tag and the length in the header of a value of this run, which may be truncated behind its header. Empty where
# `$value` is no such value: a byte differs, or it has more bytes than its header says.
sub read_intact ($self, $value) {
    return if length $value < BYTES;
    my ($tag, $version, $length, $checksum) = unpack 'Q<VVQ<', $value;
    return if length $value > $length || $checksum != $self->_checksum($tag, $version, $length);
    my $at = $self->_offset($tag, $version);
    return if substr($value, BYTES) ne substr $self->{pool}->$*, $at + BYTES, length($value) - BYTES;
    return ($tag, $length);
}

sub _offset ($self, $tag, $version) { return _mix($tag ^ $version) % $self->{span} }

sub _checksum ($self, $tag, $version, $length) {
    return _mix($tag ^ _mix(($version << 32 | $length) ^ $self->{seed}));
}

# The finalizer of SplitMix64 (Steele, Lea, Flood 2014), modulo 2 to the 64th.
sub _mix ($x) {
    $x = _sum($x, GAMMA);
    $x = _product($x ^ ($x >> 30), FIRST);
    $x = _product($x ^ ($x >> 27), SECOND);
    return $x ^ ($x >> 31);
}

# Integers wrap around, where Perl would go on with floating point.
sub _sum ($one, $other) {
    use integer;
    return $one + $other;
}

sub _product ($one, $other) {
    use integer;
    return $one * $other;
}

1;
