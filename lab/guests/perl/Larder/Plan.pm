package Larder::Plan;

# A plan in memory: keys, the pool that values are cut from, operations. Values are composed when a block of operations
# is made ready, for all values together may be larger than memory.

use v5.36;

use JSON::PP ();

use constant {
    GET        => 0,
    SET        => 1,
    GET_OR_SET => 2,
    DELETE     => 3,
    TOUCH      => 4,
};
use constant {
    OPERATION_BYTES => 16,
    VALUE_BYTES     => 36,
    # A value begins with a header of this length, which is unique, unless it is shorter.
    HEADER_BYTES => 24,
};
# The value of a get whose key must be absent; larger than the number of any value.
use constant NOTHING => 0xFFFF_FFFF;

sub read_from ($class, $folder) {
    my $plan = read_json("$folder/plan.json");
    my $self = bless {
        folder     => $folder,
        processes  => $plan->{processes},
        ttl        => $plan->{ttl_s},
        replays    => $plan->{replays} ? 1 : 0,
        phases     => $plan->{phases},
        pool       => _slurp($plan->{pool}),
        values     => _slurp("$folder/values.bin"),
        operations => _slurp("$folder/ops.bin"),
        numbers    => [],
    }, $class;
    my @keys = unpack '(V V/a*)*', _slurp("$folder/keys.bin");
    my @even = map { 2 * $_ } 0 .. $#keys / 2;
    $self->{newest} = [ @keys[@even] ];
    $self->{keys}   = [ @keys[ map { $_ + 1 } @even ] ];
    return $self;
}

# Value number `$value`, in a string of its own.
sub value ($self, $value) {
    my ($at, $length, $header) = unpack 'V2 x4 a24', substr $self->{values}, ($value - 1) * VALUE_BYTES, VALUE_BYTES;
    return substr $self->{pool}, $at, $length if $length < HEADER_BYTES;
    return $header . substr $self->{pool}, $at + HEADER_BYTES, $length - HEADER_BYTES;
}

# The numbers of a key's values, by the first bytes of each value, which are unique. Of equal short values: the newest.
sub numbers_of ($self, $key) {
    return $self->{numbers}[$key] //= do {
        my %numbers;
        my $value = $self->{newest}[$key];
        while ($value) {
            my $recipe = substr $self->{values}, ($value - 1) * VALUE_BYTES, VALUE_BYTES;
            my ($at, $length, $previous, $first) = unpack 'V3 a24', $recipe;
            $first = substr $self->{pool}, $at, $length if $length < HEADER_BYTES;
            $numbers{$first} //= $value;
            $value = $previous;
        }
        \%numbers;
    };
}

# Kinds, keys, values and keys to store under of `$count` operations from `$first` on, an array of each.
sub operations ($self, $first, $count) {
    my $operations = substr $self->{operations}, $first * OPERATION_BYTES, $count * OPERATION_BYTES;
    return map { [ unpack $_, $operations ] } '(V x12)*', '(x4 V x8)*', '(x8 V x4)*', '(x12 V)*';
}

# The number of the value that the null cache holds when a process begins a phase: the value that was set last, or the
# fill of the first miss; 0 where the cache is empty.
sub held_before ($self, $phase, $process) {
    my $held = 0;
    for my $earlier (@{ $self->{phases} }[ 0 .. $phase - 1 ]) {
        my ($first, $count) = @{ $earlier->{shares}[$process] };
        my $share = substr $self->{operations}, $first * OPERATION_BYTES, $count * OPERATION_BYTES;
        my %last;
        for (my $at = 0; $at < length $share; $at += OPERATION_BYTES) {
            my ($kind, undef, $value) = unpack 'V3', substr $share, $at, OPERATION_BYTES;
            $last{$kind} = $value if $kind == SET || !$held && !%last && $kind == GET_OR_SET;
        }
        $held = $last{ +SET } || $held || $last{ +GET_OR_SET } || 0;
    }
    return $held;
}

# Reads a file of JSON. It is a function and no method, for it also reads files other than a plan's.
sub read_json ($path) {
    return JSON::PP->new->utf8->decode(_slurp($path));
}

sub _slurp ($path) {
    open my $file, '<:raw', $path or die "cannot open $path: $!\n";
    local $/ = undef;
    my $bytes = <$file>;
    close $file or die "cannot read $path: $!\n";
    return $bytes // '';
}

1;
