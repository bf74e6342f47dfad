package Larder::Cache::Mmap;

# Cache::Mmap: buckets in a mapped file, in Perl. The module has one expiry for all entries, given when it is opened. So
# it is opened again when a TTL is given, and the latest TTL holds for all entries.

use v5.36;

use Larder::Cache ();
use Larder::Room  ();

# Not by `use parent`: the first class is loaded when it is needed.
our @ISA = qw(Cache::Mmap Larder::Cache);

# The bytes before a bucket, and those before an element and in the mark before its key and value.
use constant {
    BUCKET_HEAD_BYTES  => 40,
    ELEMENT_HEAD_BYTES => 42,
};
use constant {
    PAGE_BYTES    => 4096,
    LEAST_BUCKETS => 13,
};

sub open_cache ($class, $order) {
    Larder::Cache->need('Cache::Mmap');
    my $path = "$order->{folder}/cache.mmap";
    if ($order->{fresh} && -e $path) {
        unlink $path or die "cannot remove $path: $!\n";
    }
    my %given = $class->options($order, qw(buckets bucketsize pagesize expiry strings));
    $given{strings} //= 1;
    $class = 'Larder::Cache::Mmap::Frozen' if !$given{strings};
    return $class->_open($path, { %given, _derived($order, %given) }, $given{expiry});
}

# Buckets are whole pages; all buckets together take the size.
sub _derived ($order, %given) {
    my $page   = $given{pagesize} // PAGE_BYTES;
    my $needed = $given{bucketsize} // Larder::Room::needed_bytes($order, BUCKET_HEAD_BYTES, ELEMENT_HEAD_BYTES);
    my $bucket = $page * int(($needed + $page - 1) / $page);
    my $fit    = int(Larder::Room::all_bytes($order) / $bucket);
    return (
        pagesize   => $page,
        bucketsize => $bucket,
        buckets    => $given{buckets} // ($fit > LEAST_BUCKETS ? $fit : LEAST_BUCKETS),
    );
}

sub _open ($class, $path, $options, $expiry) {
    my $self = $class->new($path, { %$options, expiry => $class->whole_seconds($expiry) // 0 });
    $self->{larder} = { path => $path, options => $options, expiry => $expiry };
    $self->{larder_room} = $self->bucketsize - BUCKET_HEAD_BYTES - ELEMENT_HEAD_BYTES;
    return $self;
}

sub with_ttl ($self, $seconds) {
    my ($path, $options) = @{ $self->{larder} }{qw(path options)};
    my $wanted = $seconds // $options->{expiry};
    return $self if $self->expiry == ($self->whole_seconds($wanted) // 0);
    return (ref $self)->_open($path, $options, $wanted);
}

sub title ($self) { return "Cache::Mmap $Cache::Mmap::VERSION" }

sub settings ($self) {
    return { map { ($_ => $self->$_ . '') } qw(buckets bucketsize pagesize expiry strings) };
}

sub get { return scalar $_[0]->read($_[1]) }

# The module silently ignores a value that does not fit, and the older value stays. So `set` checks the size first.
sub set {
    my ($self, $key, $value) = @_;
    return 0 if length($key) + length($value) > $self->{larder_room};
    return $self->write($key, $value);
}

sub delete ($self, $key) {
    my ($found) = $self->SUPER::delete($key);
    return $found ? 1 : 0;
}

sub refusal ($self, $key, $value, @) {
    return Larder::Room::too_large($key, $value, "a bucket, which has room for $self->{larder_room}");
}

package Larder::Cache::Mmap::Frozen;

# Without `strings` the module freezes its values, which must be references then.

our @ISA = qw(Larder::Cache::Mmap);

sub get ($self, $key) {
    my $frozen = $self->read($key);
    return defined $frozen ? $$frozen : undef;
}

sub set ($self, $key, $value, $ttl) { return $self->SUPER::set($key, \$value, $ttl) }

1;
