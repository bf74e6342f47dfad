package Larder;

# The calls of the class Larder that load an absent value.

use v5.36;

use FFI::Platypus::Buffer qw(buffer_to_scalar scalar_to_buffer);
use Scalar::Util          qw(looks_like_number);
use Time::HiRes           qw(clock_gettime CLOCK_MONOTONIC);

use Larder::Error   ();
use Larder::Library ();

# The longest load before another caller loads too, and the pause between two looks at a value that another caller loads.
use constant { _LEASE_MS => 10_000, _PAUSE_S => 0.005 };

# The value of a key. Of all processes that miss it at once, one calls `load` and stores what it returns, and the others
# wait for that, up to `wait` seconds. In the last `early` seconds of a TTL one caller loads, and the others have the value.
sub get_or_load ($self, $key, $load, %options) {
    my %known = (ttl => undef, wait => 5, early => 0, %options);
    if (my ($unknown) = grep { !/\A(?:ttl|wait|early)\z/ } sort keys %known) {
        Larder::Error->throw('argument', "unknown option $unknown; known: ttl, wait, early");
    }
    my $life = _ttl($known{ttl});
    for my $name (qw(wait early)) {
        my $span = $known{$name};
        next if looks_like_number($span) && $span >= 0;
        Larder::Error->throw('argument', "$name is `$span`; write seconds from 0 on");
    }
    my $end = clock_gettime(CLOCK_MONOTONIC) + $known{wait};
    while (1) {
        my ($code, $value, $token) = $self->_lease($key, int($known{early} * 1000));
        return $value if $code == Larder::Library::OK;
        return $self->_fill($key, $load, $life, $token) if $code == Larder::Library::LOAD;
        # Others load it, so an older value will do.
        return $value if $code == Larder::Library::WAIT && defined $value;
        last if $code != Larder::Library::WAIT || clock_gettime(CLOCK_MONOTONIC) >= $end;
        select undef, undef, undef, _PAUSE_S;    ## no critic (ProhibitSleepViaSelect)
    }
    my $value = $load->();
    $self->set($key, $value, $known{ttl});
    return $value;
}

# The answer of the store's leases: its code, a value that is there, and the token of a load. A store without leases, or
# without room for one, has a code below 0.
sub _lease ($self, $key, $early_ms) {
    my $leased = "\0" x Larder::Library::LEASED_SIZE;
    my ($place) = scalar_to_buffer $leased;
    my ($told, $code, $bytes, $flags, $token) = $self->_lend(
        sub ($session) {
            Larder::Library::larder_get_or_lease($session, $key, _length($key), _LEASE_MS, $early_ms, $place);
        },
        sub (@) { _leased($leased) },
    );
    if ($told == Larder::Library::E_NO_LEASES) {
        my $value = $self->get($key);
        return defined $value ? (Larder::Library::OK, $value) : ($told);
    }
    return ($told) if $told == Larder::Library::E_BUSY || $told == Larder::Library::E_FULL;
    $self->_failed($told) if $told < 0;
    return ($code, defined $bytes ? $self->_value($bytes, $flags) : undef, $token);
}

# The code of an answer, the bytes of a value that is there with their mark, and the token of a load.
sub _leased ($leased) {
    my ($code, $at, $length, undef, $flags, $is_stale, $token) = unpack Larder::Library::LEASED, $leased;
    my $has_value = $code == Larder::Library::OK || $is_stale;
    my $bytes     = $length && $has_value ? buffer_to_scalar($at, $length) : $has_value ? '' : undef;
    return ($code, $bytes, $flags, $token);
}

# Loads a value and stores it under a token. A loader that dies, or a value that cannot be stored, gives the right to load
# to the next caller.
sub _fill ($self, $key, $load, $life, $token) {
    my $value;
    my $is_filled = eval {
        $value = $load->();
        my ($bytes, $flags) = $self->_stored($value);
        # A void token is no error: somebody has changed the key since.
        $self->_done(sub {
            Larder::Library::larder_fill(
                $self->[_SESSION], $key, _length($key), $bytes, length $bytes, $life, $flags, $token, undef,
            );
        });
        1;
    };
    return $value if $is_filled;
    my $error = $@;
    Larder::Library::larder_release($self->[_SESSION], $key, _length($key), $token);
    die $error;
}

1;
