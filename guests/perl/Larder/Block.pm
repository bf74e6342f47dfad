package Larder::Block;

# Operations made ready for the loop: an array for each thing that it needs, strings that are composed already, places
# for what it notes. This happens while the clock stands still, or, of several processes, before it starts where
# there are not too many of them.

use v5.36;

use Larder::Plan ();

use constant {
    # Why an operation is not simply right; nothing is noted for one that is.
    RIGHT     => 0,
    MISS      => 1,
    WRONG     => 2,
    TRUNCATED => 3,
    ERROR     => 4,
    FILLED    => 5,
    UNFILLED  => 6,
};

# No value of any plan, for a key under which none is right.
use constant NONE => 'nothing is stored under this key, so no value of it is right';

# `operations` and `bytes` say how much is made ready at once at most; `held` is what the null cache holds.
sub new ($class, $plan, %limits) {
    return bless { plan => $plan, multiget => 1, held => 0, %limits, count => 0 }, $class;
}

# Makes as many of `$count` operations from `$first` on ready as fit; returns how many.
sub fill ($self, $first, $count) {
    my $plan = $self->{plan};
    $count = $self->{operations} if $count > $self->{operations};
    my ($keys, $newest, $replays) = @$plan{qw(keys newest replays)};
    my @flat = $plan->operations($first, $count);
    my (@kind, @key, @text, @value, @under);
    my %composed = (texts => ['', NONE], bytes => 0, read => {}, stored => {});
    my $n = 0;
    while ($n < $count && $composed{bytes} < $self->{bytes}) {
        my ($kind, $key, $value, $under) = @flat[ 4 * $n .. 4 * $n + 3 ];
        my $text = 0;
        if ($kind == Larder::Plan::SET) {
            $text = $self->_compose(\%composed, 'stored', $value);
            $self->{held} = $value;
        }
        elsif ($kind == Larder::Plan::GET || $kind == Larder::Plan::GET_OR_SET) {
            if ($replays) {
                $self->{held} ||= $value if $kind == Larder::Plan::GET_OR_SET;
                $value = $self->{held};
            }
            my $right = $value || $newest->[$key];
            $text = $right ? $self->_compose(\%composed, 'read', $right) : 1;
        }
        $kind[$n]  = $kind;
        $key[$n]   = $key;
        $text[$n]  = $text;
        $value[$n] = $value;
        $under[$n] = $under;
        $n++;
    }
    @$self{qw(kind key_index value)} = (\@kind, \@key, \@value);
    $self->{key}   = _aliases(@$keys[@key]);
    $self->{under} = _aliases(@$keys[@under]);
    $self->{want}  = _aliases($composed{texts}->@[@text]);
    $self->_places($n);
    $self->_requests if $self->{multiget} > 1;
    return $n;
}

# The one kind that all operations are of; undef where they are mixed.
sub only_kind ($self) {
    my %kinds = map { ($_ => 1) } @{ $self->{kind} };
    return keys %kinds == 1 ? (keys %kinds)[0] : undef;
}

# The place of a value among the texts, composed once. What is read and what is stored are strings of their own, even
# when they are the same value: the null cache hands back the very string that it was given, and comparing a string
# with itself would cost nothing.
sub _compose ($self, $composed, $use, $value) {
    return $composed->{$use}{$value} //= do {
        my $text = $self->{plan}->value($value);
        $composed->{bytes} += length $text;
        push(@{ $composed->{texts} }, $text) - 1;
    };
}

# An array whose elements are these very scalars. Copies would share a string only 255 times over, and every further
# one would be a string of its own: of a hot value, thousands, which no processor's cache holds.
sub _aliases { return \@_ }

# Room for what the loop notes. The arrays are reused, so that their scalars are there already.
sub _places ($self, $count) {
    $self->{count} = $count;
    $#{ $self->{$_} } = $count - 1 for qw(end outcome);
    $_ = 0.0   for @{ $self->{end} };
    $_ = RIGHT for @{ $self->{outcome} };
    @$self{qw(bytes_of errors doubts segments)} = ({}, {}, [], []);
    return;
}

# Gets that follow one another become requests of so many keys: where each ends, and its keys.
sub _requests ($self) {
    my ($kind, $key, $multiget) = @$self{qw(kind key multiget)};
    my (@to, @keys);
    my $from = 0;
    while ($from < $self->{count}) {
        my $to = $from;
        if ($kind->[$from] == Larder::Plan::GET) {
            $to++ while $to - $from + 1 < $multiget && ($kind->[ $to + 1 ] // -1) == Larder::Plan::GET;
        }
        $to[$from]   = $to;
        $keys[$from] = [ @$key[ $from .. $to ] ];
        $from        = $to + 1;
    }
    @$self{qw(request_to request_keys)} = (\@to, \@keys);
    return;
}

1;
