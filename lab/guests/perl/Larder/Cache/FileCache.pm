package Larder::Cache::FileCache;

# Cache::FileCache of the distribution Cache::Cache: a file for every value. The module ignores the results of `print`
# and `close`, so a full file system shows as misses. With `connect=operation` the cache is
# Larder::Cache::FileCache::PerOperation instead.

use v5.36;

use Larder::Cache ();

# Not by `use parent`: the first class is loaded when it is needed.
our @ISA = qw(Cache::FileCache Larder::Cache);

my @OPTIONS = qw(cache_depth default_expires_in auto_purge_interval auto_purge_on_set auto_purge_on_get);

sub open_cache ($class, $order) {
    Larder::Cache->need('Cache::FileCache');
    my %config = (
        namespace  => 'larder',
        cache_root => $order->{folder},
        $class->options($order, @OPTIONS),
    );
    my $self = $class->new({%config});
    $self->clear if $order->{fresh};
    return $self if ($order->{options}{connect} // 'session') ne 'operation';
    require Larder::Cache::FileCache::PerOperation;
    return Larder::Cache::FileCache::PerOperation->new($class, \%config);
}

# Cache::FileCache has no version of its own.
sub title ($self) {
    require Cache::Cache;
    return "Cache::FileCache $Cache::Cache::VERSION";
}

sub settings ($self) {
    return {
        cache_root         => $self->get_cache_root,
        cache_depth        => $self->get_cache_depth . '',
        namespace          => $self->get_namespace,
        default_expires_in => $self->get_default_expires_in . '',
        auto_purge_on_set  => $self->get_auto_purge_on_set . '',
        auto_purge_on_get  => $self->get_auto_purge_on_get . '',
    };
}

# The module's own `set` returns the umask that it found.
sub set ($self, $key, $value, $ttl) {
    $self->SUPER::set($key, $value, $ttl);
    return 1;
}

sub delete ($self, $key) { return $self->remove($key) ? 1 : 0 }

1;
