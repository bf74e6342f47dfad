package Larder::Cache::FileCache::PerOperation;

# A new object for every operation, as in a script that opens its cache in the function that uses it. A get and the fill
# of its miss are one operation.

use v5.36;

use parent 'Larder::Cache';

# Each operation opens an object of the class `$of` with the arguments `$config`.
sub new ($class, $of, $config) { return bless { of => $of, config => $config }, $class }

# An object for one operation.
sub operation { return $_[0]{of}->new({ %{ $_[0]{config} } }) }

sub title ($self) { return $self->operation->title }

sub settings ($self) { return { %{ $self->operation->settings }, connect => 'operation' } }

sub get { return $_[0]->operation->get($_[1]) }

sub set { return $_[0]->operation->set(@_[ 1 .. 3 ]) }

sub delete ($self, $key) { return $self->operation->delete($key) }

1;
