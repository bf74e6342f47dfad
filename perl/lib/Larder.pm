package Larder;

# The class of an open cache. The hot calls are written out, because a call in Perl costs as much as the library's work.

use v5.36;

use FFI::Platypus::Buffer qw(buffer_to_scalar scalar_to_buffer);

use Larder::Error   ();
use Larder::JSON    ();
use Larder::Library ();

our $VERSION = '0.1.0';

# Marks of values, as every package of Larder has them: bytes, whole numbers in digits, text in UTF-8.
use constant { _BYTES => 0, _NUMBER => 2, _TEXT => 16 };

# The bytes of a value that one call reads. A larger value takes a second copy.
use constant _ROOM => 64 * 1024;

# The places of an object, which is an array: a read of it is faster than one of a hash.
use constant {
    _SESSION    => 0,
    _VALUE      => 1,
    _ROOM_AT    => 2,
    _OUT        => 3,
    _LENGTH_AT  => 4,
    _META_AT    => 5,
    _SERIALIZER => 6,
    _STORE      => 7,
    _URL        => 8,
};

# The calls that take many keys, and those that load, are methods of this class in files of their own.
use Larder::Load ();
use Larder::Many ();

# Threads of Perl copy every object, and two must not use one session. In a new thread an object is empty instead.
sub CLONE_SKIP { return 1 }

# Opens the cache of a URL. `serializer` stores what is neither text nor a number.
sub open ($class, $url, %options) {    ## no critic (ProhibitBuiltinHomonyms)
    my $serializer = delete $options{serializer} // Larder::JSON->new;
    Larder::Error->throw('argument', "unknown option $_; known: serializer") for sort keys %options;
    Larder::Error->throw('argument', 'the URL is undefined; write one such as memory:') if !defined $url;
    my $self = bless [], $class;
    @$self[ _URL, _SERIALIZER ] = ($url, $serializer);
    # The length and the metadata of a value that is read lie side by side.
    $self->[_VALUE] = "\0" x _ROOM;
    $self->[_OUT]   = "\0" x 32;
    ($self->[_ROOM_AT])   = scalar_to_buffer $self->[_VALUE];
    ($self->[_LENGTH_AT]) = scalar_to_buffer $self->[_OUT];
    $self->[_META_AT] = $self->[_LENGTH_AT] + 8;
    $self->_connect;
    return $self;
}

# Opens the store and the session, in this process.
sub _connect ($self) {
    my ($store, $session);
    _told(sub (@place) { Larder::Library::larder_open($self->[_URL], \$store, @place) });
    my $opened = eval { _told(sub (@place) { Larder::Library::larder_session_open($store, \$session, @place) }); 1 };
    if (!$opened) {
        my $error = $@;
        Larder::Library::larder_close($store, undef, 0);
        die $error;
    }
    @$self[ _STORE, _SESSION ] = ($store, $session);
    return;
}

# Does a call that writes its error to a place of ours.
sub _told ($call) {
    my $message = "\0" x Larder::Library::MESSAGE_SIZE;
    my ($place, $size) = scalar_to_buffer $message;
    my $code = $call->($place, $size);
    return if $code >= 0;
    Larder::Error->throw(Larder::Library::kind($code), unpack 'Z*', $message);
}

# Dies with the error of the session's last call. In a child of the process that opened the store, it is opened again:
# then this returns, and the caller repeats what was refused before anything was sent.
sub _failed ($self, $code) {
    Larder::Error->throw('argument', 'the store is closed; open it again') if !defined $self->[_SESSION];
    if ($code == Larder::Library::E_FORKED) {
        $self->_disconnect;
        return $self->_connect;
    }
    Larder::Error->throw(Larder::Library::kind($code), Larder::Library::larder_message($self->[_SESSION]));
}

# The code of a call, which is repeated after a fork.
sub _done ($self, $call) {
    my $code = $call->();
    return $code if $code >= 0;
    $self->_failed($code);
    $code = $call->();
    $self->_failed($code) if $code < 0;
    return $code;
}

# The bytes of a key. Perl's characters are UTF-8 for the library, as it gets them.
sub _length ($key) {
    use bytes;
    return length $key;
}

# A TTL in seconds as milliseconds; undef is for ever.
sub _ttl ($seconds) {
    return Larder::Library::FOREVER if !defined $seconds;
    return int($seconds * 1000 + 0.5) if $seconds =~ /\A[0-9.]+(?:[eE][-+]?[0-9]+)?\z/ && $seconds < 9e15;
    Larder::Error->throw('argument', "a TTL of `$seconds`; write seconds from 0 on, or undef for ever");
}

# The bytes of a value, and their mark. A string is text where Perl keeps it as characters, and bytes elsewhere.
sub _stored ($self, $value) {
    Larder::Error->throw('argument', 'the value is undefined; delete the key instead') if !defined $value;
    return $self->[_SERIALIZER]->dumps($value) if ref $value;
    if (utf8::is_utf8($value)) {
        utf8::encode($value);
        return ($value, _TEXT);
    }
    # A number that was never a string is "0" after this operation, and a string is not.
    no warnings 'numeric';    ## no critic (ProhibitNoWarnings)
    return ("$value", $value ^ $value eq '0' && $value =~ /\A[0-9]+\z/ ? _NUMBER : _BYTES);
}

# The value of these bytes.
sub _value ($self, $bytes, $flags) {
    return $bytes if $flags == _BYTES || $flags == _NUMBER;
    return $self->[_SERIALIZER]->loads($bytes, $flags) if $flags != _TEXT;
    utf8::decode($bytes) or die "a stored text is not UTF-8\n";
    return $bytes;
}

# The value of a key, or undef.
sub get ($self, $key) {
    my $code = Larder::Library::larder_get(
        $self->[_SESSION], $key, do { use bytes; length $key }, $self->[_ROOM_AT], _ROOM, $self->[_LENGTH_AT],
        $self->[_META_AT],
    );
    if ($code == 0) {
        my ($length, $flags) = unpack 'Q x16 L', $self->[_OUT];
        return substr $self->[_VALUE], 0, $length if $flags == 0;
        return $self->_value(substr($self->[_VALUE], 0, $length), $flags);
    }
    return undef if $code == 1;    ## no critic (ProhibitExplicitReturnUndef)
    return ($self->_read($code, sub { $self->get($key) }))[0];
}

# The value of a key and its version for `cas`; nothing where it is absent.
sub gets ($self, $key) {
    my $code = Larder::Library::larder_get(
        $self->[_SESSION], $key, do { use bytes; length $key }, $self->[_ROOM_AT], _ROOM, $self->[_LENGTH_AT],
        $self->[_META_AT],
    );
    return $self->_read($code, sub { $self->gets($key) });
}

# The value of a key, which gets a new TTL; undef where it is absent.
sub get_and_touch ($self, $key, $ttl = undef) {
    my $code = Larder::Library::larder_get_and_touch(
        $self->[_SESSION], $key, _length($key), _ttl($ttl), $self->[_ROOM_AT], _ROOM, $self->[_LENGTH_AT],
        $self->[_META_AT],
    );
    return ($self->_read($code, sub { $self->get_and_touch($key, $ttl) }))[0];
}

# The value of the read that returned this code, and its version.
sub _read ($self, $code, $again) {
    return if $code == Larder::Library::NOT_FOUND;
    if ($code < 0) {
        $self->_failed($code);
        return $again->();
    }
    my ($length, $version, $flags) = unpack 'Q Q x8 L', $self->[_OUT];
    my $bytes;
    if ($code == Larder::Library::TOO_SMALL) {
        $bytes = buffer_to_scalar(Larder::Library::larder_value($self->[_SESSION], \my $again_told), $length);
    } else {
        $bytes = substr $self->[_VALUE], 0, $length;
    }
    return ($self->_value($bytes, $flags), $version == Larder::Library::UNKNOWN ? undef : $version);
}

# Whether a key is there.
sub contains ($self, $key) {
    return $self->_done(sub {
        Larder::Library::larder_get($self->[_SESSION], $key, _length($key), undef, 0, undef, undef);
    }) != Larder::Library::NOT_FOUND;
}

# Stores a value; `ttl` in seconds, or for ever. True: what cannot be stored is an error.
sub set ($self, $key, $value, $ttl = undef) {
    my ($bytes, $flags) = $self->_stored($value);
    my $life = defined $ttl ? _ttl($ttl) : Larder::Library::FOREVER;
    my $code = Larder::Library::larder_set(
        $self->[_SESSION], $key, do { use bytes; length $key }, $bytes, length $bytes, $life, $flags, undef,
    );
    return 1 if $code == 0;
    $self->_failed($code);
    return $self->set($key, $value, $ttl);
}

# Stores a value where the key is absent; whether it was.
sub add ($self, $key, $value, $ttl = undef) {
    return $self->_put(\&Larder::Library::larder_add, $key, $value, $ttl);
}

# Stores a value where the key is there; whether it was.
sub replace ($self, $key, $value, $ttl = undef) {
    return $self->_put(\&Larder::Library::larder_replace, $key, $value, $ttl);
}

# Stores a value where the key still has the version of `gets`; whether it had.
sub cas ($self, $key, $value, $version, $ttl = undef) {
    Larder::Error->throw('argument', 'the version is undefined; take the one of gets') if !defined $version;
    return $self->_put(\&Larder::Library::larder_cas, $key, $value, $ttl, $version);
}

sub _put ($self, $put, $key, $value, $ttl, @expected) {
    my ($bytes, $flags) = $self->_stored($value);
    my @entry = ($key, _length($key), $bytes, length $bytes, _ttl($ttl), $flags, @expected, undef);
    return $self->_done(sub { $put->($self->[_SESSION], @entry) }) == 0;
}

# Puts bytes behind the value of a key; whether it was there.
sub append ($self, $key, $bytes) {
    return $self->_join(\&Larder::Library::larder_append, $key, $bytes);
}

# Puts bytes before the value of a key; whether it was there.
sub prepend ($self, $key, $bytes) {
    return $self->_join(\&Larder::Library::larder_prepend, $key, $bytes);
}

sub _join ($self, $join, $key, $bytes) {
    utf8::encode($bytes) if utf8::is_utf8($bytes);
    my @entry = ($key, _length($key), $bytes, length $bytes, undef);
    return $self->_done(sub { $join->($self->[_SESSION], @entry) }) == 0;
}

# Adds to a whole number, and returns the new one. An absent key becomes `initial`, or stays absent: undef.
sub incr ($self, $key, $delta = 1, $initial = undef, $ttl = undef) {
    return $self->_count(\&Larder::Library::larder_incr, $key, $delta, $initial, $ttl);
}

# Takes from a whole number, which stops at 0. An absent key becomes `initial`, or stays absent: undef.
sub decr ($self, $key, $delta = 1, $initial = undef, $ttl = undef) {
    return $self->_count(\&Larder::Library::larder_decr, $key, $delta, $initial, $ttl);
}

sub _count ($self, $count, $key, $delta, $initial, $ttl) {
    my $absent = defined $initial ? pack('Q q', $initial, _ttl($ttl)) : undef;
    my $number;
    my $code = $self->_done(sub {
        $count->($self->[_SESSION], $key, _length($key), $delta, $absent, \$number);
    });
    return $code == 0 ? $number : undef;
}

# Gives a key a new TTL; whether it was there.
sub touch ($self, $key, $ttl = undef) {
    my $life = _ttl($ttl);
    return $self->_done(sub { Larder::Library::larder_touch($self->[_SESSION], $key, _length($key), $life) }) == 0;
}

# Removes a key; whether it was there.
sub delete ($self, $key) {    ## no critic (ProhibitBuiltinHomonyms)
    return $self->_done(sub { Larder::Library::larder_delete($self->[_SESSION], $key, _length($key)) }) == 0;
}

# Marks an entry as out of date; whether it was there. One caller of get_or_load loads it anew, while the others have the
# older value, for `keep` seconds or for the rest of its TTL.
sub expire ($self, $key, $keep = undef) {
    my $life = _ttl($keep);
    return $self->_done(sub { Larder::Library::larder_expire($self->[_SESSION], $key, _length($key), $life) }) == 0;
}

# Removes every entry of the store, or of its namespace. A server that others may use is left alone: it is an error.
sub clear ($self) {
    $self->_done(sub { Larder::Library::larder_clear($self->[_SESSION]) });
    return;
}

# Counters of the store by name, as far as it knows them.
sub stats ($self) {
    my $told = "\0" x Larder::Library::STATS_SIZE;
    my ($place, $size) = scalar_to_buffer $told;
    _told(sub (@message) { Larder::Library::larder_store_stats($self->[_STORE], $place, $size, @message) });
    my %stats;
    @stats{ (Larder::Library::COUNTERS) } = unpack 'Q*', $told;
    delete @stats{ grep { $stats{$_} == Larder::Library::UNKNOWN } keys %stats };
    return \%stats;
}

# The URL, its password masked.
sub url ($self) {
    return $self->[_URL] =~ s{(//[^/\@:|]*:)[^/\@|]*\@}{$1***\@}gr;
}

# Ends the use of the store. A second call does nothing; every other call fails from then on.
sub close ($self) {    ## no critic (ProhibitBuiltinHomonyms)
    $self->_disconnect;
    return;
}

# Gives the session and the store back. In a forked child that leaves the parent's alone.
sub _disconnect ($self) {
    my ($store, $session) = @$self[ _STORE, _SESSION ];
    @$self[ _STORE, _SESSION ] = ();
    Larder::Library::larder_session_close($session)  if defined $session;
    Larder::Library::larder_close($store, undef, 0) if defined $store;
    return;
}

# At the end of the program the functions may be gone before the object, and the system takes everything back.
sub DESTROY ($self) {
    $self->_disconnect if ${^GLOBAL_PHASE} ne 'DESTRUCT';
    return;
}

1;

__END__

=head1 NAME

Larder - caches behind one interface: in memory, in a file that processes share, in servers, or a stack of these

=head1 SYNOPSIS

    use Larder;

    my $cache = Larder->open('mmap:/dev/shm/shop?size=64m');
    my $page  = $cache->get_or_load('page:7', sub { render(7) }, ttl => 300);
    $cache->set('user:7', { name => 'Ada' }, 60);

=head1 DESCRIPTION

A URL names the cache: C<memory:>, C<mmap:FILE>, C<memcached://HOST>, C<redis://HOST>, or C<tiered:URL|URL>. TTLs are in seconds. A
failure is an exception of the class L<Larder::Error>. docs/perl.md of Larder describes every call.

=head1 SEE ALSO

L<CHI::Driver::Larder>, L<Cache::Tiered>

=head1 LICENSE

MIT or Apache-2.0

=cut
