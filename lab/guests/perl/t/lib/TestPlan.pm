package TestPlan;

# Writes small plans as Larder does.

use v5.36;

use FindBin  ();
use JSON::PP ();

use lib $FindBin::Bin;

use TestRecords ();

# Values begin in this many first bytes of the pool.
use constant SPAN => 131_072;

my %KINDS = (get => 0, set => 1, get_or_set => 2, delete => 3, touch => 4);

# `keys` are the keys of the plan; `value` adds values, and `phase` adds operations.
sub new ($class, $folder, %plan) {
    mkdir $folder or die "cannot make $folder: $!\n" if !-d $folder;
    my $pool = join '', map { chr(($_ * 7919 + int($_ / 256)) % 251) } 0 .. 239_999;
    return bless {
        folder => $folder, pool => $pool, values => [], ops => [], phases => [], newest => {}, processes => 1,
        ttl_s => undef, replays => 0, %plan,
    }, $class;
}

# Adds a value under the key of this index, and returns its number.
sub value ($self, $key, $length) {
    my $number = push @{ $self->{values} }, undef;
    # A guest only needs headers that differ. Larder composes others, and alone reads them.
    my ($at, $header) = ($number * 7919 % SPAN, pack 'V6', $key, $number, $length, 0, 0, 0);
    $self->{values}[ $number - 1 ] = pack 'V3 a24', $at, $length, $self->{newest}{$key} // 0, $header;
    $self->{newest}{$key} = $number;
    return $number;
}

# Adds a phase of operations [kind, key, value, stored under] for each process.
sub phase ($self, $options, @shares) {
    my @shares_of;
    for my $share (@shares) {
        push @shares_of, [ scalar @{ $self->{ops} }, scalar @$share ];
        push @{ $self->{ops} }, map { pack 'V4', $KINDS{ $_->[0] }, $_->[1], $_->[2] // 0, $_->[3] // $_->[1] } @$share;
    }
    push @{ $self->{phases} },
        {
        measured => JSON::PP::true, time_limit_s => undef, multiget => 1, again => JSON::PP::false, %$options,
        shares => \@shares_of,
        };
    return;
}

sub write ($self) {
    my $folder = $self->{folder};
    my @keys   = @{ $self->{keys} };
    my $keys   = join '', map { pack 'V V/a*', $self->{newest}{$_} // 0, $keys[$_] } 0 .. $#keys;
    _write("$folder/pool.bin", $self->{pool});
    _write("$folder/keys.bin", $keys);
    _write("$folder/values.bin", join '', @{ $self->{values} });
    _write("$folder/ops.bin",    join '', @{ $self->{ops} });
    my %plan = (
        pool => "$folder/pool.bin", processes => $self->{processes}, ttl_s => $self->{ttl_s},
        replays => $self->{replays} ? JSON::PP::true : JSON::PP::false, phases => $self->{phases},
    );
    _write("$folder/plan.json", JSON::PP->new->encode(\%plan));
    TestRecords::make_pipes($folder, $self->{processes});
    return $folder;
}

sub _write ($path, $bytes) {
    open my $file, '>:raw', $path or die "cannot write $path: $!\n";
    print {$file} $bytes;
    close $file or die "cannot write $path: $!\n";
    return;
}

1;
