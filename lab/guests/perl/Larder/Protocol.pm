package Larder::Protocol;

# Commands in, answers out. Both streams are used without Perl's own buffers: a length counts bytes, and the system
# tells whether a command waits.

use v5.36;

use JSON::PP ();

use constant PIECE => 65_536;

my $JSON = JSON::PP->new->canonical->ascii;

sub new ($class, $input, $output) {
    return bless { input => $input, output => $output, buffer => '', ended => 0 }, $class;
}

# The next line without its line feed; undef once the input has ended.
sub line ($self) {
    my $at;
    while (($at = index $self->{buffer}, "\n") < 0) {
        return undef unless $self->_more;    ## no critic (ProhibitExplicitReturnUndef)
    }
    my $line = substr $self->{buffer}, 0, $at + 1, '';
    chop $line;
    return $line;
}

# The `$length` bytes that follow a line.
sub bytes ($self, $length) {
    while (length $self->{buffer} < $length) {
        $self->_more or die "the input ended within $length announced bytes\n";
    }
    return substr $self->{buffer}, 0, $length, '';
}

# Writes one answer, and the bytes that belong to it.
sub answer ($self, $answer, $bytes = '') {
    my $text = $JSON->encode($answer) . "\n" . $bytes;
    my $sent = 0;
    while ($sent < length $text) {
        my $written = syswrite $self->{output}, $text, length($text) - $sent, $sent;
        next if !defined $written && $!{EINTR};
        defined $written or die "cannot answer: $!\n";
        $sent += $written;
    }
    return;
}

# Whether the input has ended, found out without waiting: the program that gave the commands is gone.
sub has_ended ($self) {
    my $waiting = '';
    vec($waiting, fileno $self->{input}, 1) = 1;
    while (!$self->{ended} && select my $ready = $waiting, undef, undef, 0) {
        $self->_more;
    }
    return $self->{ended};
}

# The stream that commands come from.
sub input ($self) { return $self->{input} }

# Leaves both streams to the parent process. The input is not merely closed: the next file that is opened would get the
# number of standard input.
sub release ($self) {
    open $self->{input}, '<', '/dev/null' or die "cannot open /dev/null: $!\n";
    close $self->{output} or die "cannot close: $!\n";
    return;
}

sub _more ($self) {
    return 0 if $self->{ended};
    my $read;
    do {
        $read = sysread $self->{input}, $self->{buffer}, PIECE, length $self->{buffer};
    } while !defined $read && $!{EINTR};
    defined $read or die "cannot read commands: $!\n";
    $self->{ended} = 1 if $read == 0;
    return $read;
}

1;
