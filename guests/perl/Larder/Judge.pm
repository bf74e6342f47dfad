package Larder::Judge;

# Whether a value that is not the expected one is right all the same, because somebody else stored a newer one, or
# a truncated one, or plainly wrong. Only what differs comes here.

use v5.36;

use Larder::Block ();
use Larder::Plan  ();

sub new ($class, $plan) {
    return bless { plan => $plan, uncertain => {} }, $class;
}

# What should have been stored under these keys was not acknowledged, so every value of theirs may be there.
sub distrust ($self, @keys) {
    @{ $self->{uncertain} }{@keys} = ();
    return;
}

# The keys of which that is so.
sub uncertain ($self) { return keys %{ $self->{uncertain} } }

# What operation `$n` of the block got instead of what it wanted.
sub verdict ($self, $block, $n, $got) {
    my $want = $block->{want}[$n];
    if (!$self->{plan}{replays} && $self->_is_right($block, $n, $got)) {
        $block->{bytes_of}{$n} = length $got if length $got != length $want;
        return Larder::Block::RIGHT;
    }
    $block->{bytes_of}{$n} = length $got;
    return Larder::Block::WRONG if $want eq Larder::Block::NONE || length $got >= length $want;
    return $got eq substr($want, 0, length $got) ? Larder::Block::TRUNCATED : Larder::Block::WRONG;
}

# Whether it is one of the values from the key's newest to the oldest that is right. A hot key has thousands of them and
# the clock runs, so its number is looked up by its first bytes, and it is compared with that one alone. Where nothing
# may be there no number is large enough.
sub _is_right ($self, $block, $n, $got) {
    my ($plan, $key, $oldest) = ($self->{plan}, $block->{key_index}[$n], $block->{value}[$n]);
    my $number = $plan->numbers_of($key)->{ substr $got, 0, Larder::Plan::HEADER_BYTES } // return 0;
    # What a miss would have stored under another key says nothing of this one's.
    my $is_new = $number >= $oldest || $block->{under_index}[$n] != $key;
    return 0 if !$is_new && !exists $self->{uncertain}{$key};
    return $block->is_value($number, $got);
}

1;
