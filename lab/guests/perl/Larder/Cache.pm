package Larder::Cache;

# The interface of a cache. Each cache is a module in the folder Larder/Cache. It inherits from the class that it adapts
# first and from this class second. So methods that the adapted class has already, such as `get`, are called directly. A
# layer that only passes calls on would cost as much as the rest of the loop.
#
# A cache has
#   open_cache($class, $order)       opens the cache that open.json describes
#   title, settings                  name and version; effective settings as text
#   get($key)                        the value, or undef
#   set($key, $value, $ttl)          true when the value was stored; `$ttl` is a result of `ttl_argument`
#   delete($key), touch($key, $ttl)  true; false when the key was absent; undef when the call failed
# and, if its client reports a failure as a miss,
#   failure_of_miss($took, $error_number, $asked)  the Larder::Failure behind the miss, or undef; without an error
#                                    number the method asks the servers
# and, if it opens a client for every operation,
#   operation                        a new client, for a get and the fill of its miss are one operation
# and may override the methods below. An exception of the cache is an error of the operation.

use v5.36;

use JSON::PP ();

use Larder::Failure ();

my %CACHES = (
    null      => 'Larder::Cache::Null',
    filecache => 'Larder::Cache::FileCache',
    mmap      => 'Larder::Cache::Mmap',
    fastmmap  => 'Larder::Cache::FastMmap',
    larder    => 'Larder::Cache::Larder',
    memcached => 'Larder::Cache::Memcached',
    tiered    => 'Larder::Cache::Tiered',
);

# Opens the cache that open.json, or a tier in it, describes.
sub open_cache ($order) {
    my $class = $CACHES{ $order->{cache} }
        // die "unknown cache: $order->{cache}; known: " . join(', ', sort keys %CACHES) . "\n";
    _load($class);
    return $class->open_cache($order);
}

# Loads an external module, which may not be installed.
sub need ($class, $module) {
    eval { _load($module); 1 } and return;
    my $path = _path($module);
    die $@ =~ /^Can't locate \Q$path\E in \@INC/ ? "the Perl module $module is not installed\n" : $@;
}

# The options that the user has set, by the module's names for them; switches are 1 or 0.
sub options ($class, $order, @names) {
    my $options = $order->{options} // {};
    return map { ($_ => JSON::PP::is_bool($options->{$_}) ? $options->{$_} + 0 : $options->{$_}) }
        grep { defined $options->{$_} } @names;
}

# The TTL for a cache that has whole seconds: rounded up, because a fraction of a second would become no TTL.
sub whole_seconds ($class, $seconds) {
    return undef if !defined $seconds;    ## no critic (ProhibitExplicitReturnUndef)
    return int($seconds) == $seconds ? $seconds : int($seconds) + 1;
}

# A TTL of `$seconds` in the form that `set` and `touch` take; undef for no TTL.
sub ttl_argument ($self, $seconds) { return $seconds }

# The cache to use when every value is stored with this TTL.
sub with_ttl ($self, $seconds) { return $self }

# The cache to use in a child of this process.
sub after_fork ($self) { return $self }

# The values of these keys, by key, as one request.
sub get_many ($self, $keys) {
    my %found;
    for my $key (@$keys) {
        my $value = $self->get($key);
        $found{$key} = $value if defined $value;
    }
    return \%found;
}

sub touch ($self, $key, $ttl) {
    die Larder::Failure->new('other', $self->title . ' cannot renew a time to live');
}

# Whether the first miss after a connection was lost looks like any other miss, and only the next miss shows the loss.
sub fails_late ($self) { return 0 }

# The reason why `set`, which took `$took` seconds, answered `$answer`. Here and in `failure_of_miss`, a cache keeps the
# replies of its servers in the hash `$asked`. All failures that are explained together share this hash.
sub refusal ($self, $key, $value, $answer, $took, $asked) {
    return Larder::Failure->new('other', $self->title . ' refused the value without a reason');
}

# Waits for operations still under way, while the clock runs. Returns whether there may have been any.
sub finish ($self) { return 0 }

# Connections opened since the last call; undef where their number is unknown.
sub connections ($self) { return 0 }

# The counts of each tier since the last call.
sub tier_counts ($self) { return [] }

sub _load ($module) {
    require(_path($module));
    return;
}

sub _path ($module) { return ($module =~ s{::}{/}gr) . '.pm' }

1;
