package Larder;

# The calls of the class Larder that store under a condition, or make a new value of the one that is there.

use v5.36;

use Larder::Error   ();
use Larder::Library ();

# Stores a value where the key is absent; whether it was.
sub add ($self, $key, $value, $ttl = undef) {
    return $self->_put(\&Larder::Library::larder_add, $key, $value, $ttl);
}

# Stores a value where the key is there; whether it was.
sub replace ($self, $key, $value, $ttl = undef) {
    return $self->_put(\&Larder::Library::larder_replace, $key, $value, $ttl);
}

# Stores a value where the key still has the version of `gets`; whether it had.
sub cas ($self, $key, $value, $version, $ttl = undef) {
    Larder::Error->throw('argument', 'the version is undefined; take the one of gets') if !defined $version;
    return $self->_put(\&Larder::Library::larder_cas, $key, $value, $ttl, $version);
}

sub _put ($self, $put, $key, $value, $ttl, @expected) {
    my ($bytes, $flags) = $self->_stored($value);
    my @entry = ($key, _length($key), $bytes, length $bytes, _ttl($ttl), $flags, @expected, undef);
    return $self->_done(sub { $put->($self->[_SESSION], @entry) }) == 0;
}

# Puts bytes behind the value of a key; whether it was there.
sub append ($self, $key, $bytes) {
    return $self->_join(\&Larder::Library::larder_append, $key, $bytes);
}

# Puts bytes before the value of a key; whether it was there.
sub prepend ($self, $key, $bytes) {
    return $self->_join(\&Larder::Library::larder_prepend, $key, $bytes);
}

sub _join ($self, $join, $key, $bytes) {
    utf8::downgrade($bytes, 1)
        or Larder::Error->throw('argument', 'the bytes to join are characters; encode them as the value is encoded');
    my @entry = ($key, _length($key), $bytes, length $bytes, undef);
    return $self->_done(sub { $join->($self->[_SESSION], @entry) }) == 0;
}

# Adds to a whole number, and returns the new one. An absent key becomes `initial`, or stays absent: undef.
sub incr ($self, $key, $delta = 1, $initial = undef, $ttl = undef) {
    return $self->_count(\&Larder::Library::larder_incr, $key, $delta, $initial, $ttl);
}

# Takes from a whole number, which stops at 0. An absent key becomes `initial`, or stays absent: undef.
sub decr ($self, $key, $delta = 1, $initial = undef, $ttl = undef) {
    return $self->_count(\&Larder::Library::larder_decr, $key, $delta, $initial, $ttl);
}

sub _count ($self, $count, $key, $delta, $initial, $ttl) {
    _whole('the step', $delta);
    my $absent = defined $initial ? pack('Q q', _whole('the initial number', $initial), _ttl($ttl)) : undef;
    my $number;
    my $code = $self->_done(sub {
        $count->($self->[_SESSION], $key, _length($key), $delta, $absent, \$number);
    });
    return $code == 0 ? $number : undef;
}

# A whole number, such as the step of a counter.
sub _whole ($what, $number) {
    return $number if $number =~ /\A[0-9]+\z/;
    Larder::Error->throw('argument', "$what is `$number`; write a whole number from 0 on");
}

1;
