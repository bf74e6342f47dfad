package Larder::Failure;

# A failure, with a kind that is counted and a text of one line.

use v5.36;

use overload '""' => sub ($self, @) { return $self->{text} }, fallback => 1;

# Words by which a module's message tells the kind of a failure; a Perl module has no other way to tell it.
my @KINDS = (
    [ timeout   => qr/tim(?:ed|e)[ -]?out/i ],
    [ too_large => qr/too (?:large|big|long)|does not fit|do not fit/i ],
    [
        io => qr/Couldn't|Can't|Cannot|Could not open|Error in tempfile|No such file|No space left|Permission denied
                |Input\/output|Read-only|Connection|Broken[ ]pipe/xi
    ],
);

sub new ($class, $kind, $text) {
    return bless { kind => $kind, text => _one_line($text) }, $class;
}

# A failure of which the client tells no more than that it happened.
sub unexplained ($class) {
    return $class->new('other', 'the client failed without a reason');
}

# The failure of a caught exception: a failure as it is, any other exception by its words.
sub from ($class, $caught) {
    return $caught if ref $caught && eval { $caught->isa($class) };
    my $text = _one_line("$caught");
    my ($known) = grep { $text =~ $_->[1] } @KINDS;
    return $class->new($known ? $known->[0] : 'other', $text);
}

sub kind ($self) { return $self->{kind} }

sub text ($self) { return $self->{text} }

sub answer ($self) { return { error => $self->{text}, kind => $self->{kind} } }

sub _one_line ($text) {
    utf8::decode($text);
    $text =~ s/ at \S+ line \d+\.?$//mg;
    $text =~ s/\s+/ /g;
    $text =~ s/^ | $//g;
    return length $text ? $text : 'an error without a message';
}

1;
