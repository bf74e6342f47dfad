package Larder::Failure;

# What went wrong, with a kind that is counted and a text of one line.

use v5.36;

use overload '""' => sub ($self, @) { return $self->{text} }, fallback => 1;

# Words by which a module's message tells its kind; a module of Perl has no other way to say it.
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

# No answer where the client says nothing more than that.
sub unexplained ($class) {
    return $class->new('other', 'the client tells that it failed, and not why');
}

# What was caught: a failure as it is, anything else by its words.
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
    return length $text ? $text : 'an error without words';
}

1;
