package Larder;

# The calls of the class Larder that take many keys at once.

use v5.36;

use FFI::Platypus::Buffer qw(buffer_to_scalar scalar_to_buffer);

use Larder::Error   ();
use Larder::Library ();

# Keys as bytes that stay while a batch is under way, and the structures that name them.
sub _keys (@keys) {
    my @bytes = map { defined ? "$_" : _no_key() } @keys;
    for (@bytes) { utf8::encode($_) if utf8::is_utf8($_) }
    return (\@bytes, pack 'Q*', map { scalar_to_buffer $_ } @bytes);
}

# The values of the keys that are there, by key.
sub get_many ($self, @keys) {
    my %found;
    return \%found if !@keys;
    my ($kept, $asked) = _keys(@keys);
    my $answers = "\0" x (@keys * Larder::Library::ENTRY_SIZE);
    my ($place) = scalar_to_buffer $answers;
    my ($code, @entries) = $self->_lend(
        sub ($session) { Larder::Library::larder_get_many($session, $asked, scalar @keys, $place) },
        sub (@) { map { _entry($answers, $_ * Larder::Library::ENTRY_SIZE) } 0 .. $#keys },
    );
    $self->_failed($code) if $code < 0;
    # Only now: a serializer may use this cache.
    for my $place (0 .. $#keys) {
        my ($bytes, $flags) = @{ $entries[$place] };
        $found{ $keys[$place] } = $self->_value($bytes, $flags) if defined $bytes;
    }
    return \%found;
}

# The bytes of an answer, and their mark; without bytes where the key is absent.
sub _entry ($answers, $at) {
    my ($code, $value, $length, undef, $flags) = unpack '@' . $at . Larder::Library::ENTRY, $answers;
    return [] if $code != Larder::Library::OK;
    return [ $length ? buffer_to_scalar($value, $length) : '', $flags ];
}

# Stores the values of a hash; the keys that were not stored, or their number.
sub set_many ($self, $values, $ttl = undef) {
    my @keys = sort keys %$values;
    my ($kept) = _keys(@keys);
    my $life   = _ttl($ttl);
    my @stored = map { [ $self->_stored($values->{$_}) ] } @keys;
    my $puts   = join '', map {
        my @places = (scalar_to_buffer($kept->[$_]), scalar_to_buffer($stored[$_][0]));
        pack Larder::Library::PUT, @places, $life, 0, $stored[$_][1], 0;
    } 0 .. $#keys;
    my $outcomes = pack('l x12', Larder::Library::E_NO_ANSWER) x @keys;
    my ($place) = scalar_to_buffer $outcomes;
    my @refused;
    if (@keys) {
        my ($code) = $self->_lend(sub ($session) {
            Larder::Library::larder_set_many($session, $puts, scalar @keys, $place);
        });
        my @codes = map { unpack '@' . $_ * Larder::Library::OUTCOME_SIZE . 'l', $outcomes } 0 .. $#keys;
        # An entry that was refused is told by its key. A batch that failed is an error.
        $self->_failed($code) if $code < 0 && grep { $_ == Larder::Library::E_NO_ANSWER } @codes;
        @refused = @keys[ grep { $codes[$_] != 0 } 0 .. $#keys ];
    }
    return @refused;
}

# Removes keys; the number of those that were there.
sub delete_many ($self, @keys) {
    return 0 if !@keys;
    my ($kept, $asked) = _keys(@keys);
    my $codes = "\0" x (@keys * 4);
    my ($place) = scalar_to_buffer $codes;
    $self->_done(sub { Larder::Library::larder_delete_many($self->[_SESSION], $asked, scalar @keys, $place) });
    return scalar grep { $_ == 0 } unpack 'l*', $codes;
}

1;
