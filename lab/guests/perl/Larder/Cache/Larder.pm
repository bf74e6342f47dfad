package Larder::Cache::Larder;

# Larder's own package: the segment cache in one file, which all processes share. Its own `get`, `set`, `delete` and `touch`
# are called directly.

use v5.36;

use FindBin ();

use Larder::Cache ();

# Not by `use parent`: the first class is loaded when it is needed.
our @ISA = qw(Larder Larder::Cache);

sub open_cache ($class, $order) {
    local @INC = ("$FindBin::Bin/package", @INC);
    local $ENV{LARDER_LIBRARY} = $order->{library};
    Larder::Cache->need('Larder');
    # A guest takes longer keys than the default of `mmap:`.
    my %options = (max_key => '1k', $class->options($order, qw(size item_size)));
    my $self = $class->open("mmap:$order->{folder}/cache?" . join '&', map { "$_=$options{$_}" } sort keys %options);
    $self->clear if $order->{fresh};
    return $self;
}

sub title ($self) { return "Larder $Larder::VERSION" }

sub settings ($self) { return { capacity_bytes => $self->stats->{capacity_bytes} . '' } }

# The first call in a child opens the file again.
sub after_fork ($self) {
    $self->stats;
    return $self;
}

sub get_many ($self, $keys) { return $self->SUPER::get_many(@$keys) }

1;
