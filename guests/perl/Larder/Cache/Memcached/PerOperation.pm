package Larder::Cache::Memcached::PerOperation;

# A new client object, and with it a new connection, for every operation: what a script does that opens its cache in
# the function that uses it.

use v5.36;

use parent -norequire, 'Larder::Cache::Memcached';

sub open_client ($class, $config) {
    return bless { config => $config, connections => 0 }, $class;
}

sub config ($self) { return $self->{config} }

sub DESTROY ($self) { return }

sub after_fork ($self) { return $self }

sub get {
    my ($self, $key) = @_;
    $self->{connections}++;
    return scalar Cache::Memcached::Fast->new({ %{ $self->{config} } })->get($key);
}

sub set {
    my ($self, $key, $value, $ttl) = @_;
    $self->{connections}++;
    return scalar Cache::Memcached::Fast->new({ %{ $self->{config} } })->set($key, $value, $ttl);
}

sub delete ($self, $key) {
    $self->{connections}++;
    return scalar $self->_client->delete($key);
}

sub touch ($self, $key, $ttl) {
    $self->{connections}++;
    return scalar $self->_client->touch($key, $ttl);
}

sub get_many ($self, $keys) {
    $self->{connections}++;
    $self->{is_untold} = 1 if @{ $self->{config}{servers} } > 1;
    return $self->_client->get_multi(@$keys);
}

sub server_versions ($self) { return $self->_client->server_versions }

# An operation on one key speaks to one server; how many a request of many keys speaks to, nobody tells.
sub connections ($self) {
    my ($opened, $is_untold) = @$self{qw(connections is_untold)};
    @$self{qw(connections is_untold)} = (0, 0);
    return $is_untold ? undef : $opened;
}

sub _client ($self) { return Cache::Memcached::Fast->new({ %{ $self->{config} } }) }

1;
