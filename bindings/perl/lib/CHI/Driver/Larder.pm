package CHI::Driver::Larder;

# A driver of CHI over any store of Larder.

use v5.36;

use Moo;

use Digest::MD5 qw(md5_hex);
use Larder      ();

extends 'CHI::Driver';

# The URL of the store.
has url => (is => 'ro', required => 1);

# What separates a namespace, which has none itself, from a key, and what marks the digest of a key.
use constant { _BETWEEN => ':', _DIGEST => 'md5:' };

# The longest name that an `mmap:` or a `memory:` takes for a namespace, and the longest key of every store.
use constant { _LONGEST_NAME => 48, _LONGEST_KEY => 250 };

# The stores of this process, which stay open: a program makes a cache object for each request, and should not connect for it.
my %open;

has _store  => (is => 'lazy', init_arg => undef);
has _prefix => (is => 'lazy', init_arg => undef);

# A store whose namespaces can be emptied one by one: a single `memory:` or `mmap:`.
sub _has_namespaces ($self) { return $self->url =~ /\A(?:memory|mmap):/ }

# The namespace as a store takes it: without other characters than letters, digits, `_`, `.` and `-`, but `%`.
sub _namespace ($self) {
    my $name = $self->namespace;
    utf8::encode($name) if utf8::is_utf8($name);
    $name =~ s/([^A-Za-z0-9_.-])/sprintf '%%%02X', ord $1/ge;
    return length $name > _LONGEST_NAME ? md5_hex($name) : $name;
}

sub _build__store ($self) {
    my $url = $self->url;
    if ($self->_has_namespaces) {
        my $name = $self->_namespace;
        # A `%` of the name is one of the URL.
        $url .= ($url =~ /[?]/ ? '&' : '?') . 'namespace=' . $name =~ s/%/%25/gr;
    }
    return $open{$url} //= Larder->open($url);
}

sub _build__prefix ($self) {
    return $self->_has_namespaces ? '' : $self->_namespace . _BETWEEN;
}

# The key in the store. One that is too long, that has bytes that memcached does not take, or that looks like a digest is
# replaced by its digest.
sub _name ($self, $key) {
    utf8::encode($key) if utf8::is_utf8($key);
    my $name = $self->_prefix . $key;
    return $name if length $name <= _LONGEST_KEY && $key !~ /[^\x21-\x7e]|\A\Q@{[_DIGEST]}\E/;
    return $self->_prefix . _DIGEST . md5_hex($key);
}

# Perl's threads copy this class, but no open store.
sub CLONE { %open = (); return }

sub fetch ($self, $key) { return scalar $self->_store->get($self->_name($key)) }

sub store ($self, $key, $data, $expires_in = undef) {
    # CHI counts from its own clock, by which the entry may be over already.
    $expires_in = 0 if defined $expires_in && $expires_in < 0;
    return $self->_store->set($self->_name($key), $data, $expires_in);
}

sub remove ($self, $key) { return $self->_store->delete($self->_name($key)) }

sub fetch_multi_hashref ($self, $keys) {
    my %names = map { ($_ => $self->_name($_)) } @$keys;
    my $found = $self->_store->get_many(values %names);
    return { map { exists $found->{ $names{$_} } ? ($_ => $found->{ $names{$_} }) : () } @$keys };
}

# Of a store that others may use too, only they can remove everything: this is an error there.
sub clear ($self) { return $self->_store->clear }

sub get_keys ($self) { die "get_keys is not supported: a store of Larder does not tell its keys\n" }

sub get_namespaces ($self) { die "get_namespaces is not supported: a store of Larder does not tell its namespaces\n" }

1;

__END__

=head1 NAME

CHI::Driver::Larder - a driver of CHI over any store of Larder

=head1 SYNOPSIS

    my $cache = CHI->new(driver => 'Larder', url => 'mmap:/dev/shm/shop?size=64m', namespace => 'pages');

=head1 SEE ALSO

L<Larder>, and docs/perl.md of Larder

=cut
