package Larder::Error;

# An error of a store. As text it is one line, with the place of the call.

use v5.36;

use Carp ();

# The place is that of the program's call, and not one within the package.
our @CARP_NOT = qw(Larder CHI::Driver::Larder Cache::Tiered);

use overload '""' => sub ($self, @) { return "$self->{message}$self->{at}" }, fallback => 1;

# Dies with an error of this kind.
sub throw ($class, $kind, $message) {
    my $at = Carp::shortmess('');
    die bless { kind => $kind, message => $message, at => $at }, $class;
}

# The word by which every package of Larder names it, such as `timeout`.
sub kind ($self) { return $self->{kind} }

# The text without the place of the call.
sub message ($self) { return $self->{message} }

1;
