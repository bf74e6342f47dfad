package Larder::Cache::Tiered;

# Caches behind one another. A get asks the nearest tier, then the next, and fills the nearer tiers with its value. A
# set goes through all tiers, the farthest first. A nearer tier loses the key of a value that it refuses, so that it has
# no older value than the tiers behind it. With `l1_drops_hits` a value of the nearest tier is thrown away, and the next
# tier is asked for it: a mistake to repeat and measure.

use v5.36;

use parent 'Larder::Cache';

use Larder::Failure ();

sub open_cache ($class, $order) {
    my @orders = map { +{ %$_, fresh => $order->{fresh} } } @{ $order->{tiers} };
    @orders >= 2 or die "a tiered cache has two tiers or more\n";
    my @caches = map { Larder::Cache::open_cache($_) } @orders;
    my $self   = bless { names => [ map { $_->{cache} } @orders ], caches => \@caches }, $class;
    # In a class of its own, so that other tiered caches pay for no check.
    bless $self, 'Larder::Cache::Tiered::Blank' if $order->{options}{l1_drops_hits};
    return $self->_ready(undef);
}

# The same tiers with other caches in them, or another TTL.
sub _again ($self, $seconds, @caches) {
    my $again = bless { %$self, caches => \@caches }, ref $self;
    return $again->_ready($seconds);
}

# A back-fill begins a TTL again, for the time left in the farther tier is unknown. It is the shortest TTL of all sets so
# far: without one, a key that has a TTL could stay in the nearer tier for ever.
sub _ready ($self, $seconds) {
    ($self->{shortest}) = sort { $a <=> $b } grep { defined } $self->{shortest}, $seconds;
    $self->{seconds}  = $seconds;
    $self->{fill_ttl} = $self->ttl_argument($self->{shortest});
    $self->{counts}   = [ map { +{ hits => 0, misses => 0, dropped => 0, fills => 0, refused => 0 } } @{ $self->{caches} } ];
    return $self;
}

sub title ($self) { return join ' before ', map { $_->title } @{ $self->{caches} } }

sub settings ($self) {
    my %settings;
    for my $n (0 .. $#{ $self->{caches} }) {
        my $of  = $self->{caches}[$n]->settings;
        my $tier = $n + 1;
        $settings{"l$tier.$_"} = $of->{$_} for keys %$of;
    }
    return \%settings;
}

# Each tier has its own form of a TTL.
sub ttl_argument ($self, $seconds) { return [ map { $_->ttl_argument($seconds) } @{ $self->{caches} } ] }

sub with_ttl ($self, $seconds) {
    return $self->_again($seconds, map { $_->with_ttl($seconds) } @{ $self->{caches} });
}

sub after_fork ($self) {
    return $self->_again($self->{seconds}, map { $_->after_fork } @{ $self->{caches} });
}

sub get {
    my ($self, $key) = @_;
    my ($caches, $counts) = @$self{qw(caches counts)};
    my $value;
    for my $n (0 .. $#$caches) {
        $value = $caches->[$n]->get($key);
        if (defined $value) {
            $counts->[$n]{hits}++;
            $self->_fill($n, $key, $value) if $n;
            return $value;
        }
        $counts->[$n]{misses}++;
    }
    return $value;
}

sub get_many ($self, $keys) {
    my ($caches, $counts) = @$self{qw(caches counts)};
    my %found;
    my @left = @$keys;
    for my $n (0 .. $#$caches) {
        my $here = $caches->[$n]->get_many(\@left);
        my @here = grep { defined $here->{$_} } @left;
        $counts->[$n]{hits}   += @here;
        $counts->[$n]{misses} += @left - @here;
        for my $key (@here) {
            $self->_fill($n, $key, $here->{$key}) if $n && !exists $found{$key};
            $found{$key} = $here->{$key};
        }
        @left = grep { !defined $here->{$_} } @left or last;
    }
    return \%found;
}

# The nearer tiers lose the key of a value that the farthest tier refused or died of. Each tier is asked, even if an
# earlier tier died.
sub set {
    my ($self, $key, $value, $ttl) = @_;
    my $caches = $self->{caches};
    my $far    = $#$caches;
    my $stored = eval { $caches->[$far]->set($key, $value, $ttl->[$far]) };
    my $caught = $@;
    $self->{counts}[$far]{refused}++ if !$stored;
    for my $n (reverse 0 .. $far - 1) {
        eval {
            $stored ? $self->_keep($n, $key, $value, $ttl->[$n]) : $caches->[$n]->delete($key);
            1;
        } or $caught ||= $@;
    }
    die $caught if $caught;
    return $stored;
}

# The key was there if any tier had it, and is gone if no tier failed.
sub delete ($self, $key) {
    my ($found, $failed, $caught) = (0, 0, undef);
    for my $cache (reverse @{ $self->{caches} }) {
        my $here = eval { $cache->delete($key) };
        $caught ||= $@;
        $failed ||= !defined $here;
        $found  ||= $here;
    }
    die $caught if $caught;
    return undef if $failed;    ## no critic (ProhibitExplicitReturnUndef)
    return $found ? 1 : 0;
}

sub touch ($self, $key, $ttl) {
    my $caches = $self->{caches};
    my @found  = map { $caches->[$_]->touch($key, $ttl->[$_]) } reverse 0 .. $#$caches;
    return $found[0];
}

# The farthest tier decides whether a value is stored.
sub refusal ($self, @refused) {
    my $failure = $self->{caches}[-1]->refusal(@refused);
    return Larder::Failure->new($failure->kind, "$self->{names}[-1]: $failure");
}

# A miss in all tiers may be a failure of the farthest tier.
sub failure_of_miss ($self, @miss) {
    my $farthest = $self->{caches}[-1];
    return $farthest->can('failure_of_miss') ? $farthest->failure_of_miss(@miss) : ();
}

sub fails_late ($self) { return $self->{caches}[-1]->fails_late }

sub finish ($self) { return scalar grep { $_->finish } @{ $self->{caches} } }

sub connections ($self) {
    my @opened = map { scalar $_->connections } @{ $self->{caches} };
    return undef if grep { !defined } @opened;    ## no critic (ProhibitExplicitReturnUndef)
    my $sum = 0;
    $sum += $_ for @opened;
    return $sum;
}

sub tier_counts ($self) {
    my @counts = map { +{ name => $self->{names}[$_], %{ $self->{counts}[$_] } } } 0 .. $#{ $self->{caches} };
    $self->_ready($self->{seconds});
    return \@counts;
}

# Stores the value of tier `$behind` in the tiers before it.
sub _fill ($self, $behind, $key, $value) {
    for my $n (reverse 0 .. $behind - 1) {
        $self->{counts}[$n]{fills}++ if $self->_keep($n, $key, $value, $self->{fill_ttl}[$n]);
    }
    return;
}

# A tier that died of a value may still have the older value, so it deletes the key.
sub _keep {
    my ($self, $n, $key, $value, $ttl) = @_;
    my $cache = $self->{caches}[$n];
    return 1 if eval { $cache->set($key, $value, $ttl) };
    my $caught = $@;
    $self->{counts}[$n]{refused}++;
    $cache->delete($key);
    die $caught if $caught;
    return 0;
}

package Larder::Cache::Tiered::Blank;

# The nearest tier hits, but its value is thrown away before the caller gets it.

use v5.36;

our @ISA = qw(Larder::Cache::Tiered);

sub get {
    my ($self, $key) = @_;
    my ($caches, $counts) = @$self{qw(caches counts)};
    for my $n (0 .. $#$caches) {
        my $value = $caches->[$n]->get($key);
        if (defined $value && $n) {
            $counts->[$n]{hits}++;
            $self->_fill($n, $key, $value);
            return $value;
        }
        $counts->[$n]{misses}++;
        $counts->[$n]{dropped}++ if defined $value;
    }
    return undef;    ## no critic (ProhibitExplicitReturnUndef)
}

sub get_many ($self, $keys) {
    my %found;
    for my $key (@$keys) {
        my $value = $self->get($key);
        $found{$key} = $value if defined $value;
    }
    return \%found;
}

1;
