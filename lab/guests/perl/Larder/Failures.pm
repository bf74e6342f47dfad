package Larder::Failures;

# Explains the failures that the loop noted, in their order. An explanation may need a question to the
# servers, so it waits until a segment of the loop is over. Where everything fails, the phase is given up.

use v5.36;

use Larder::Block   ();
use Larder::Failure ();
use Larder::Plan    ();

use constant {
    GET_OR_SET => Larder::Plan::GET_OR_SET,
    MISS       => Larder::Block::MISS,
    ERROR      => Larder::Block::ERROR,
    FILLED     => Larder::Block::FILLED,
    UNFILLED   => Larder::Block::UNFILLED,
};
# A note has the first and the last operation of a request, one of these kinds, and a detail. The detail is the error
# number of a miss, the answer of `set` to a refused value, or the Larder::Failure of a failure. For a miss that was
# filled, the note also has the time at which the get ended and the fill began.
use constant {
    MISSED  => 0,
    REFUSED => 1,
    FAILED  => 2,
};
# The phase is given up after this many failures in a row, or this many seconds of them: the rest would repeat them.
use constant {
    FAILURES_IN_A_ROW => 100,
    FAILING_S         => 5,
};

# `%parts` are `cache` and `block`.
sub new ($class, %parts) {
    return bless { %parts, base => 0, in_a_row => 0, last => -1 }, $class;
}

# Goes on to the next filling of the block, whose operations follow the present ones.
sub next_block ($self) {
    $self->{base} += $self->{block}{count};
    return;
}

# Explains the notes made since operation `$first` of the block began at `$began`.
sub settle ($self, $first, $began) {
    my ($block, $cache) = @$self{qw(block cache)};
    my $end = $block->{end};
    my (%asked, $missed);
    for my $note (splice @{ $block->{notes} }) {
        my ($from, $to, $what, $said, $between) = @$note;
        my $then = $from > $first ? $end->[ $from - 1 ] : $began;
        if ($what == MISSED) {
            my $failure = $cache->failure_of_miss(($between // $end->[$to]) - $then, $said, \%asked);
            if (!$failure) {
                $missed = [ $from, $to ];
                next;
            }
            # The first miss on a closed connection leaves no trace; the next one, which cannot connect, leaves one.
            $self->_missed_by_failure(@$missed, $failure)
                if $missed && $missed->[1] == $from - 1 && $failure->kind eq 'io' && $cache->fails_late;
            $self->_missed_by_failure($from, $to, $failure);
        }
        else {
            my $failure = $what == FAILED ? $said : $self->_refusal($from, $said, $end->[$to] - ($between // $then), \%asked);
            $block->{errors}{$_} //= $failure for $from .. $to;
            $self->_count($from, $to, $failure);
        }
    }
    return;
}

# Counts the missing keys of a failed request as failed.
sub _missed_by_failure ($self, $from, $to, $failure) {
    my ($outcome, $errors) = @{ $self->{block} }{qw(outcome errors)};
    for my $n ($from .. $to) {
        my $what = $outcome->[$n];
        next if $what != MISS && $what != FILLED && $what != UNFILLED;
        $outcome->[$n] = ERROR;
        $errors->{$n}  = $failure;
    }
    $self->_count($from, $to, $failure);
    return;
}

sub _refusal ($self, $n, @said) {
    my $block = $self->{block};
    my $key   = $block->{ $block->{kind}[$n] == GET_OR_SET ? 'under' : 'key' }[$n];
    my ($answer, $took, $asked) = @said;
    return $self->{cache}->refusal($key, $block->{want}[$n], $answer, $took, $asked);
}

# Gives up the phase after too many failures in a row. A request with any key that was found or missed is no failure.
sub _count ($self, $from, $to, $failure) {
    my ($end, $outcome) = @{ $self->{block} }{qw(end outcome)};
    my $position = $self->{base} + $from;
    # The get of this operation has failed already, so its failed fill is no second failure.
    return if $position <= $self->{last};
    my $is_next = $position == $self->{last} + 1;
    if (grep { $outcome->[$_] != ERROR && $outcome->[$_] != UNFILLED } $from .. $to) {
        $self->{in_a_row} = 0;
        return;
    }
    @$self{qw(in_a_row failing_since)} = (0, $end->[$to]) if !$is_next || !$self->{in_a_row};
    $self->{last} = $self->{base} + $to;
    my $in_a_row = ++$self->{in_a_row};
    return if $in_a_row < 2;
    return if $in_a_row < FAILURES_IN_A_ROW && $end->[$to] - $self->{failing_since} < FAILING_S;
    die Larder::Failure->new($failure->kind, "gave up after $in_a_row failures in a row: $failure");
}

1;
