package Larder::Judge;

# Whether a value that is not the expected one is right all the same, because somebody else stored a newer one; and if not, in
# which way it is wrong. Only what differs comes here.

use v5.36;

use Larder::Block  ();
use Larder::Header ();
use Larder::Plan   ();

# A value without a header is hardly ever another one of this length by chance.
use constant TELLING_BYTES => 8;

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
    my $outcome = $self->{plan}{replays} ? Larder::Block::DAMAGED : $self->_wrong($block->{key_index}[$n], $want, $got);
    $block->note_wrong($n, $outcome, $got);
    return $outcome;
}

# In which way what was got under a key is wrong, where `$want` would have been right.
sub _wrong ($self, $key, $want, $got) {
    my $plan = $self->{plan};
    return $self->_wrong_without_header($key, $want, $got) if length $got < Larder::Header::BYTES;
    my ($tag, $length) = $plan->{header}->read_intact($got) or return Larder::Block::DAMAGED;
    return
          $tag != $plan->{header}->tag_of($key) ? Larder::Block::OTHER_KEY
        : length $got < $length                 ? Larder::Block::TRUNCATED
        :                                         Larder::Block::STALE;
}

# A value of a key whose values are that short is told by its bytes alone. Otherwise it is what is left of a longer one, which
# begins with the tag of its key.
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
