package Larder::Cache;

# What a cache is to a guest. Each stands in a module beside this one's folder and inherits from the class that it
# adapts first and from this one second, so that what the class does already, such as `get`, is called without anything
# in between: a layer that only passes on would cost as much as the rest of the loop.
#
# A cache has
#   open_cache($class, $order)       from what open.json says
#   title, settings                  name and version, effective settings as text
#   get($key)                        the value, or undef
#   set($key, $value, $ttl)          true when it was stored; `$ttl` is what `ttl_argument` made of seconds
#   delete($key), touch($key, $ttl)  true, false when there was no such key, undef when it failed
# and, if its client tells a failure as a miss,
#   failure_of_miss($took, $error_number, $asked)  the Larder::Failure that it was, or undef; without a number it asks
# and, if it opens a client for every operation,
#   operation                              that client, for a get and the fill of its miss are one
# and may have better ones of what follows. What it dies of is an error of the operation.

use v5.36;

use JSON::PP ();

use Larder::Failure ();

my %CACHES = (
    null      => 'Larder::Cache::Null',
    filecache => 'Larder::Cache::FileCache',
    mmap      => 'Larder::Cache::Mmap',
    fastmmap  => 'Larder::Cache::FastMmap',
    memcached => 'Larder::Cache::Memcached',
    tiered    => 'Larder::Cache::Tiered',
);

# Opens what open.json, or a tier in it, describes.
sub open_cache ($order) {
    my $class = $CACHES{ $order->{cache} }
        // die "no cache of this guest: $order->{cache}; it has " . join(', ', sort keys %CACHES) . "\n";
    _load($class);
    return $class->open_cache($order);
}

# Loads a module of somebody else's, which may not be there.
sub need ($class, $module) {
    eval { _load($module); 1 } and return;
    my $path = _path($module);
    die $@ =~ /^Can't locate \Q$path\E in \@INC/ ? "the Perl module $module is not installed\n" : $@;
}

# The options that somebody has set, by the names that the module has for them; switches as 1 and 0.
sub options ($class, $order, @names) {
    my $options = $order->{options} // {};
    return map { ($_ => JSON::PP::is_bool($options->{$_}) ? $options->{$_} + 0 : $options->{$_}) }
        grep { defined $options->{$_} } @names;
}

# Seconds for a cache that has whole ones: rounded up, for a fraction would be none at all.
sub whole_seconds ($class, $seconds) {
    return undef if !defined $seconds;    ## no critic (ProhibitExplicitReturnUndef)
    return int($seconds) == $seconds ? $seconds : int($seconds) + 1;
}

# What `set` and `touch` take for so many seconds; undef for none.
sub ttl_argument ($self, $seconds) { return $seconds }

# The cache as it is when everything is stored with this TTL.
sub with_ttl ($self, $seconds) { return $self }

# The cache as a child of this process has it.
sub after_fork ($self) { return $self }

# What these keys have, by key, as one request.
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

# Whether the first miss after a connection was lost looks like any other, and only the next shows it.
sub fails_late ($self) { return 0 }

# Why `set`, which took so many seconds, answered what it did. In `$asked` a cache keeps what it had to ask for, here and
# in `failure_of_miss`: the hash is the same for all that are explained together.
sub refusal ($self, $key, $value, $answer, $took, $asked) {
    return Larder::Failure->new('other', $self->title . ' did not take the value, and does not say why');
}

# Waits for what is still under way, while the clock runs. Returns whether there may have been anything.
sub finish ($self) { return 0 }

# Connections opened since the last time this was asked; undef when nobody knows.
sub connections ($self) { return 0 }

# What each tier did since the last time this was asked.
sub tier_counts ($self) { return [] }

# A module by its name.
sub _load ($module) {
    require(_path($module));
    return;
}

sub _path ($module) { return ($module =~ s{::}{/}gr) . '.pm' }

1;
