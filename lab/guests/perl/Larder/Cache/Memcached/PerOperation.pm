package Larder::Cache::Memcached::PerOperation;

# A new client object and connection for every operation, as in a script that opens its cache in the function that uses
# it. A get and the fill of its miss are one operation.

use v5.36;

use parent -norequire, 'Larder::Cache::Memcached';

sub open_client ($class, $config) {
    return bless { config => $config, connections => 0 }, $class;
}

sub config ($self) { return $self->{config} }

sub DESTROY ($self) { return }

sub after_fork ($self) { return $self }

# A client for one operation.
sub operation {
    $_[0]{connections}++;
    return Cache::Memcached::Fast->new({ %{ $_[0]{config} } });
}

sub get { return scalar $_[0]->operation->get($_[1]) }

sub set { return scalar $_[0]->operation->set(@_[ 1 .. 3 ]) }

sub delete ($self, $key) { return scalar $self->operation->delete($key) }

sub touch ($self, $key, $ttl) { return scalar $self->operation->touch($key, $ttl) }

sub get_many ($self, $keys) {
    $self->{is_untold} = 1 if @{ $self->{config}{servers} } > 1;
    return $self->operation->get_multi(@$keys);
}

sub fails_late ($self) { return 0 }

sub server_versions ($self) { return Cache::Memcached::Fast->new({ %{ $self->{config} } })->server_versions }

# An operation on one key speaks to one server; the number of servers of a request of many keys is unknown.
sub connections ($self) {
    my ($opened, $is_untold) = @$self{qw(connections is_untold)};
    @$self{qw(connections is_untold)} = (0, 0);
    return $is_untold ? undef : $opened;
}

1;
