use v5.36;

use FindBin ();
use lib "$FindBin::Bin/lib", "$FindBin::Bin/..";

use Test::More;

use Larder::Cache         ();
use Larder::Cache::Tiered ();

# A tier that can be made to die of a change, or to fail at it silently.
package Fragile {    ## no critic (RequireFilenameMatchesPackage)
    use parent -norequire, 'Larder::Cache';

    sub set ($self, $key, $value, $ttl) { return $self->_changes && ($self->{of}{$key} = $value) && 1 }
    sub get ($self, $key) { return $self->{of}{$key} }

    sub delete ($self, $key) {
        return undef if !defined $self->_changes;    ## no critic (ProhibitExplicitReturnUndef)
        return defined delete $self->{of}{$key} ? 1 : 0;
    }

    sub _changes ($self) {
        die "broken\n" if $self->{how} eq 'dies';
        return $self->{how} eq 'fails' ? undef : 1;
    }
}

# Three tiers that have an old value; the tier `$broken` fails from then on.
sub tiered ($broken, $how) {
    my @tiers  = map { bless { how => '', of => {} }, 'Fragile' } 0 .. 2;
    my $tiered = bless { names => [qw(near middle far)], caches => \@tiers }, 'Larder::Cache::Tiered';
    $tiered->_ready(undef);
    $tiered->set('key', 'old', [ (undef) x 3 ]);
    $tiers[$broken]{how} = $how;
    return ($tiered, map { $_->{of} } @tiers);
}

for my $how (qw(dies fails)) {
    for my $change (qw(set delete)) {
        subtest "a far tier that $how at a $change" => sub {
            my ($tiered, $near, $middle, $far) = tiered(2, $how);
            my @value = $change eq 'set' ? ('new', [ (undef) x 3 ]) : ();
            ok !eval { $tiered->$change('key', @value) }, 'is no success';
            is $@, $how eq 'dies' ? "broken\n" : '', 'and is heard';
            is_deeply [ $near, $middle, $far ], [ {}, {}, { key => 'old' } ], 'and no nearer one has another value';
        };
    }
    subtest "a middle tier that $how" => sub {
        my ($tiered, $near, $middle, $far) = tiered(1, $how);
        is eval { $tiered->delete('key') }, undef, 'at a delete is no success';
        is_deeply [ $near, $far ], [ {}, {} ], 'and those beside it have lost the value';
        ($tiered, $near, $middle, $far) = tiered(1, $how);
        eval { $tiered->set('key', 'new', [ (undef) x 3 ]) };
        is_deeply [ $near, $far ], [ ({ key => 'new' }) x 2 ], 'at a set, and those beside it have the new one';
    };
}

subtest 'a back-fill ends by the shortest TTL that a set had' => sub {
    my ($tiered) = tiered(0, '');
    is_deeply $tiered->{fill_ttl}, [ (undef) x 3 ], 'and never before there was one';
    $tiered = $tiered->with_ttl($_) for 5, 2, 9, undef;
    is_deeply $tiered->{fill_ttl}, $tiered->ttl_argument(2);
};

done_testing;
