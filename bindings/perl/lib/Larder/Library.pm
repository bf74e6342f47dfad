package Larder::Library;

# The functions of liblarder that the package calls, and the layout of its structures. larder.h describes both.

use v5.36;

use FFI::Platypus 2.00;
use FFI::Platypus::DL qw(dlopen dlerror RTLD_PLATYPUS_DEFAULT);

# The name under which programs find the library. A version that changes the interface has another one.
use constant NAME => 'liblarder.so.0.2';

# Outcomes and errors.
use constant {
    OK          => 0,
    NOT_FOUND   => 1,
    NOT_STORED  => 2,
    EXISTS      => 3,
    TOO_SMALL   => 4,
    LOAD        => 5,
    WAIT        => 6,
    E_FULL      => -6,
    E_BUSY      => -8,
    E_FORKED    => -11,
    E_NO_LEASES => -12,
    E_NO_ANSWER => -19,
};

# Times, versions and counters.
use constant { FOREVER => -1, UNKNOWN => ~0 };

# The kinds of errors, as every package of Larder names them, by their codes.
my %KINDS = (
    -1  => 'argument',
    -2  => 'panic',
    -3  => 'key_too_long',
    -4  => 'invalid_key',
    -5  => 'value_too_large',
    -6  => 'full',
    -7  => 'corrupted',
    -8  => 'busy',
    -9  => 'timeout',
    -10 => 'unavailable',
    -11 => 'forked',
    -12 => 'unsupported',
    -13 => 'not_a_number',
    -14 => 'unknown_scheme',
    -15 => 'invalid_url',
    -16 => 'invalid_options',
    -17 => 'protocol',
    -18 => 'io',
    -19 => 'no_answer',
);

# The structures, as pack and unpack have them.
use constant {
    BYTES_SIZE   => 16,
    ENTRY_SIZE   => 48,
    OUTCOME_SIZE => 16,
    LEASED_SIZE  => 80,
    TOKEN_SIZE   => 32,
    STATS_SIZE   => 88,
    # A key and a value as addresses and lengths, the TTL, the version, the flags and the mode.
    PUT          => 'Q Q Q Q q Q L L',
    # The code, the value as an address and a length, the version, and the flags with the mark of an old value.
    ENTRY        => 'l x4 Q Q Q x8 L L',
    # The same, and the token.
    LEASED       => 'l x4 Q Q Q x8 L L a32',
    OUTCOME      => 'l x4 Q',
};
use constant COUNTERS => qw(
    hits misses sets deletes evictions expirations items bytes capacity_bytes connections requests_sent
);

# The longest text of an error that a function without a session writes.
use constant MESSAGE_SIZE => 1024;

my @KEY     = ('opaque', 'string', 'size_t');
my @VALUE   = ('string', 'size_t');
my @LIFE    = ('sint64', 'uint32');
my @MESSAGE = ('opaque', 'size_t');

my %FUNCTIONS = (
    larder_version           => [ []                                                       => 'string' ],
    larder_open              => [ [ 'string', 'opaque*', @MESSAGE ]                        => 'sint32' ],
    larder_session_open      => [ [ 'opaque', 'opaque*', @MESSAGE ]                        => 'sint32' ],
    larder_store_stats       => [ [ 'opaque', 'opaque', 'size_t', @MESSAGE ]               => 'sint32' ],
    larder_close             => [ [ 'opaque', @MESSAGE ]                                   => 'sint32' ],
    larder_session_close     => [ ['opaque']                                               => 'void' ],
    larder_message           => [ ['opaque']                                               => 'string' ],
    larder_value             => [ [ 'opaque', 'size_t*' ]                                  => 'opaque' ],
    larder_get               => [ [ @KEY, 'opaque', 'size_t', 'opaque', 'opaque' ]         => 'sint32' ],
    larder_get_and_touch     => [ [ @KEY, 'sint64', 'opaque', 'size_t', 'opaque', 'opaque' ] => 'sint32' ],
    larder_get_many          => [ [ 'opaque', 'string', 'size_t', 'opaque' ]               => 'sint32' ],
    larder_set               => [ [ @KEY, @VALUE, @LIFE, 'opaque' ]                        => 'sint32' ],
    larder_add               => [ [ @KEY, @VALUE, @LIFE, 'opaque' ]                        => 'sint32' ],
    larder_replace           => [ [ @KEY, @VALUE, @LIFE, 'opaque' ]                        => 'sint32' ],
    larder_cas               => [ [ @KEY, @VALUE, @LIFE, 'uint64', 'opaque' ]              => 'sint32' ],
    larder_append            => [ [ @KEY, @VALUE, 'opaque' ]                               => 'sint32' ],
    larder_prepend           => [ [ @KEY, @VALUE, 'opaque' ]                               => 'sint32' ],
    larder_set_many          => [ [ 'opaque', 'string', 'size_t', 'opaque' ]               => 'sint32' ],
    larder_incr              => [ [ @KEY, 'uint64', 'string', 'uint64*' ]                  => 'sint32' ],
    larder_decr              => [ [ @KEY, 'uint64', 'string', 'uint64*' ]                  => 'sint32' ],
    larder_touch             => [ [ @KEY, 'sint64' ]                                       => 'sint32' ],
    larder_delete            => [ [@KEY]                                                   => 'sint32' ],
    larder_delete_many       => [ [ 'opaque', 'string', 'size_t', 'opaque' ]               => 'sint32' ],
    larder_clear             => [ ['opaque']                                               => 'sint32' ],
    larder_get_or_lease      => [ [ @KEY, 'uint64', 'uint64', 'opaque' ]                   => 'sint32' ],
    larder_fill              => [ [ @KEY, @VALUE, @LIFE, 'string', 'opaque' ]              => 'sint32' ],
    larder_release           => [ [ @KEY, 'string' ]                                       => 'sint32' ],
    larder_expire            => [ [ @KEY, 'sint64' ]                                       => 'sint32' ],
);

# Attaches every function under its own name.
sub _attach {
    # A program that trusts no environment takes the installed library.
    my $named = ${^TAINT} ? NAME : $ENV{LARDER_LIBRARY} || NAME;
    if (!dlopen($named, RTLD_PLATYPUS_DEFAULT)) {
        my $why = dlerror();
        die "larder: the library cannot be loaded: $why; install it by packaging/capi, or name its file by LARDER_LIBRARY\n";
    }
    my $ffi = FFI::Platypus->new(api => 2, lib => $named);
    $ffi->attach($_ => @{ $FUNCTIONS{$_} }) for sort keys %FUNCTIONS;
    return;
}

# The kind of an error, by its code.
sub kind ($code) { return $KINDS{$code} // 'other' }

_attach();

1;
