package Larder::Test::CHI;

# CHI's own tests of drivers, on the URL in LARDER_TEST_URL.
#
# A store tells no keys, and a server is not emptied for one of its users. So the driver under test lists and removes the keys
# of CHI's tests, one by one, as CHI's tests provide for caches such as memcached.

use v5.36;

use CHI::Test;
use base qw(CHI::t::Driver);

my %known;

package CHI::Driver::LarderUnderTest {
    use v5.36;
    use Moo;
    extends 'CHI::Driver::Larder';

    sub get_keys ($self) { return grep { defined $self->fetch($_) } sort keys %known }

    sub clear ($self) {
        return $self->SUPER::clear if $self->_has_namespaces;
        $self->remove($_) for sort keys %known;
        return;
    }
}

sub testing_driver_class { return 'CHI::Driver::LarderUnderTest' }

sub new_cache_options ($self) {
    return ($self->SUPER::new_cache_options, url => $ENV{LARDER_TEST_URL});
}

sub standard_keys_and_values : Test(startup) {
    my ($self) = @_;
    $self->SUPER::standard_keys_and_values;
    # A key with wide characters is there twice, and CHI hands it to a driver as UTF-8.
    %known = map { ($_ => 1) } grep { !utf8::is_utf8($_) } keys %{ $self->{all_test_keys_hash} };
    return;
}

# The store tells no namespaces.
sub supports_get_namespaces { return 0 }

# The store keeps the time of an entry.
sub supports_expires_on_backend { return 1 }

1;
