package Larder::Block;

# Operations made ready for the loop: an array for each of their fields, composed values, and places for the loop's
# notes. A process alone makes them ready while its clock stands still. Each of several processes does so before its
# clock starts, unless there are too many operations.

use v5.36;

use Larder::Plan ();

use constant {
    # The outcomes of an operation; the loop notes an outcome only where it is not `RIGHT`.
    RIGHT    => 0,
    MISS     => 1,
    ERROR    => 2,
    FILLED   => 3,
    UNFILLED => 4,
    # Another value than the expected one.
    OTHER => 5,
};

# The bytes of other values that a block keeps as they are. Of the values after these it keeps the beginning.
use constant {
    OTHER_BYTES => 16 * 1024 * 1024,
    BEGINNING   => 64,
};

# The expectation of a get where no value is right: a string that is no value of any plan.
use constant NONE => 'nothing is stored under this key, so no value of it is right';

# `operations` and `bytes` limit the block; `held` is the number of the value that the null cache holds. With
# `meets_newer`, gets may meet newer values than they expect, so the numbers of their keys' values are made ready too.
sub new ($class, $plan, %limits) {
    my $self = bless { plan => $plan, multiget => 1, held => 0, %limits, count => 0 }, $class;
    $self->_forget;
    return $self;
}

# Makes ready as many of the `$count` operations from `$first` on as fit, and returns their number.
sub fill ($self, $first, $count) {
    $count = $self->{operations} if $count > $self->{operations};
    $self->_forget               if $self->{composed} >= $self->{bytes};
    my ($kind, $key, $value, $under) = $self->{plan}->operations($first, $count);
    my $plan = $self->{plan};
    my ($keys, $newest, $replays) = @$plan{qw(keys newest replays)};
    my ($limit, $read, $stored, $held) = @$self{qw(bytes read stored held)};
    my $numbers = $self->{meets_newer} && !$replays ? $plan->{numbers} : undef;
    my @text;
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
            $right = 0 if $right == Larder::Plan::NOTHING;
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
    $self->_requests if $self->{multiget} > 1;
    return scalar @text;
}

# The kind of all operations; undef where the kinds are mixed.
sub only_kind ($self) { return $self->{only_kind} }

# Notes that operation `$n` got `$got` in place of the expected value: the number of this value among those of its key,
# or its bytes. A hot key has thousands of values, and the clock runs. So the first bytes of `$got` give the number of the
# one value to compare it with.
sub other ($self, $n, $got) {
    my $plan   = $self->{plan};
    my $number = $plan->{replays} ? 0 : $plan->numbers_of($self->{key_index}[$n])->{ substr $got, 0, Larder::Plan::HEADER_BYTES };
    if ($number && $self->is_value($number, $got)) {
        $self->{others}{$n} = [$number];
    }
    else {
        my $length = length $got;
        $got = substr $got, 0, BEGINNING if ($self->{other_bytes} += $length) > OTHER_BYTES;
        $self->{others}{$n} = [ 0, $length, $got ];
    }
    return OTHER;
}

# Whether `$got` is value number `$value`. The composed value is kept for later gets, while there is room.
sub is_value ($self, $value, $got) {
    my $read  = $self->{read};
    my $place = $read->{$value};
    if (!defined $place) {
        return $got eq $self->{plan}->value($value) if $self->{composed} >= $self->{bytes};
        $place = $self->_compose($read, $value);
    }
    return $got eq $self->{texts}[$place];
}

# The place of a value among the texts, which later blocks share while there is room. Gets and sets have separate
# strings, even of the same value. The null cache returns the very string that it was given, and comparing a string with
# itself would cost nothing.
sub _compose ($self, $places, $value) {
    my $text = $self->{plan}->value($value);
    $self->{composed} += length $text;
    return $places->{$value} = push(@{ $self->{texts} }, $text) - 1;
}

# Empties the texts. The first two remain: one for operations that compare nothing, and `NONE`.
sub _forget ($self) {
    @$self{qw(texts composed read stored)} = ([ '', NONE ], 0, {}, {});
    return;
}

# An array whose elements are these very scalars. Copies would share a string only 255 times, and every further copy
# would be a string of its own. A hot value would become thousands of strings, which no processor's cache holds.
sub _aliases { return \@_ }

# Makes room for the loop's notes. The arrays are reused, so that their scalars exist already.
sub _places ($self, $count) {
    $self->{count} = $count;
    $#{ $self->{$_} } = $count - 1 for qw(end outcome);
    $_ = 0.0   for @{ $self->{end} };
    $_ = RIGHT for @{ $self->{outcome} };
    my %kinds;
    @kinds{ @{ $self->{kind} } } = ();
    $self->{only_kind} = keys %kinds == 1 ? $self->{kind}[0] : undef;
    @$self{qw(errors notes segments others other_bytes)} = ({}, [], [], {}, 0);
    return;
}

# Joins successive gets into requests of up to `multiget` keys: the end of each request, and its keys.
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
