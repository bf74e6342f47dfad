package Larder::Records;

# The records of a process in a phase: blocks of what came of its operations, and at the end what the process knows of
# itself. They go over a pipe to Larder, which counts them. Before the process goes on with its next block, whose clock
# runs, it waits for a byte. Meanwhile it makes that block ready, so that it seldom has to wait.

use v5.36;

use JSON::PP ();

use Larder::Block ();

use constant {
    # The kinds of parts.
    OF_BLOCK => 1,
    OF_END   => 2,
};
use constant {
    # The kinds of notes.
    VALUE => 1,
    BYTES => 2,
    ERROR => 3,
};

# Opens the pipes of a process.
sub new ($class, $folder, $process) {
    open my $records, '>:raw', "$folder/records-$process" or die "cannot open $folder/records-$process: $!\n";
    open my $next,    '<:raw', "$folder/next-$process"    or die "cannot open $folder/next-$process: $!\n";
    return bless { records => $records, next => $next, error => 0, is_counting => 0 }, $class;
}

# Sends what came of the first `$count` operations of a block.
sub send_block ($self, $block, $count) {
    my ($segments, $end, $outcome) = @$block{qw(segments end outcome)};
    my @notes = $self->_notes($block, $count);
    $self->_send(OF_BLOCK, join '',
        pack('V4', $count, scalar @$segments, scalar @notes, 0),
        (map { pack 'V x4 Q<', $_->[0], _ns($_->[1]) } @$segments),
        pack('Q<*', map { int($_ * 1e9 + 0.5) } @$end[ 0 .. $count - 1 ]),
        pack('C*', @$outcome[ 0 .. $count - 1 ]),
        @notes);
    $self->{is_counting} = 1;
    return;
}

# Waits until Larder has counted the block that was sent.
sub await_count ($self) {
    return if !$self->{is_counting};
    sysread $self->{next}, my $byte, 1 or die "Larder has ended\n";
    $self->{is_counting} = 0;
    return;
}

# Sends the end of the phase, a hash.
sub send_end ($self, $end) {
    $self->await_count;
    $self->_send(OF_END, JSON::PP->new->canonical->ascii->encode($end));
    return;
}

sub _send ($self, $kind, $part) {
    my $bytes = pack('V2', $kind, length $part) . $part;
    my $sent  = 0;
    while ($sent < length $bytes) {
        $sent += syswrite($self->{records}, $bytes, length($bytes) - $sent, $sent) // die "Larder has ended: $!\n";
    }
    return;
}

# The notes of a block, in the order of its operations. Only the first error of a process has its text.
sub _notes ($self, $block, $count) {
    my ($outcome, $errors, $others) = @$block{qw(outcome errors others)};
    my @notes;
    for my $n (sort { $a <=> $b } keys %$errors, keys %$others) {
        last if $n >= $count;
        my $what = $outcome->[$n];
        if ($what == Larder::Block::OTHER) {
            my ($number, $length, $bytes) = @{ $others->{$n} };
            push @notes, $number ? pack('V4', $n, VALUE, $number, 0) : pack('V3 V/a*', $n, BYTES, $length, $bytes);
        }
        elsif (my $failure = $errors->{$n}) {
            my $text = $self->{error}++ ? '' : "\n" . $failure->text;
            utf8::encode($text);
            push @notes, pack 'V3 V/a*', $n, ERROR, 0, $failure->kind . $text;
        }
    }
    return @notes;
}

sub _ns ($seconds) { return int($seconds * 1e9 + 0.5) }

1;
