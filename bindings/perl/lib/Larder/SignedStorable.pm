package Larder::SignedStorable;

# Any value that Storable takes, objects too, signed: only who knows the key can store what another program thaws.

use v5.36;

use Digest::SHA qw(hmac_sha256);
use Storable    ();

# The mark of Perl's values, which no other language reads.
use constant FLAGS => 66;

# The shortest key that nobody guesses, and the length of a signature.
use constant { LEAST_KEY => 16, SIGNATURE => 32 };

sub new ($class, $key) {
    my $length = length $key;
    die "the key has $length bytes; take 16 random bytes or more\n" if $length < LEAST_KEY;
    return bless { key => $key }, $class;
}

# The bytes of a value, and their mark.
sub dumps ($self, $value) {
    my $bytes = Storable::nfreeze(\$value);
    return (hmac_sha256($bytes, $self->{key}) . $bytes, FLAGS);
}

# The value of these bytes.
sub loads ($self, $bytes, $flags) {
    die "a stored value has the flags $flags, which SignedStorable does not read\n" if $flags != FLAGS;
    my $signature = substr $bytes, 0, SIGNATURE, '';
    if (!_equal($signature, hmac_sha256($bytes, $self->{key}))) {
        die "a stored value has no valid signature: it was stored with another key, or by somebody else\n";
    }
    return ${ Storable::thaw($bytes) };
}

# Compares in a time that does not depend on the place of the first difference.
sub _equal ($one, $other) {
    return 0 if length $one != length $other;
    return unpack('%32C*', $one ^. $other) == 0;
}

1;
