# Cache::Memcached::Fast: every method of its client, against the server at the address of the first argument.
#
# The program prints what differs from memcached and ends with code 1, or prints `OK`.

use v5.36;
use utf8;

use Cache::Memcached::Fast;
use Data::Dumper qw(Dumper);
use Time::HiRes  qw(sleep);

binmode STDOUT, ':encoding(UTF-8)';
local $Data::Dumper::Terse    = 1;
local $Data::Dumper::Indent   = 0;
local $Data::Dumper::Sortkeys = 1;

my ($address) = @ARGV;
my @differences;

# The client answers true and false as numbers or as texts, so all values are held against each other as texts.
sub shown ($value) {
    return !defined $value ? 'undef' : ref $value ? Dumper($value) =~ s/'(-?[0-9]+)'/$1/gr : "$value";
}

# The prototype asks for scalars: an error of the client in a list would be an empty list.
sub same :prototype($$$) ($what, $got, $expected) {
    my ($is, $should) = (shown($got), shown($expected));
    push @differences, "$what: " . substr($is, 0, 200) . ' in place of ' . substr $should, 0, 200 if $is ne $should;
    return;
}

sub client (%options) {
    my $server = { address => $address, noreply => delete $options{noreply} ? 1 : 0 };
    return Cache::Memcached::Fast->new({ servers => [$server], connect_timeout => 10, io_timeout => 10, %options });
}

my $c = client();
$c->flush_all;

# Storing and reading. An answer is true, false, or undefined after an error.
same 'get of an absent key',     $c->get('k'),            undef;
same 'replace of an absent key', $c->replace('k', 'v'),   '';
same 'append to an absent key',  $c->append('k', 'v'),    '';
same 'prepend to an absent key', $c->prepend('k', 'v'),   '';
same 'set',                      $c->set('k', 'middle'),  1;
same 'add of a present key',     $c->add('k', 'v'),       '';
same 'add',                      $c->add('added', 'v'),   1;
same 'append',                   $c->append('k', ' end'), 1;
same 'prepend',                  $c->prepend('k', 'start '), 1;
same 'get',                      $c->get('k'),            'start middle end';
same 'replace',                  $c->replace('k', 'new'), 1;
same 'an empty value', [ $c->set('empty', ''), $c->get('empty') ], [ 1, '' ];

# Compare and swap.
same 'gets of an absent key', $c->gets('absent'), undef;
my ($version, $value) = @{ $c->gets('k') };
same 'gets',                    $value,                         'new';
same 'cas',                     $c->cas('k', $version, 'newer'), 1;
same 'cas with an old version', $c->cas('k', $version, 'v'),     '';
same 'cas of an absent key',    $c->cas('absent', $version, 'v'), '';
same 'the value after all',     $c->get('k'),                    'newer';

# Many keys.
my %values = map { ("many$_" => $_ x $_) } 0 .. 99;
my @keys   = sort keys %values;
my %true   = map { ($_ => 1) } @keys;
my %false  = map { ($_ => '') } @keys;
same 'replace_multi of absent keys', $c->replace_multi(map { [ $_, 'v' ] } @keys), \%false;
same 'add_multi',                    $c->add_multi(map { [ $_, 'v' ] } @keys), \%true;
same 'add_multi of present keys',    $c->add_multi(map { [ $_, 'v' ] } @keys), \%false;
same 'set_multi',                    $c->set_multi(map { [ $_, $values{$_} ] } @keys), \%true;
same 'get_multi',                    $c->get_multi(@keys, 'absent'), \%values;
same 'append_multi',                 $c->append_multi(map { [ $_, '>' ] } @keys),  \%true;
same 'prepend_multi',                $c->prepend_multi(map { [ $_, '<' ] } @keys), \%true;
same 'get_multi after both', $c->get_multi(@keys), { map { ($_ => "<$values{$_}>") } @keys };
my $versions = $c->gets_multi(@keys);
same 'gets_multi', [ map { $versions->{$_}[1] } @keys ], [ map { "<$values{$_}>" } @keys ];
my @swaps = map { [ $_, $versions->{$_}[0], 'swapped' ] } @keys;
same 'cas_multi',                    $c->cas_multi(@swaps), \%true;
same 'cas_multi with old versions',  $c->cas_multi(@swaps), \%false;
same 'delete_multi',                 $c->delete_multi(@keys), \%true;
same 'delete_multi of absent keys',  $c->delete_multi(@keys), \%false;
same 'get_multi of absent keys',     $c->get_multi(@keys), {};

# Numbers.
same 'incr of an absent key', $c->incr('number'), '';
same 'decr of an absent key', $c->decr('number'), '';
same 'a number',              $c->set('number', 10), 1;
same 'incr by one',           $c->incr('number'),    11;
same 'incr',                  $c->incr('number', 5), 16;
same 'decr',                  $c->decr('number', 4), 12;
same 'decr below zero',       $c->decr('number', 100), '0E0';
same 'incr of a word', [ $c->set('word', 'word'), scalar $c->incr('word'), $c->get('word') ], [ 1, undef, 'word' ];
$c->set_multi([ 'a', 1 ], [ 'b', 2 ]);
same 'incr_multi', $c->incr_multi([ 'a', 10 ], 'b', 'absent'), { a => 11, b => 3, absent => '' };
same 'decr_multi', $c->decr_multi([ 'a', 10 ], 'b', 'absent'), { a => 1,  b => 2, absent => '' };

# Objects, compression and Unicode.
my $object = { list => [ 1, 2, { three => 'four' } ], text => 'five' };
same 'an object', [ $c->set('object', $object), $c->get('object') ], [ 1, $object ];
my $squeezed = client(compress_threshold => 1000);
my $long     = 'long ' x 5000;
same 'a compressed value', [ $squeezed->set('squeezed', $long), $squeezed->get('squeezed') eq $long ], [ 1, 1 ];
my $unicode = client(utf8 => 1, namespace => 'namespace:');
same 'a value in Unicode', [ $unicode->set('k', 'wért–値'), $unicode->get('k') ], [ 1, 'wért–値' ];
same 'a namespace', [ $c->set('namespace:n', 'v'), $unicode->get('n'), scalar $c->get('n') ], [ 1, 'v', undef ];
my $bytes = 'schlüssel–鍵';
utf8::encode($bytes);
same 'a key in Unicode', [ $c->set($bytes, 'v'), $c->get($bytes) ], [ 1, 'v' ];

# Without answers.
my $quiet = client(noreply => 1);
$quiet->set('quiet', 1);
$quiet->incr('quiet', 41);
$quiet->add('quiet2', 'v');
$quiet->append('quiet2', 'w');
$quiet->set("quiet$_", 'v') for 3 .. 100;
$quiet->delete('quiet3');
same 'what noreply stored', $quiet->get_multi('quiet', 'quiet2', 'quiet3', 'quiet100'),
    { quiet => 42, quiet2 => 'vw', quiet100 => 'v' };
my $hasty = client(nowait => 1);
$hasty->set("hasty$_", $_) for 1 .. 100;
$hasty->nowait_push;
same 'what nowait stored', scalar keys %{ $c->get_multi(map { "hasty$_" } 1 .. 100) }, 100;

# Keys and sizes.
my $key = 'k' x 250;
same 'a key of 250 bytes', [ $c->set($key, 'long'), $c->get($key) ], [ 1, 'long' ];
same 'a key of 251 bytes', [ scalar $c->set($key . 'k', 'v'), scalar $c->get($key . 'k') ], [ undef, undef ];
same 'the connection after it', $c->get($key), 'long';
my $large   = "\0\r\n\xff" x (1 << 18);
my $fitting = substr $large, 1024;
my $roomy   = client(max_size => 2 << 20);
same 'a large value', [ $roomy->set('large', $fitting), $roomy->get('large') eq $fitting ], [ 1, 1 ];
same 'a value that is too large', $roomy->set('large', $large . 'x'), undef;
same 'the key of a value that was too large', $c->get('large'), undef;
same 'the client after it', [ $roomy->set('k', 'v'), $roomy->get('k') ], [ 1, 'v' ];

# Times.
# An entry of memcached with a TTL of one second may end at once, at the next tick of its clock.
my @short = qw(short touched gat gats gat_multi gats_multi touch_multi);
my $set = $c->set_multi(map { [ $_, 'v', 2 ] } @short);
same 'set_multi with a time', $set, { map { ($_ => 1) } @short };
same 'a time in the past', [ $c->set('past', 'v', -1), scalar $c->get('past') ], [ 1, undef ];
same 'a date', [ $c->set('date', 'v', time + 100), $c->get('date') ], [ 1, 'v' ];
same 'a date in the past', [ $c->set('date', 'v', time - 100), scalar $c->get('date') ], [ 1, undef ];
same 'touch', [ $c->touch('touched', 100), $c->touch('absent', 100) ], [ 1, '' ];
same 'touch_multi', $c->touch_multi([ 'touch_multi', 100 ], [ 'absent', 100 ]), { touch_multi => 1, absent => '' };
same 'gat', [ $c->gat(100, 'gat'), scalar $c->gat(100, 'absent') ], [ 'v', undef ];
same 'gats', $c->gats(100, 'gats')->[1], 'v';
same 'gat_multi', $c->gat_multi(100, 'gat_multi', 'absent'), { gat_multi => 'v' };
same 'gats_multi', $c->gats_multi(100, 'gats_multi', 'absent')->{gats_multi}[1], 'v';
sleep 3.2;
same 'what has expired', $c->get_multi(@short), { map { ($_ => 'v') } grep { $_ ne 'short' } @short };

# The rest.
same 'server_versions', $c->server_versions->{$address} =~ /^1[.]/ ? 'a version' : $c->server_versions, 'a version';
same 'delete', [ $c->delete('k'), $c->delete('k'), scalar $c->get('k') ], [ 1, '', undef ];
same 'flush_all later', [ values %{ $c->flush_all(100) }, $c->get('added') ], [ 1, 'v' ];
same 'flush_all', [ values %{ $c->flush_all }, scalar $c->get('added') ], [ 1, undef ];
$c->disconnect_all;
same 'a new connection', [ $c->set('k', 'v'), $c->get('k') ], [ 1, 'v' ];

say for @differences ? @differences : 'OK';
exit !!@differences;
