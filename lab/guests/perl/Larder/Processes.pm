package Larder::Processes;

# A phase that several processes share: one child for each, forked when the phase begins. All children begin together,
# and each reports its progress over a pipe of its own. No child outlives this process: a child whose report fails ends.

use v5.36;

use POSIX ();

use Larder::Failure ();
use Larder::Phase   ();

# The longest wait for a message of a child or a command.
use constant WAIT_S => 0.25;

sub new ($class, $protocol, %parts) {
    return bless { protocol => $protocol, parts => \%parts, children => [] }, $class;
}

# Runs the phase in all processes, and calls `$tell` with the operations of all of them several times a second.
sub run ($self, $tell) {
    my $count = $self->{parts}{plan}{processes};
    pipe my $wait, my $start or die "cannot make a pipe: $!\n";
    my $done = eval {
        $self->_fork($_, $wait, $start) for 0 .. $count - 1;
        close $wait or die "cannot close a pipe: $!\n";
        $self->_attend($tell, sub ($child) { $child->{is_ready} });
        # One write starts all children; each reads a byte.
        syswrite $start, '.' x $count or die "cannot start the children: $!\n";
        $self->_attend($tell, sub ($child) { $child->{is_over} });
        1;
    };
    my $caught = $@;
    $self->end;
    die $caught if !$done;
    return;
}

# Kills the children that still run, and waits for them.
sub end ($self) {
    my @pids = map { $_->{pid} } grep { defined $_->{pid} } @{ $self->{children} };
    kill KILL => @pids if @pids;
    waitpid $_, 0 for @pids;
    $self->{children} = [];
    return;
}

# The children end with this object.
sub DESTROY ($self) {
    local ($?, $!, $@) = ($?, $!, $@);
    $self->end;
    return;
}

sub _fork ($self, $process, $wait, $start) {
    pipe my $from_child, my $to_parent or die "cannot make a pipe: $!\n";
    my $pid = fork // die "cannot fork: $!\n";
    if (!$pid) {
        my @others = map { $_->{pipe} } @{ $self->{children} };
        $self->{children} = [];
        close $_ for $from_child, $start, @others;
        $self->{protocol}->release;
        # Not `exit`: its clean-up would also end the parent's connections.
        POSIX::_exit(_child($process, $wait, $to_parent, $self->{parts}->%*) ? 0 : 1);
    }
    close $to_parent or die "cannot close a pipe: $!\n";
    push @{ $self->{children} }, { process => $process, pid => $pid, pipe => $from_child, text => '', operations => 0 };
    return;
}

# The work of a child, which reports in lines: `ready`, a number of operations, `over`, or `failed`, a kind and a text.
sub _child ($process, $wait, $to_parent, %parts) {
    my $write = sub ($line) { syswrite $to_parent, "$line\n" or POSIX::_exit(1) };
    return 1 if eval {
        my $phase = Larder::Phase->new(%parts, cache => $parts{cache}->after_fork, process => $process);
        $write->('ready');
        sysread $wait, my $byte, 1 or POSIX::_exit(1);
        $phase->run($write);
        $write->('over');
        1;
    };
    my $failure = Larder::Failure->from($@);
    $write->(join ' ', 'failed', $failure->kind, $failure->text);
    return 0;
}

# Listens until `$is_enough` holds for every child.
sub _attend ($self, $tell, $is_enough) {
    my @children = @{ $self->{children} };
    while (grep { !$is_enough->($_) } @children) {
        my $listening = '';
        vec($listening, fileno $_->{pipe}, 1) = 1 for grep { !$_->{is_over} } @children;
        vec($listening, fileno $self->{protocol}->input, 1) = 1;
        my $some = select my $ready = $listening, undef, undef, WAIT_S;
        if ($some > 0) {
            $self->_listen($_) for grep { !$_->{is_over} && vec $ready, fileno $_->{pipe}, 1 } @children;
        }
        my $operations = 0;
        $operations += $_->{operations} for @children;
        $tell->($operations);
    }
    return;
}

sub _listen ($self, $child) {
    my $read = sysread $child->{pipe}, $child->{text}, 65_536, length $child->{text};
    $read or die $self->_death($child);
    while ($child->{text} =~ s/^([^\n]*)\n//) {
        my ($word, $rest) = split / /, $1, 2;
        if    ($word eq 'ready')  { $child->{is_ready} = 1 }
        elsif ($word eq 'over')   { $child->{is_over}  = 1 }
        elsif ($word eq 'failed') { die $self->_failure($child, split / /, $rest, 2) }
        else                      { $child->{operations} = $word }
    }
    return;
}

sub _failure ($self, $child, $kind, $text) {
    return Larder::Failure->new($kind, $self->_name($child) . ": $text");
}

# The failure of a child that has ended too early.
sub _death ($self, $child) {
    waitpid delete $child->{pid}, 0;
    my $how = $? & 127 ? 'was ended by signal ' . ($? & 127) : 'ended with exit code ' . ($? >> 8);
    return Larder::Failure->new('other', $self->_name($child) . " $how before its share was done");
}

sub _name ($self, $child) {
    return sprintf 'process %d of %d', $child->{process} + 1, $self->{parts}{plan}{processes};
}

1;
