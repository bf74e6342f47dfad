package Cache::Tiered;

# Caches one behind the other, the nearest first. URLs make one stack of Larder; caches that the program has already are
# asked one after the other, as the module of this name in an article of 2009 did it.

use v5.36;

use Larder        ();
use Larder::Error ();

# Makes a tiered cache of `tiers`, each a URL of Larder or an object with `get`, `set` and `delete` or `remove`. `ttl` is the
# longest life of an entry in seconds.
sub new ($class, %options) {
    my ($tiers, $ttl) = delete @options{qw(tiers ttl)};
    _usage("unknown option $_; known: tiers, ttl") for sort keys %options;
    _usage('tiers is no list; write tiers => [NEAREST, ..., FARTHEST]') if ref $tiers ne 'ARRAY';
    _usage('there are no tiers; name one or more')                      if !@$tiers;
    my @objects = grep { ref } @$tiers;
    _usage('URLs and objects do not mix; write all tiers as URLs, or make objects by Larder->open(URL)')
        if @objects && @objects < @$tiers;
    my @kept = @objects ? map { _checked($_) } @objects : (_stack(@$tiers));
    return bless { tiers => \@kept, ttl => $ttl }, $class;
}

# A store of Larder over all URLs, which keeps its tiers in step among processes and hosts.
sub _stack (@urls) {
    return Larder->open(@urls == 1 ? $urls[0] : 'tiered:' . join '|', @urls);
}

sub _checked ($tier) {
    for my $need (qw(get set)) {
        _usage(ref($tier) . " is no cache: it has no method $need") if !$tier->can($need);
    }
    _usage(ref($tier) . ' is no cache: it has neither delete nor remove') if !$tier->can('delete') && !$tier->can('remove');
    return $tier;
}

sub _usage ($message) { return Larder::Error->throw('argument', $message) }

# The value of a key, or undef. A hit is stored in all nearer tiers.
sub get ($self, $key) {
    my $tiers = $self->{tiers};
    my $value = $tiers->[0]->get($key);
    return $value if defined $value || @$tiers == 1;
    for my $place (1 .. $#$tiers) {
        $value = $tiers->[$place]->get($key) // next;
        # A nearer tier that refuses the value leaves the answer as it is.
        for my $nearer (@$tiers[ 0 .. $place - 1 ]) {
            eval { $nearer->set($key, $value, $self->{ttl} // ()) };
        }
        return $value;
    }
    return undef;    ## no critic (ProhibitExplicitReturnUndef)
}

# Stores a value in every tier, the farthest first; whether the farthest has it. A nearer tier that does not take the value
# loses the key, and so does each where the farthest refused it: none keeps an older value.
sub set ($self, $key, $value, $ttl = $self->{ttl}) {
    my ($farthest, @nearer) = reverse @{ $self->{tiers} };
    my $is_stored = eval { _is_stored($farthest, $farthest->set($key, $value, $ttl // ())) };
    my $error     = $@;
    for my $tier (@nearer) {
        my $is_here = $is_stored && eval { _is_stored($tier, $tier->set($key, $value, $ttl // ())) };
        _remove($tier, $key) if !$is_here;
    }
    die $error if !defined $is_stored && $error;
    return $is_stored ? 1 : 0;
}

# Whether a set has stored by its answer. CHI answers with the value.
sub _is_stored ($tier, $answer) { return $tier->isa('CHI::Driver') ? 1 : $answer ? 1 : 0 }

sub _remove ($tier, $key) {
    my $remove = $tier->can('delete') // $tier->can('remove');
    return $tier->$remove($key);
}

# Removes a key from every tier, the farthest first; whether it was in one.
sub delete ($self, $key) {    ## no critic (ProhibitBuiltinHomonyms)
    my $was_there = 0;
    for my $tier (reverse @{ $self->{tiers} }) {
        $was_there = 1 if _remove($tier, $key);
    }
    return $was_there;
}

# The value of a key; one that is absent is made by `load`. A stack of Larder lets one caller of all load it.
sub get_or_load ($self, $key, $load) {
    my $nearest = $self->{tiers}[0];
    if (@{ $self->{tiers} } == 1 && $nearest->can('get_or_load')) {
        return $nearest->get_or_load($key, $load, ttl => $self->{ttl});
    }
    my $value = $self->get($key);
    return $value if defined $value;
    $value = $load->();
    $self->set($key, $value);
    return $value;
}

1;

__END__

=head1 NAME

Cache::Tiered - caches one behind the other

=head1 SYNOPSIS

    my $cache = Cache::Tiered->new(tiers => [ 'mmap:/dev/shm/near?size=64m', 'memcached://h1' ], ttl => 30);

=head1 SEE ALSO

L<Larder>, and docs/perl.md of Larder

=cut
