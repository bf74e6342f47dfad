# Every method of a store, on the URL in LARDER_TEST_URL. LARDER_TEST_KIND is `own` for a store that is emptied at will, `server`
# for a server, and `stack` for a stack.

use v5.36;
use utf8;

use Test::More;
use Time::HiRes qw(sleep);

binmode Test::More->builder->$_, ':encoding(UTF-8)' for qw(output failure_output todo_output);

use Larder;
use Larder::SignedStorable;

my $url  = $ENV{LARDER_TEST_URL}  || 'memory:?size=8m';
my $kind = $ENV{LARDER_TEST_KIND} || 'own';

my $cache = Larder->open($url);

# An earlier run may have left its entries.
$cache->delete_many(qw(once never text count other word loaded failed page absent brief x new small));

sub error_of ($code) {
    my $is_done = eval { $code->(); 1 };
    return $is_done ? undef : $@;
}

# Waits until something holds, for as long as a busy machine may need.
sub becomes ($holds) {
    for (1 .. 3000) {
        return 1 if $holds->();
        sleep 0.01;
    }
    return 0;
}

subtest 'values come back as they were stored' => sub {
    is $cache->get('absent'), undef, 'an absent key has no value';
    ok !$cache->contains('absent');
    my %values = (
        bytes  => join('', map { chr } 0 .. 255),
        empty  => '',
        text   => "Käse \x{263a}",
        number => 42,
        zero   => 0,
        large  => 'x' x 200_000,
        list   => [ 1, 'two', { three => 3 } ],
        latin  => "K\xe4se",
    );
    for my $name (sort keys %values) {
        ok $cache->set($name, $values{$name}), "set of $name";
        is_deeply $cache->get($name), $values{$name}, "get of $name";
        ok $cache->contains($name), "contains $name";
    }
    is_deeply $cache->get_many(sort keys(%values), 'absent'), \%values, 'as many';
    $cache->set("Schlüssel\x{263a}", 'text');
    is $cache->get("Schlüssel\x{263a}"), 'text', 'a key with wide characters';
    is $cache->delete_many(keys %values), scalar(keys %values), 'as many are removed';
    is_deeply $cache->get_many(keys %values), {}, 'and are gone';
};

subtest 'a value that is a number goes on as one' => sub {
    $cache->set(count => 5);
    is $cache->incr('count'),      6;
    is $cache->incr('count', 10),  16;
    is $cache->decr('count', 100), 0, 'it stops at 0';
    is $cache->incr('other'),      undef, 'an absent number stays absent';
    is $cache->incr('other', 1, 7), 7, 'or begins';
    $cache->set(count => 10);
    $cache->decr('count');
    is $cache->get('count'), 9, 'a shorter number has no blank behind it';
    like error_of(sub { $cache->incr('count', -1) }),    qr/the step is `-1`; write a whole number from 0 on/;
    like error_of(sub { $cache->incr('new', 1, -5) }),   qr/the initial number is `-5`/;
    $cache->set(count => '007');
    is $cache->get('count'), '007', 'a string of digits stays as it is';
    $cache->set(word => 'seven');
    is error_of(sub { $cache->incr('word') })->kind, 'not_a_number';
    $cache->delete_many(qw(count other word));
};

subtest 'a value is stored under a condition' => sub {
    ok $cache->add(once => 1);
    ok !$cache->add(once => 2);
    ok $cache->replace(once => 3);
    ok !$cache->replace(never => 3);
    my ($value, $version) = $cache->gets('once');
    is $value, 3;
    SKIP: {
        skip 'a hit in the nearest tier of a stack has no version', 2 if $kind eq 'stack';
        ok $cache->cas(once => 4, $version);
        ok !$cache->cas(once => 5, $version), 'the version is another one now';
    }
    is error_of(sub { $cache->cas(once => 5, undef) })->kind, 'argument';
    is_deeply [ $cache->gets('never') ], [], 'an absent key has no version';
    $cache->set(text => 'b');
    ok $cache->append(text => 'c');
    ok $cache->prepend(text => 'a');
    is $cache->get('text'), 'abc';
    ok !$cache->append(never => 'c');
    ok $cache->delete('once');
    ok !$cache->delete('once');
};

subtest 'an entry ends with its TTL' => sub {
    $cache->set(short => 1, 1);
    $cache->set(long  => 1, 900);
    $cache->set_many({ many => 1 }, 1);
    $cache->set(kept    => 1, 1);
    $cache->set(touched => 1);
    ok $cache->touch(kept    => 900);
    ok $cache->touch(touched => 1);
    $cache->get_or_load('brief', sub { 1 }, ttl => 1);
    ok !$cache->touch(absent => 1);
    is $cache->get_and_touch('long', 3600), 1;
    ok becomes(sub { !defined $cache->get('short') }), 'it ended';
    ok becomes(sub { !%{ $cache->get_many(qw(many touched brief)) } }), 'so did the others';
    # A TTL in milliseconds would be over now.
    sleep 1.5;
    is $cache->get('long'), 1;
    is $cache->get('kept'), 1;
    like error_of(sub { $cache->set(wrong => 1, '1.2.3') }), qr/a TTL of `1.2.3`/;
    like error_of(sub { $cache->set(wrong => 1, -1) }),    qr/a TTL of `-1`; write seconds from 0 on/;
    like error_of(sub { $cache->set(wrong => 1, 'soon') }), qr/a TTL of `soon`/;
};

subtest 'many are stored at once' => sub {
    is_deeply [ $cache->set_many({ map { ("many$_" => "value $_") } 1 .. 50 }, 3600) ], [];
    is_deeply $cache->get_many(map { "many$_" } 1 .. 50), { map { ("many$_" => "value $_") } 1 .. 50 };
    is_deeply [ $cache->set_many({}) ], [];
    is_deeply [ $cache->set_many({ small => 1, huge => 'x' x 5_000_000 }) ], ['huge'], 'what was refused is named';
    is $cache->get('small'), 1;
    is_deeply $cache->get_many, {};
};

subtest 'one caller loads an absent value' => sub {
    my $loads = 0;
    my $load  = sub { $loads++; { loaded => $loads } };
    is_deeply $cache->get_or_load('loaded', $load, ttl => 3600), { loaded => 1 };
    is_deeply $cache->get_or_load('loaded', $load), { loaded => 1 };
    is $loads, 1;
    like error_of(sub { $cache->get_or_load('failed', sub { die "no database\n" }) }), qr/\Ano database$/;
    is $cache->get_or_load('failed', sub { 'later' }), 'later', 'a failed load is nobody’s right any more';
    like error_of(sub { $cache->get_or_load('x', $load, ttl => -1) }),   qr/a TTL of `-1`/;
    like error_of(sub { $cache->get_or_load('x', $load, early => -1) }), qr/early is `-1`; write seconds from 0 on/;
    is $loads, 1, 'a wrong option loads nothing';
    like error_of(sub { $cache->get_or_load('x', sub { 'x' x 5_000_000 }) }), qr/value/, 'a value that is too large';
    is $cache->get_or_load('x', sub { 'fits' }, wait => 600), 'fits', 'leaves no lease';
    like error_of(sub { $cache->get_or_load('x', $load, for => 1) }), qr/unknown option for; known: ttl, wait, early/;
};

subtest 'objects are stored by their own serializer' => sub {
    like error_of(sub { $cache->set(object => bless {}, 'Some::Class') }), qr/Some::Class/, 'JSON takes no object';
    my $signed = Larder->open($url, serializer => Larder::SignedStorable->new('sixteen bytes or more'));
    $signed->set(object => bless { name => 'Ada' }, 'Some::Class');
    SKIP: {
        # A `memory:` is another store at each open.
        skip 'every open of memory: is a store of its own', 1 if $url =~ /\Amemory:/;
        my $other = Larder->open($url, serializer => Larder::SignedStorable->new('another key of 16 bytes'));
        like error_of(sub { $other->get('object') }), qr/no valid signature/;
    }
    isa_ok $signed->get('object'), 'Some::Class';
    like error_of(sub { Larder::SignedStorable->new('short') }), qr/has 5 bytes; take 16 random bytes or more/;
};

subtest 'errors are one line that names the limit' => sub {
    my $error = error_of(sub { $cache->set('k' x 300, 1) });
    is $error->kind, 'key_too_long';
    like $error, qr/300 bytes.*250 bytes at \Q$0\E line \d+\.\n\z/s, 'with the place of the call';
    is error_of(sub { $cache->set(undefined => undef) })->kind, 'argument';
    is error_of(sub { $cache->get(undef) })->kind,              'argument';
    is error_of(sub { Storable::dclone($cache) })->kind,        'argument', 'a cache is not copied';
    is error_of(sub { Larder->open('nowhere:') })->kind,        'unknown_scheme';
    is error_of(sub { Larder->open('memory:?size=x') })->kind,  'invalid_options';
    is error_of(sub { Larder->open('memory:', pool => 1) })->kind, 'argument';
    unlike(Larder->open('memory:')->url, qr/secret/);
};

subtest 'a store is emptied where it is ours' => sub {
    $cache->set(there => 1);
    if ($kind eq 'own') {
        $cache->clear;
        is $cache->get('there'), undef;
    } else {
        is error_of(sub { $cache->clear })->kind, 'unsupported', 'a server is for others too';
    }
    ok $cache->stats->{sets} > 0, 'it counts';
};

subtest 'an entry is marked as out of date' => sub {
    plan skip_all => 'a stack marks none' if $kind eq 'stack';
    $cache->set(page => 'old');
    ok $cache->expire('page', 60);
    ok !$cache->expire('absent');
    is $cache->get_or_load('page', sub { 'new' }), 'new';
    is $cache->get('page'), 'new';
};

subtest 'a closed store says so' => sub {
    my $closed = Larder->open($url);
    $closed->close;
    $closed->close;
    like error_of(sub { $closed->get('key') }),       qr/the store is closed; open it again/;
    like error_of(sub { $closed->set(key => 1) }),    qr/the store is closed; open it again/;
    like error_of(sub { $closed->get_many('key') }),         qr/the store is closed; open it again/;
    like error_of(sub { $closed->set_many({ key => 1 }) }),  qr/the store is closed; open it again/;
    like error_of(sub { $closed->stats }),                   qr/the store is closed; open it again/;
};

done_testing;
