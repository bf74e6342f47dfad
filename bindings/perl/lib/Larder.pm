package Larder;

# The class of an open cache. The hot calls are written out, because a call in Perl costs as much as the library's work.

use v5.36;

use FFI::Platypus::Buffer qw(buffer_to_scalar scalar_to_buffer);
use POSIX                 ();
use Scalar::Util          qw(looks_like_number refaddr weaken);

use Larder::Error   ();
use Larder::JSON    ();
use Larder::Library ();

our $VERSION = '0.2.0';

# Marks of values, as every package of Larder has them: bytes, whole numbers in digits, text in UTF-8.
use constant { _BYTES => 0, _NUMBER => 2, _TEXT => 16, _LOADED => 128 };

# The bytes of a value that one call reads. A larger value takes a second copy.
use constant _ROOM => 64 * 1024;

# The places of an object, which is an array: a read of it is faster than one of a hash.
use constant {
    _SESSION    => 0,
    _BUFFER     => 1,
    _VALUE_AT   => 2,
    _LENGTH_AT  => 3,
    _META_AT    => 4,
    _SERIALIZER => 5,
    _STORE      => 6,
    _URL        => 7,
    _IS_CLOSED  => 8,
};

# The buffer of a read: the metadata, the length, and then the value.
use constant { _META_SIZE => 24, _LENGTH_SIZE => 8 };

# What unpack takes of it. It works in the statement of the call: between two statements Perl may run the handler of a signal,
# which may read by the same object.
use constant { _FLAGS_AND_VALUE => 'x16 L x4 Q/a', _META_AND_VALUE => 'Q x8 L x4 Q/a' };

# The stores that are open, which the end of the program closes: what they hold back is stored then.
my %open;

# The calls that change what is there, that take many keys, and that load are methods of this class in files of their own.
use Larder::Change ();
use Larder::Load   ();
use Larder::Many   ();

# Threads of Perl copy every object, and two must not use one session. In a new thread an object is empty instead.
sub CLONE_SKIP { return 1 }

# A copy would close the session of the original.
sub STORABLE_freeze { return Larder::Error->throw('argument', 'a cache cannot be copied or stored; store its URL') }

# Opens the cache of a URL. `serializer` stores what is neither text nor a number.
sub open ($class, $url, %options) {    ## no critic (ProhibitBuiltinHomonyms)
    my $serializer = delete $options{serializer} // Larder::JSON->new;
    Larder::Error->throw('argument', "unknown option $_; known: serializer") for sort keys %options;
    Larder::Error->throw('argument', 'the URL is undefined; write one such as memory:') if !defined $url;
    Larder::Error->throw('invalid_url', 'the URL has a zero byte; write it without')    if $url =~ /\0/;
    my $self = bless [], $class;
    @$self[ _URL, _SERIALIZER ] = ($url, $serializer);
    $self->[_BUFFER] = "\0" x (_META_SIZE + _LENGTH_SIZE + _ROOM);
    ($self->[_META_AT]) = scalar_to_buffer $self->[_BUFFER];
    $self->[_LENGTH_AT] = $self->[_META_AT] + _META_SIZE;
    $self->[_VALUE_AT]  = $self->[_LENGTH_AT] + _LENGTH_SIZE;
    $self->_connect;
    $open{ refaddr $self } = $self;
    weaken $open{ refaddr $self };
    return $self;
}

# Opens the store, unless it is open, and a session.
sub _connect ($self) {
    if (!defined $self->[_STORE]) {
        _call_with_message(sub (@place) { Larder::Library::larder_open($self->[_URL], \$self->[_STORE], @place) });
    }
    my $session;
    _call_with_message(sub (@place) { Larder::Library::larder_session_open($self->[_STORE], \$session, @place) });
    $self->_put_back($session);
    return;
}

# Puts a session into its place, and closes another one that a handler has opened there.
sub _put_back ($self, $session) {
    (my $other, $self->[_SESSION]) = ($self->[_SESSION], $session);
    Larder::Library::larder_session_close($other) if defined $other;
    return;
}

# Does a call that writes its error to a place of ours.
sub _call_with_message ($call) {
    my $message = "\0" x Larder::Library::MESSAGE_SIZE;
    my ($place, $size) = scalar_to_buffer $message;
    my $code = $call->($place, $size);
    return if $code >= 0;
    Larder::Error->throw(Larder::Library::kind($code), unpack 'Z*', $message);
}

# Dies with the error of the session's last call, or returns, and the caller repeats what was refused before anything was
# sent: in a child of the process that opened the store it is opened again, and a session that an interrupted call has is
# replaced by another one.
sub _failed ($self, $code) {
    Larder::Error->throw('closed', 'the store is closed; open it again') if $self->[_IS_CLOSED];
    if ($code == Larder::Library::E_FORKED) {
        $self->_disconnect;
        return $self->_connect;
    }
    return $self->_connect if !defined $self->[_SESSION];
    Larder::Error->throw(Larder::Library::kind($code), Larder::Library::larder_message($self->[_SESSION]));
}

# The code of a call, which is repeated where `_failed` returns.
sub _done ($self, $call) {
    my $code = $call->();
    return $code if $code >= 0;
    $self->_failed($code);
    $code = $call->();
    $self->_failed($code) if $code < 0;
    return $code;
}

# The code of a call, and what `read` takes of the session's memory where the call did not fail. The session is lent to both: a
# handler of a signal that comes meanwhile gets one of its own. The call is repeated in a child of the process that opened the store.
sub _lend ($self, $call, $read = sub (@) { return }) {
    for my $again (0, 1) {
        my ($session, $code, @answer) = ($self->_take);
        my $is_done = eval {
            $code   = $call->($session);
            @answer = $read->($code, $session) if $code >= 0;
            1;
        };
        my $error = $@;
        $self->_put_back($session);
        $self->_disconnect if $self->[_IS_CLOSED];
        die $error         if !$is_done;
        return ($code, @answer) if $code != Larder::Library::E_FORKED || $again;
        $self->_failed($code);
    }
}

# Takes the session out of its place, in one statement, which no handler of a signal interrupts.
sub _take ($self) {
    my $session;
    while (!defined $session) {
        $self->_failed(0) if !defined $self->[_SESSION];
        ($session, $self->[_SESSION]) = ($self->[_SESSION], undef);
    }
    return $session;
}

# The bytes of a key. Perl's characters are UTF-8 for the library, as it gets them.
sub _length ($key) {
    use bytes;
    return length $key // _no_key();
}

# A TTL in seconds as milliseconds, rounded up; undef is for ever.
sub _ttl ($seconds) {
    return Larder::Library::FOREVER if !defined $seconds;
    return POSIX::ceil($seconds * 1000) if looks_like_number($seconds) && $seconds >= 0 && $seconds < 9e15;
    Larder::Error->throw('argument', "a TTL of `$seconds`; write seconds from 0 on, or undef for ever");
}

sub _no_key { return Larder::Error->throw('argument', 'the key is undefined; write a string') }

# The bytes of a value, and their mark. A string is text where Perl keeps it as characters, and bytes elsewhere.
sub _stored ($self, $value) {
    Larder::Error->throw('argument', 'the value is undefined; delete the key instead') if !defined $value;
    if (ref $value) {
        my ($bytes, $flags);
        eval { ($bytes, $flags) = $self->[_SERIALIZER]->dumps($value); 1 } or _unfit($@);
        utf8::downgrade($bytes, 1) or _unfit('the serializer made characters, not bytes');
        return ($bytes, $flags);
    }
    if (utf8::is_utf8($value)) {
        utf8::encode($value);
        return ($value, _TEXT);
    }
    no warnings 'experimental::builtin';    ## no critic (ProhibitNoWarnings)
    return ("$value", builtin::created_as_number($value) && $value =~ /\A[0-9]+\z/ ? _NUMBER : _BYTES);
}

# The value of these bytes.
sub _value ($self, $bytes, $flags) {
    return $bytes if $flags == _BYTES;
    if ($flags == _NUMBER) {
        # memcached leaves blanks behind a number that has become shorter.
        $bytes =~ s/ +\z//;
        return $bytes if $bytes =~ /\A[0-9]+\z/;
        _unfit('it is marked as a number and is none: another client stored it');
    }
    if ($flags == _TEXT) {
        return $bytes if utf8::decode($bytes);
        _unfit('a stored text is not UTF-8');
    }
    # A value that a stack has loaded for Python has its own mark before it.
    return $self->_value(substr($bytes, 4), unpack 'N', $bytes) if $flags == _LOADED && length $bytes >= 4;
    my $value;
    eval { $value = $self->[_SERIALIZER]->loads($bytes, $flags); 1 } or _unfit($@);
    return $value;
}

# Dies, because a value cannot be stored or read in this form.
sub _unfit ($why) {
    die $why if ref $why;
    return Larder::Error->throw('value', $why =~ s/ at \S+ line [0-9]+\.?\s*\z//r =~ s/\s+\z//r);
}

# The value of a key, or undef.
sub get ($self, $key) {
    my ($code, $flags, $bytes) = (
        Larder::Library::larder_get(
            $self->[_SESSION], $key, do { use bytes; length $key } // _no_key(), $self->[_VALUE_AT], _ROOM,
            $self->[_LENGTH_AT], $self->[_META_AT],
        ),
        unpack _FLAGS_AND_VALUE, $self->[_BUFFER],
    );
    if ($code == 0) {
        return $bytes if $flags == 0;
        return $self->_value($bytes, $flags);
    }
    return undef if $code == 1;    ## no critic (ProhibitExplicitReturnUndef)
    $self->_failed($code) if $code < 0;
    my ($value) = $self->_read(sub ($session, @places) {
        Larder::Library::larder_get($session, $key, _length($key), @places);
    });
    return $value;
}

# The value of a key and its version for `cas`; nothing where it is absent.
sub gets ($self, $key) {
    return $self->_read(sub ($session, @places) {
        Larder::Library::larder_get($session, $key, _length($key), @places);
    });
}

# The value of a key, which gets a new TTL; undef where it is absent.
sub get_and_touch ($self, $key, $ttl = undef) {
    my $life = _ttl($ttl);
    my ($value) = $self->_read(sub ($session, @places) {
        Larder::Library::larder_get_and_touch($session, $key, _length($key), $life, @places);
    });
    return $value;
}

# The value that a call reads, and its version; nothing where the key is absent. A value of any length is copied from the
# session, which nobody else has meanwhile.
sub _read ($self, $call) {
    my $answer = "\0" x (_META_SIZE + _LENGTH_SIZE);
    my ($meta) = scalar_to_buffer $answer;
    my ($code, $bytes) = $self->_lend(
        sub ($session) { $call->($session, undef, 0, $meta + _META_SIZE, $meta) },
        sub ($read, $session) {
            return if $read == Larder::Library::NOT_FOUND;
            my $length = unpack 'x' . _META_SIZE . 'Q', $answer;
            return $length ? buffer_to_scalar(Larder::Library::larder_value($session, \my $same), $length) : '';
        },
    );
    return if $code == Larder::Library::NOT_FOUND;
    $self->_failed($code) if $code < 0;
    my ($version, $flags) = unpack 'Q x8 L', $answer;
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
        $self->[_SESSION], $key, do { use bytes; length $key } // _no_key(), $bytes, length $bytes, $life, $flags, undef,
    );
    return 1 if $code == 0;
    $self->_failed($code);
    return $self->set($key, $value, $ttl);
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
    my $answer = "\0" x Larder::Library::STATS_SIZE;
    my ($place, $size) = scalar_to_buffer $answer;
    my $ask = sub { _call_with_message(sub (@message) { Larder::Library::larder_store_stats($self->[_STORE], $place, $size, @message) }) };
    if (!eval { $ask->(); 1 }) {
        my $error = $@;
        die $error if $error->kind ne 'forked' && !$self->[_IS_CLOSED];
        $self->_failed(Larder::Library::E_FORKED);
        $ask->();
    }
    my %stats;
    @stats{ (Larder::Library::COUNTERS) } = unpack 'Q*', $answer;
    delete @stats{ grep { $stats{$_} == Larder::Library::UNKNOWN } keys %stats };
    return \%stats;
}

# The URL, its password masked.
sub url ($self) {
    return $self->[_URL] =~ s{(//[^/\@:|]*:)[^/\@|]*\@}{$1***\@}gr;
}

# Ends the use of the store. A second call does nothing; every other call fails from then on.
sub close ($self) {    ## no critic (ProhibitBuiltinHomonyms)
    $self->[_IS_CLOSED] = 1;
    delete $open{ refaddr $self };
    $self->_disconnect;
    return;
}

# Gives the session and the store back. In a forked child that leaves the parent's alone.
sub _disconnect ($self) {
    my ($store, $session);
    ($store, $session, @$self[ _STORE, _SESSION ]) = @$self[ _STORE, _SESSION ];
    Larder::Library::larder_session_close($session) if defined $session;
    Larder::Library::larder_close($store, undef, 0) if defined $store;
    return;
}

# After the end of the program the functions may be gone before the object.
sub DESTROY ($self) {
    return if ${^GLOBAL_PHASE} eq 'DESTRUCT';
    delete $open{ refaddr $self };
    $self->_disconnect;
    return;
}

END {
    $_->close for grep { defined } values %open;
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
