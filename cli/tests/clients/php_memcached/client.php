<?php

/**
 * PHP's extension memcached: every method of its client, against the server at the address of the first argument.
 *
 * The second argument is the protocol, `text` or `binary`. The program prints what differs from memcached and ends
 * with code 1, or prints `OK`.
 */

declare(strict_types=1);

[, $address, $protocol] = $argv;
[$host, $port] = explode(':', $address);
$isBinary = $protocol === 'binary';
$differences = [];

function same(string $what, mixed $got, mixed $expected): void
{
    global $differences;
    if ($got !== $expected) {
        $short = static fn (mixed $value): string => substr(var_export($value, true), 0, 200);
        $differences[] = "$what: {$short($got)} in place of {$short($expected)}";
    }
}

/** The result of a call, and the code that the client has for it. */
function coded(Memcached $client, string $method, mixed ...$arguments): array
{
    return [$client->$method(...$arguments), $client->getResultCode()];
}

function client(array $options = []): Memcached
{
    global $host, $port, $isBinary;
    $client = new Memcached();
    $client->setOptions($options + [
        Memcached::OPT_BINARY_PROTOCOL => $isBinary,
        Memcached::OPT_POLL_TIMEOUT => 10000,
        Memcached::OPT_CONNECT_TIMEOUT => 10000,
    ]);
    $client->addServer($host, (int) $port);
    return $client;
}

$done = [true, Memcached::RES_SUCCESS];
$absent = [false, Memcached::RES_NOTFOUND];
$unstored = [false, Memcached::RES_NOTSTORED];
$exists = [false, $isBinary ? Memcached::RES_DATA_EXISTS : Memcached::RES_NOTSTORED];
$missing = [false, $isBinary ? Memcached::RES_NOTFOUND : Memcached::RES_NOTSTORED];
$c = client([Memcached::OPT_COMPRESSION => false]);
$c->flush();

// Storing and reading.
same('get of an absent key', coded($c, 'get', 'k'), $absent);
same('replace of an absent key', coded($c, 'replace', 'k', 'v'), $missing);
same('append to an absent key', coded($c, 'append', 'k', 'v'), $unstored);
same('prepend to an absent key', coded($c, 'prepend', 'k', 'v'), $unstored);
same('set', coded($c, 'set', 'k', 'middle'), $done);
same('add of a present key', coded($c, 'add', 'k', 'v'), $exists);
same('add', coded($c, 'add', 'added', 'v'), $done);
same('append', coded($c, 'append', 'k', ' end'), $done);
same('prepend', coded($c, 'prepend', 'k', 'start '), $done);
same('get', coded($c, 'get', 'k'), ['start middle end', Memcached::RES_SUCCESS]);
same('replace', coded($c, 'replace', 'k', 'new'), $done);
same('an empty value', [$c->set('empty', ''), $c->get('empty')], [true, '']);
same('a callback on a miss', $c->get('loaded', static function (Memcached $c, string $key, &$value): bool {
    $value = "loaded $key";
    return true;
}), 'loaded loaded');
same('what the callback stored', $c->get('loaded'), 'loaded loaded');

// Compare and swap.
$got = $c->get('k', null, Memcached::GET_EXTENDED);
same('an extended get', [$got['value'], $got['flags']], ['new', 0]);
same('cas', coded($c, 'cas', $got['cas'], 'k', 'newer'), $done);
same('cas with an old version', coded($c, 'cas', $got['cas'], 'k', 'v'), [false, Memcached::RES_DATA_EXISTS]);
same('cas of an absent key', coded($c, 'cas', $got['cas'], 'none', 'v'), $absent);
same('the value after both', $c->get('k'), 'newer');

// Many keys.
$values = [];
for ($i = 0; $i < 100; ++$i) {
    $values["many$i"] = str_repeat("$i", $i);
}
same('setMulti', coded($c, 'setMulti', $values), $done);
$got = $c->getMulti([...array_keys($values), 'absent'], Memcached::GET_PRESERVE_ORDER);
same('getMulti', $got, $values + ['absent' => null]);
$got = $c->getMulti(['k', 'added'], Memcached::GET_EXTENDED | Memcached::GET_PRESERVE_ORDER);
same('an extended getMulti', array_column($got, 'value'), ['newer', 'v']);
same('getDelayed', $c->getDelayed(array_keys($values), true), true);
$all = array_column($c->fetchAll() ?: [], 'value', 'key');
ksort($all);
$sorted = $values;
ksort($sorted);
same('fetchAll', $all, $sorted);
same('deleteMulti', array_unique(array_values($c->deleteMulti(array_slice(array_keys($values), 0, 50)))), [true]);
same('getMulti after it', count($c->getMulti(array_keys($values))), 50);

// Numbers.
same('increment of an absent key', coded($c, 'increment', 'number'), $absent);
same('decrement of an absent key', coded($c, 'decrement', 'number'), $absent);
if ($isBinary) {
    same('increment with a first value', [$c->increment('first', 1, 7, 100), $c->increment('first')], [7, 8]);
    same('decrement with a first value', [$c->decrement('second', 1, 7), $c->decrement('second')], [7, 6]);
}
same('a number', $c->set('number', 10), true);
same('increment', $c->increment('number', 5), 15);
same('decrement', $c->decrement('number', 4), 11);
same('decrement below zero', $c->decrement('number', 100), 0);
same('increment of a word', [$c->set('word', 'word'), $c->increment('word')], [true, false]);

// Objects, flags and compression.
$objects = ['text', 'wért–値', 42, -1.5, true, false, null, [1, ['a' => 'b']], new ArrayObject([1, 2])];
foreach ([Memcached::SERIALIZER_PHP, Memcached::SERIALIZER_JSON] as $serializer) {
    $typed = client([Memcached::OPT_SERIALIZER => $serializer]);
    foreach ($serializer === Memcached::SERIALIZER_PHP ? $objects : array_slice($objects, 0, 7) as $i => $object) {
        same("object $i stored by serializer $serializer", $typed->set("object$i", $object), true);
        $got = $typed->get("object$i");
        // Two objects with the same content are not identical.
        same("object $i of serializer $serializer", serialize($got), serialize($object));
    }
}
$squeezed = client([Memcached::OPT_COMPRESSION => true]);
$long = str_repeat('long ', 5000);
same('a compressed value', [$squeezed->set('squeezed', $long), $squeezed->get('squeezed') === $long], [true, true]);
$typed = client([Memcached::OPT_USER_FLAGS => 0xABCD]);
same('set with flags', $typed->set('flags', 'v'), true);
same('the flags', $typed->get('flags', null, Memcached::GET_EXTENDED)['flags'], 0xABCD);

// Without answers, and in a pipeline.
$quiet = client([Memcached::OPT_NOREPLY => true, Memcached::OPT_COMPRESSION => false]);
same('set with noreply', $quiet->set('quiet', '1'), true);
same('add with noreply', $quiet->add('quiet2', '2'), true);
same('append with noreply', $quiet->append('quiet2', '3'), true);
same('delete with noreply', $quiet->delete('quiet'), true);
$quiet->quit();
for ($i = 0; $i < 100 && ($c->get('quiet2') !== '23' || $c->get('quiet') !== false); ++$i) {
    usleep(10000);
}
same('what noreply stored', [$c->get('quiet'), $c->get('quiet2')], [false, '23']);
$buffered = client([Memcached::OPT_BUFFER_WRITES => true]);
for ($i = 0; $i < 100; ++$i) {
    same("a buffered set $i", $buffered->set("buffered$i", 'v'), true);
}
same('flushBuffers', $buffered->flushBuffers(), true);
same('what was buffered', $buffered->get('buffered99'), 'v');

// Keys and sizes.
$key = str_repeat('k', 250);
same('a key of 250 bytes', [$c->set($key, 'long'), $c->get($key)], [true, 'long']);
same('a key of 251 bytes', coded($c, 'get', $key . 'k'), [false, Memcached::RES_BAD_KEY_PROVIDED]);
// The client itself refuses such a key with the text protocol.
if ($isBinary) {
    same('a key in Unicode', [$c->set('schlüssel–鍵', 'v'), $c->get('schlüssel–鍵')], [true, 'v']);
}
$prefixed = client([Memcached::OPT_PREFIX_KEY => 'prefix.']);
same('a prefix', [$prefixed->set('k', 'prefixed'), $c->get('prefix.k')], [true, 'prefixed']);
$large = str_repeat("\0\r\n\xff", 1 << 18);
$fitting = substr($large, 1024);
same('a large value', [$c->set('large', $fitting), $c->get('large') === $fitting], [true, true]);
same('a value that is too large', $c->set('large', $large . 'x'), false);
$c->quit();
same('the key of a value that was too large', coded($c, 'get', 'large'), $absent);
same('the connection after it', [$c->set('k', 'v'), $c->get('k')], [true, 'v']);

// Times.
// An entry of memcached with a TTL of one second may end at once, at the next tick of its clock.
foreach (['short', 'touched'] as $key) {
    same("set of $key", $c->set($key, 'v', 2), true);
}
same('a date', [$c->set('date', 'v', time() + 100), $c->get('date')], [true, 'v']);
same('a date in the past', [$c->set('past', 'v', time() - 100), $c->get('past')], [true, false]);
same('touch', coded($c, 'touch', 'touched', 100), $done);
same('touch of an absent key', coded($c, 'touch', 'absent', 100), $absent);
usleep(3_200_000);
same('what has expired', [$c->get('short'), $c->get('touched')], [false, 'v']);

// The rest.
same('getVersion', preg_match('/^1\.[0-9.]+/', $c->getVersion()["$host:$port"]), 1);
$stats = $c->getStats()["$host:$port"];
$counters = ['pid', 'uptime', 'curr_items', 'bytes', 'cmd_get', 'get_hits', 'limit_maxbytes', 'threads'];
same('getStats', array_diff($counters, array_keys($stats)), []);
same('the counters', [$stats['pid'] > 0, $stats['cmd_get'] > 0, $stats['threads'] > 0], [true, true, true]);
same('getStats of settings', isset($c->getStats('settings')["$host:$port"]['maxconns']), true);
same('delete', coded($c, 'delete', 'k'), $done);
same('delete of an absent key', coded($c, 'delete', 'k'), $absent);
same('flush later', [$c->flush(100), $c->get('added')], [true, 'v']);
same('flush', [$c->flush(), $c->get('added')], [true, false]);
same('quit', [$c->quit(), $c->get('added'), $c->set('k', 'v')], [true, false, true]);

echo $differences ? implode("\n", $differences) : 'OK', "\n";
exit($differences ? 1 : 0);
