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
    DAMAGED   => 2,
    TRUNCATED => 3,
    ERROR     => 4,
    FILLED    => 5,
    UNFILLED  => 6,
    STALE     => 7,
    OTHER_KEY => 8,
    # A miss where nothing may be there, which is right.
    PLANNED => 9,
};
use constant OUTCOMES => 10;

# No value of any plan, for a key under which none is right.
use constant NONE => 'nothing is stored under this key, so no value of it is right';

# `operations` and `bytes` say how much is made ready at once at most; `held` is what the null cache holds. Where gets may
# meet newer values than they expect, `meets_newer`, what tells those apart is made ready too.
sub new ($class, $plan, %limits) {
    my $self = bless { plan => $plan, multiget => 1, held => 0, %limits, count => 0 }, $class;
    $self->_forget;
    return $self;
}

# Makes as many of `$count` operations from `$first` on ready as fit; returns how many.
sub fill ($self, $first, $count) {
    $count = $self->{operations} if $count > $self->{operations};
    $self->_forget               if $self->{composed} >= $self->{bytes};
    my ($kind, $key, $value, $under) = $self->{plan}->operations($first, $count);
    my $plan = $self->{plan};
    my ($keys, $newest, $replays) = @$plan{qw(keys newest replays)};
    my ($limit, $read, $stored, $held) = @$self{qw(bytes read stored held)};
    my $numbers = $self->{meets_newer} && !$replays ? $plan->{numbers} : undef;
    my (@text, @nothing);
    for my $n (0 .. $count - 1) {
        my $what = $kind->[$n];
        if ($what == Larder::Plan::SET) {
            $held = $value->[$n];
            push @text, $stored->{$held} // $self->_compose($stored, $held);
        }
        elsif ($what == Larder::Plan::GET || $what == Larder::Plan::GET_OR_SET) {
            if ($replays) {
                $held ||= $value->[$n] if $what == Larder::Plan::GET_OR_SET;
                $value->[$n] = $held;
            }
            my $right = $value->[$n] || $newest->[ $key->[$n] ];
            if ($right == Larder::Plan::NOTHING) {
                $right = 0;
                push @nothing, $n;
            }
            push @text, $right ? $read->{$right} // $self->_compose($read, $right) : 1;
            $plan->numbers_of($key->[$n]) if $numbers && !$numbers->[ $key->[$n] ];
        }
        else {
            push @text, 0;
        }
        last if $self->{composed} >= $limit;
    }
    $#$_ = $#text for $kind, $key, $value, $under;
    @$self{qw(kind key_index value under_index held)} = ($kind, $key, $value, $under, $held);
    $self->{key}   = _aliases(@$keys[@$key]);
    $self->{under} = _aliases(@$keys[@$under]);
    $self->{want}  = _aliases($self->{texts}->@[@text]);
    $self->_places(scalar @text);
    $self->{nothing} = \@nothing;
    $self->_requests if $self->{multiget} > 1;
    return scalar @text;
}

# The one kind that all operations are of; undef where they are mixed.
sub only_kind ($self) { return $self->{only_kind} }

# What missed where nothing may be there has done what it should. Asked once it is known which misses were failures.
sub settle_misses ($self) {
    my $outcome = $self->{outcome};
    $_ = PLANNED for grep { $_ == MISS } @$outcome[ @{ $self->{nothing} } ];
    return;
}

# Keeps the first value of an operation that is wrong in this way: the operation, and what it got.
sub note_wrong ($self, $n, $outcome, $got) {
    $self->{wrong}{ $self->{kind}[$n] }{$outcome} //= [ $n, $got ];
    return;
}

# Whether `$got` is value number `$value`; what it is compared with is kept while there is room, for it will be got again.
sub is_value ($self, $value, $got) {
    my $read  = $self->{read};
    my $place = $read->{$value};
    if (!defined $place) {
        return $got eq $self->{plan}->value($value) if $self->{composed} >= $self->{bytes};
        $place = $self->_compose($read, $value);
    }
    return $got eq $self->{texts}[$place];
}

# The place of a value among the texts, which the next blocks have too while there is room. What is read and what is
# stored are strings of their own, even when they are the same value: the null cache hands back the very string that
# it was given, and comparing a string with itself would cost nothing.
sub _compose ($self, $places, $value) {
    my $text = $self->{plan}->value($value);
    $self->{composed} += length $text;
    return $places->{$value} = push(@{ $self->{texts} }, $text) - 1;
}

# Begins the texts anew; the first two stand for no value that matters, and for none that is right.
sub _forget ($self) {
    @$self{qw(texts composed read stored)} = ([ '', NONE ], 0, {}, {});
    return;
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
    my %kinds;
    @kinds{ @{ $self->{kind} } } = ();
    $self->{only_kind} = keys %kinds == 1 ? $self->{kind}[0] : undef;
    @$self{qw(bytes_of errors notes segments wrong)} = ({}, {}, [], [], {});
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
