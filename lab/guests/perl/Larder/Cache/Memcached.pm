package Larder::Cache::Memcached;

# Cache::Memcached::Fast, one client object for all operations; its own `get`, `set`, `delete` and `touch` are called
# directly. With `connect=operation` the cache is Larder::Cache::Memcached::PerOperation instead.

use v5.36;

use Errno qw(EAGAIN);

use Larder::Cache   ();
use Larder::Failure ();

# Not by `use parent`: the first class is loaded when it is needed.
our @ISA = qw(Cache::Memcached::Fast Larder::Cache);

my @OPTIONS = qw(compress_threshold max_size connect_timeout io_timeout ketama_points nowait utf8);

use constant {
    MAX_SIZE_BYTES => 1024 * 1024,
    IO_TIMEOUT_S   => 1,
    # Beyond this limit the protocol takes a TTL for a point in time.
    LONGEST_TTL_S => 30 * 24 * 60 * 60,
};

# The configuration of each client. It cannot be kept in the client object, which is a mere number.
my %order_of;

sub open_cache ($class, $order) {
    Larder::Cache->need('Cache::Memcached::Fast');
    my %config = (servers => $order->{servers}, $class->options($order, @OPTIONS));
    # The module's own limit is raised out of the way, for the server's limit counts.
    my $largest = $order->{largest_bytes} // 0;
    $config{max_size} //= $largest if $largest > MAX_SIZE_BYTES;
    if (($order->{options}{connect} // 'session') eq 'operation') {
        die "nowait needs connect=session: a client closed after an operation waits for answers\n" if $config{nowait};
        require Larder::Cache::Memcached::PerOperation;
        $class = 'Larder::Cache::Memcached::PerOperation';
    }
    elsif ($config{nowait}) {
        $class = 'Larder::Cache::Memcached::NoWait';
    }
    my $self = $class->open_client(\%config);
    if (my @silent = $self->silent_servers) {
        die "no answer from @{[join ', ', @silent]}\n";
    }
    return $self;
}

sub open_client ($class, $config) {
    my $self = $class->new({%$config});
    $order_of{$self} = $config;
    return $self;
}

sub config ($self) { return $order_of{$self} }

sub DESTROY ($self) {
    delete $order_of{$self};
    $self->SUPER::DESTROY;
    return;
}

# Connects before anything is timed, as the parent's client did when it was opened.
sub after_fork ($self) {
    my $client = (ref $self)->open_client($self->config);
    $client->server_versions;
    return $client;
}

sub title ($self) { return "Cache::Memcached::Fast $Cache::Memcached::Fast::VERSION" }

sub settings ($self) {
    my $config   = $self->config;
    my $versions = $self->server_versions;
    return {
        (map { ($_ => "$config->{$_}") } grep { $_ ne 'servers' } keys %$config),
        servers => join(', ', @{ $config->{servers} }),
        server_version => join(', ', map { $versions->{$_} } sort keys %$versions),
    };
}

# The protocol has whole seconds.
sub ttl_argument ($self, $seconds) {
    my $whole = $self->whole_seconds($seconds);
    return defined $whole && $whole > LONGEST_TTL_S ? time + $whole : $whole;
}

sub get_many ($self, $keys) { return $self->get_multi(@$keys) }

# The client answers undef where it failed, and the empty string where the server refused.
sub refusal ($self, $key, $value, $answer, $took, $asked) {
    my $bytes = length $value;
    return Larder::Failure->new(other => 'the server did not store the value') if defined $answer;
    my $limit = $self->config->{max_size} // MAX_SIZE_BYTES;
    return Larder::Failure->new(too_large => "the value of $bytes bytes is larger than max_size, $limit bytes")
        if $bytes > $limit;
    my $failure = $self->_timeout($took) // $self->_silence($asked);
    return $failure if $failure;
    # The servers answer, so a server refused this value; servers limit nothing but the size.
    return Larder::Failure->new(too_large => "the server refused the value of $bytes bytes")
        if $bytes > MAX_SIZE_BYTES / 2;
    return Larder::Failure->unexplained;
}

# The failure that a miss was in truth, if any: the client reports failures as misses. But a failure takes as long as
# the time-out, or leaves an error number other than 0 and `EAGAIN`; then the servers are asked.
sub failure_of_miss ($self, $took, $error_number, $asked) {
    my $is_without_trace = defined $error_number && ($error_number == EAGAIN || !$error_number);
    return $self->_timeout($took) // ($is_without_trace ? undef : $self->_silence($asked));
}

# A read from a closed connection leaves the same error number as the wait for any answer.
sub fails_late ($self) { return 1 }

sub _timeout ($self, $took) {
    my $timeout = $self->config->{io_timeout} // IO_TIMEOUT_S;
    return $timeout && $took >= $timeout
        ? Larder::Failure->new(timeout => "no answer within io_timeout, $timeout s")
        : undef;
}

# The failure of the servers that do not answer now, if any.
sub _silence ($self, $asked) {
    my @silent = @{ $asked->{silent} //= [ $self->silent_servers ] };
    return @silent ? Larder::Failure->new(io => "no answer from @{[join ', ', @silent]}") : undef;
}

# The servers that do not answer with their version.
sub silent_servers ($self) {
    my $versions = $self->server_versions;
    return grep { !defined $versions->{$_} } @{ $self->config->{servers} };
}

# The client does not tell the number of its connections.
sub connections ($self) { return undef }    ## no critic (ProhibitExplicitReturnUndef)

package Larder::Cache::Memcached::NoWait;

# With `nowait` the client does not wait for the answer to a method called in void context, so `set` is called in one.

our @ISA = qw(Larder::Cache::Memcached);

sub set {
    my ($self, $key, $value, $ttl) = @_;
    $self->SUPER::set($key, $value, $ttl);
    return 1;
}

sub finish {
    my ($self) = @_;
    $self->nowait_push;
    return 1;
}

1;
