package Larder::Cache::FastMmap;

# Cache::FastMmap: pages in a mapped file, in C. Values are raw strings, so its own `get` and `set` are called directly.

use v5.36;

use Larder::Cache ();
use Larder::Room  ();

# Not by `use parent`: the first class is loaded when it is needed.
our @ISA = qw(Cache::FastMmap Larder::Cache);

use constant {
    LEAST_PAGE_BYTES => 64 * 1024,
    # The bytes before a page, in its table and before a value, generously.
    PAGE_HEAD_BYTES  => 1024,
};

sub open_cache ($class, $order) {
    Larder::Cache->need('Cache::FastMmap');
    my %given = $class->options($order, qw(page_size num_pages expire_time compressor));
    $given{expire_time} = $class->whole_seconds($given{expire_time});
    delete $given{expire_time} if !defined $given{expire_time};
    return $class->new(
        share_file => "$order->{folder}/cache.fastmmap",
        init_file  => $order->{fresh} ? 1 : 0,
        serializer => '',
        # A process that reads the file after this one must find it.
        unlink_on_exit => 0,
        _derived($order, %given),
        %given,
    );
}

# The pages together hold the size, and their number is a prime.
sub _derived ($order, %given) {
    my $size   = Larder::Room::all_bytes($order);
    my $needed = Larder::Room::needed_bytes($order, PAGE_HEAD_BYTES, 0);
    my $page   = $given{page_size} // LEAST_PAGE_BYTES;
    if (!defined $given{page_size}) {
        $page *= 2 while $page < $needed;
    }
    my $pages = int(($size + $page - 1) / $page);
    $pages++ while !_is_prime($pages);
    return (page_size => $page, num_pages => $pages);
}

sub _is_prime ($n) {
    return $n > 1 && !grep { $n % $_ == 0 } 2 .. int sqrt $n;
}

sub title ($self) { return "Cache::FastMmap $Cache::FastMmap::VERSION" }

sub settings ($self) {
    return { map { ($_ => $self->{$_} . '') } qw(page_size num_pages cache_size expire_time share_file) };
}

# The module takes whole seconds, and takes a fraction of a second for no TTL.
sub ttl_argument ($self, $seconds) { return $self->whole_seconds($seconds) }

sub delete ($self, $key) { return $self->remove($key) ? 1 : 0 }

sub refusal ($self, $key, $value, @) {
    return Larder::Room::too_large($key, $value, "a page of $self->{page_size} bytes");
}

1;
