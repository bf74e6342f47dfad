package Larder::Count;

# Adds the loop's notes on a finished block to the tally of each operation.

use v5.36;

use Larder::Block ();
use Larder::Plan  ();
use Larder::Tally ();

my @NAMES = (
    [ get        => 1 ],
    [ set        => 0 ],
    [ get_or_set => 1 ],
    [ delete     => 0 ],
    [ touch      => 0 ],
);

# `operations` are the names of the phase's operations; with `multiget` above 1 a get is a request of that many keys.
sub new ($class, $operations, $multiget) {
    my @names = map { [@$_] } @NAMES;
    $names[Larder::Plan::GET][0] = 'get_many' if $multiget > 1;
    my %is_read = map { @$_ } @names;
    my %tallies = map { ($_ => Larder::Tally->new($is_read{$_})) } @$operations;
    my @tally_of = map { $tallies{ $_->[0] } } @names;
    return bless { tallies => \%tallies, tally_of => \@tally_of, first_error => undef }, $class;
}

# Each segment of the block has its start, and the time that the phase had lasted then. Times are rounded on the time
# axis of the phase, so that the durations of all operations add up to the duration of the phase.
sub add ($self, $block) {
    $self->_add_errors($block);
    $block->settle_misses;
    for my $kind (keys %{ $block->{wrong} }) {
        $self->{tally_of}[$kind]->add_wrong($block, $block->{wrong}{$kind});
    }
    for my $segment (@{ $block->{segments} }) {
        my ($from, $to, $began, $elapsed) = @$segment;
        my $origin = $began - $elapsed;
        $_ = int(($_ - $origin) * 1e9 + 0.5) for @{ $block->{end} }[ $from .. $to ];
        $self->_add_segment($block, $from, $to, int($elapsed * 1e9 + 0.5));
    }
    return;
}

sub _add_segment ($self, $block, $from, $to, $then) {
    my ($kind, $end) = @$block{qw(kind end)};
    my $only = $block->only_kind;
    while ($from <= $to) {
        my $what  = $kind->[$from];
        my $tally = $self->{tally_of}[$what];
        my $last  = $from;
        if ($what == Larder::Plan::GET && $block->{multiget} > 1) {
            $last = $block->{request_to}[$from];
            my $bytes    = 0;
            my @outcomes = $block->{outcome}->@[ $from .. $last ];
            $bytes += $self->_bytes($block, $_) for $from .. $last;
            $tally->add_request(\@outcomes, $end->[$last], $end->[$last] - $then, $bytes);
        }
        else {
            if (defined $only) { $last = $to }
            else               { $last++ while $last < $to && $kind->[ $last + 1 ] == $what }
            $tally->add_run($block, $from, $last, $then);
        }
        $then = $end->[$last];
        $from = $last + 1;
    }
    return;
}

# The counts of each operation, for the result of the phase.
sub over ($self, $wall_ns) {
    my $tallies = $self->{tallies};
    return { map { ($_ => $tallies->{$_}->over($wall_ns)) } keys %$tallies };
}

sub first_error ($self) { return $self->{first_error} }

sub _bytes ($self, $block, $n) {
    my $outcome = $block->{outcome}[$n];
    return $block->{bytes_of}{$n} if exists $block->{bytes_of}{$n};
    return 0                      if $outcome != Larder::Block::RIGHT && $outcome != Larder::Block::FILLED;
    return length($block->{want}[$n] // '');
}

sub _add_errors ($self, $block) {
    my $errors = $block->{errors};
    for my $n (sort { $a <=> $b } keys %$errors) {
        $self->{first_error} //= $errors->{$n}->text;
        $self->{tally_of}[ $block->{kind}[$n] ]->error($errors->{$n}->kind);
    }
    return;
}

1;
