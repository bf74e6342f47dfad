package Larder::Judge;

# Decides whether an unexpected value is right because another process stored a newer value, and otherwise in which way
# it is wrong. The judge sees only values that differ from the expected one.

use v5.36;

use Larder::Block  ();
use Larder::Header ();
use Larder::Plan   ();

# A value without a header that is at least this long hardly ever equals another value by chance.
use constant TELLING_BYTES => 8;

sub new ($class, $plan) {
    return bless { plan => $plan, uncertain => {} }, $class;
}

# A change of these keys was not acknowledged, so each key may have any of its values.
sub distrust ($self, @keys) {
    @{ $self->{uncertain} }{@keys} = ();
    return;
}

# The keys with an unacknowledged change.
sub uncertain ($self) { return keys %{ $self->{uncertain} } }

# The outcome of operation `$n` of the block, which got `$got` instead of the expected value.
sub verdict ($self, $block, $n, $got) {
    my $want = $block->{want}[$n];
    if (!$self->{plan}{replays} && $self->_is_right($block, $n, $got)) {
        $block->{bytes_of}{$n} = length $got if length $got != length $want;
        return Larder::Block::RIGHT;
    }
    $block->{bytes_of}{$n} = length $got;
    my $outcome = $self->{plan}{replays} ? Larder::Block::DAMAGED : $self->_wrong($block->{key_index}[$n], $want, $got);
    $block->note_wrong($n, $outcome, $got);
    return $outcome;
}

# In which way the value `$got` of a key is wrong, where `$want` would have been right.
sub _wrong ($self, $key, $want, $got) {
    my $plan = $self->{plan};
    return $self->_wrong_without_header($key, $want, $got) if length $got < Larder::Header::BYTES;
    my ($tag, $length) = $plan->{header}->read_intact($got) or return Larder::Block::DAMAGED;
    return
          $tag != $plan->{header}->tag_of($key) ? Larder::Block::OTHER_KEY
        : length $got < $length                 ? Larder::Block::TRUNCATED
        :                                         Larder::Block::STALE;
}

# Where the key's values are shorter than a header, their bytes alone tell them apart. Otherwise a truncated value
# begins as the tag of its key does.
sub _wrong_without_header ($self, $key, $want, $got) {
    my $plan   = $self->{plan};
    my $newest = $plan->{newest}[$key];
    if ($newest && length $plan->value($newest) < Larder::Header::BYTES) {
        return Larder::Block::STALE if length $got >= TELLING_BYTES && defined $plan->numbers_of($key)->{$got};
        my $is_cut = $want ne Larder::Block::NONE && length $got < length $want && $got eq substr $want, 0, length $got;
        return $is_cut ? Larder::Block::TRUNCATED : Larder::Block::DAMAGED;
    }
    my $tag   = pack 'Q<', $plan->{header}->tag_of($key);
    my $begin = substr $got, 0, length $tag;
    return $begin eq substr($tag, 0, length $begin) ? Larder::Block::TRUNCATED : Larder::Block::DAMAGED;
}

# Whether `$got` is one of the key's values from the oldest right one to the newest. A hot key has thousands of values,
# and the clock runs. So the first bytes of `$got` give the number of the one value to compare it with. Where the key
# must be absent, no number is large enough.
sub _is_right ($self, $block, $n, $got) {
    my ($plan, $key, $oldest) = ($self->{plan}, $block->{key_index}[$n], $block->{value}[$n]);
    my $number = $plan->numbers_of($key)->{ substr $got, 0, Larder::Plan::HEADER_BYTES } // return 0;
    # The value of a fill under another key says nothing about the values of this key.
    my $is_new = $number >= $oldest || $block->{under_index}[$n] != $key;
    return 0 if !$is_new && !exists $self->{uncertain}{$key};
    return $block->is_value($number, $got);
}

1;
