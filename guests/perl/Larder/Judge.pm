package Larder::Judge;

# Whether a value that is not the expected one is right all the same, because somebody else stored a newer one, or
# a truncated one, or plainly wrong. Only what differs comes here.

use v5.36;

use Larder::Block ();

sub new ($class, $plan) {
    return bless { plan => $plan, not_stored => {} }, $class;
}

# These values were not acknowledged, so every value of their keys may be there.
sub not_stored ($self, @values) {
    @{ $self->{not_stored} }{@values} = ();
    return;
}

# What operation `$n` of the block got instead of what it wanted.
sub verdict ($self, $block, $n, $got) {
    $block->{bytes_of}{$n} = length $got;
    return Larder::Block::RIGHT if !$self->{plan}{replays} && $self->_is_newer($block, $n, $got);
    my $want = $block->{want}[$n];
    return Larder::Block::WRONG if $want eq Larder::Block::NONE || length $got >= length $want;
    return $got eq substr($want, 0, length $got) ? Larder::Block::TRUNCATED : Larder::Block::WRONG;
}

# Whether it is one of the values from the key's newest to the oldest that is right.
sub _is_newer ($self, $block, $n, $got) {
    my ($plan, $not_stored) = @$self{qw(plan not_stored)};
    my $oldest    = $block->{value}[$n];
    my $any_right = !$oldest;
    my $is_older  = 0;
    my $value     = $plan->{newest}[ $block->{key_index}[$n] ];
    my $found;
    while ($value) {
        $found //= $is_older if $got eq $plan->value($value);
        return 1             if defined $found && !$found;
        $any_right ||= exists $not_stored->{$value};
        $is_older  ||= $value == $oldest;
        $value = $plan->previous($value);
    }
    return defined $found && $any_right;
}

1;
