package Larder::JSON;

# Values that are neither text nor numbers, as JSON: it runs no code of a stored value.

use v5.36;

use JSON::PP ();

# Every package of Larder marks JSON by this number.
use constant FLAGS => 32;

sub new ($class) {
    my $codec = eval { require Cpanel::JSON::XS; Cpanel::JSON::XS->new } // JSON::PP->new;
    return bless { codec => $codec->utf8->canonical->allow_nonref }, $class;
}

# The bytes of a value, and their mark.
sub dumps ($self, $value) { return ($self->{codec}->encode($value), FLAGS) }

# The value of these bytes.
sub loads ($self, $bytes, $flags) {
    die "a stored value has the flags $flags, which JSON does not read\n" if $flags != FLAGS;
    return $self->{codec}->decode($bytes);
}

1;
