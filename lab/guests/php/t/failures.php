<?php

declare(strict_types=1);

require __DIR__ . '/lib/harness.php';

test('a missing extension is reported in one line', static function (): void {
    $off = new TestGuest('apcu', settings: ['apc.enable_cli=0']);
    matches($off->opened['unavailable'] ?? null, '/^APCu is loaded but off, and would silently store nothing/', 'APCu that is off');
    $without = new TestGuest('xcache', settings: ['auto_prepend_file=']);
    matches($without->opened['unavailable'] ?? null, '/^the PHP extension xcache is not loaded; its last release is for PHP 5\.6/', 'XCache');
    $empty = new TestGuest('xcache', settings: ['xcache.var_size=0']);
    matches($empty->opened['unavailable'] ?? null, '/^XCache has no memory for values: xcache\.var_size is 0/', 'XCache without memory');
    same($empty->wait(), 0, 'and it ends well');
});

test('a cache or an operation that this guest does not have', static function (): void {
    $unknown = new TestGuest('fastmmap');
    matches($unknown->opened['unavailable'] ?? null, '/^unknown cache: fastmmap; known: null, apcu, /', 'a cache');
    matches((new TestGuest('file'))->ask('touch 3 5', 'key')['error'], '/cannot renew a time to live$/', 'an operation');
});

test('printed text does not get into the answers', static function (): void {
    $folder = folder();
    $last = 'register_shutdown_function(static function (): void { echo "bye\n"; });';
    file_put_contents("$folder/late.php", "<?php $last");
    $guest = new TestGuest('null', [], ["auto_prepend_file=$folder/late.php"], "$folder/stderr");
    same($guest->opened['cache'], 'null', 'the answer is the first line');
    $guest->send("end\n");
    same($guest->answer(), null, 'and nothing follows');
    matches(file_get_contents("$folder/stderr"), '/^bye$/m', 'and the rest is on standard error');
});

$redis = TestServer::redis();
if ($redis !== null) {
    test('a Redis that refuses, answers with no value or is gone', static function () use ($redis): void {
        $order = ['servers' => [$redis->address], 'server' => ['db' => '1'], 'access' => ['db' => '1', 'password' => 'secret']];
        $guest = new TestGuest('redis', $order);
        ok($guest->set('small', 'x')['stored'], 'a value is stored');
        same($guest->set('large', str_repeat('x', 8_000_000))['kind'] ?? null, 'full', 'a value without room is an error');
        $other = new \Redis();
        $other->connect('127.0.0.1', (int) explode(':', $redis->address)[1]);
        $other->auth('secret');
        $other->config('SET', 'maxmemory', '0');
        $other->select(1);
        same($other->get('small'), 'x', 'the value is in the database of the URL');
        $other->rPush('list', 'x');
        matches($guest->ask('get 4', 'list')['error'] ?? null, '/^WRONGTYPE /', 'a list is no value');
        same($guest->get('none'), null, 'the next miss is a miss');
        $redis->kill();
        same($guest->ask('get 5', 'small')['kind'] ?? null, 'io', 'a server that is gone is an error');
        same($guest->ask('get 5', 'small')['kind'] ?? null, 'io', 'also later');
        $secure = new TestGuest('redis', ['servers' => [$redis->address], 'server' => ['tls' => 'on']]);
        matches($secure->opened['unavailable'] ?? null, '/no TLS/', 'a server with TLS is refused');
    });
}

$server = TestServer::memcached();
if ($server === null) {
    return;
}

test('a server that refuses a value', static function () use ($server): void {
    foreach (['memcached', 'memcache'] as $cache) {
        $guest = new TestGuest($cache, ['servers' => [$server->address]]);
        $answer = $guest->set('large', random_bytes(2_000_000));
        ok(($answer['stored'] ?? null) !== true, "$cache: is not a success", $answer);
        matches($answer['why'] ?? $answer['error'], '/2000000 bytes|object too large/', "$cache: and says why");
        ok($guest->set('small', 'x')['stored'], "$cache: the next value is stored");
    }
    $guest = new TestGuest('memcached', ['servers' => [$server->address]]);
    same($guest->ask('touch 5 60', 'small')['found'], true, 'a key that is there is touched');
    same($guest->ask('touch 4 60', 'none')['found'], false, 'one that is not is not');
    same($guest->set("\xe9", 'x')['kind'] ?? null, 'key', 'a key that the client refuses is an error of its own kind');
});

test('a client for every operation opens one connection for each, and one for a miss and its fill', static function () use ($server): void {
    foreach (['memcached', 'memcache'] as $cache) {
        $guest = new TestGuest($cache, ['servers' => [$server->address], 'options' => ['connect' => 'operation']]);
        $plan = new TestPlan(folder(), ["$cache-only", "$cache-other"]);
        $value = $plan->value(0, 50);
        $plan->phase([], array_fill(0, 20, ['set', 0, $value]));
        $plan->phase([], array_fill(0, 20, ['get_or_set', 0, $value]));
        $plan->phase([], array_fill(0, 20, ['get_or_set', 1, $value, 0]));
        $before = connections($server);
        $opened = array_map(static fn (array $ran): int => $ran[0]['connections'], $guest->runPlan($plan));
        same($opened, [20, 20, 20], "$cache tells so");
        same(connections($server) - $before - 1, 60, "and the server has seen as many of $cache");
    }
});

/** The number of connections that a server has seen. */
function connections(TestServer $server): int
{
    $stream = stream_socket_client("tcp://$server->address");
    fwrite($stream, "stats\r\n");
    while (!str_starts_with($line = (string) fgets($stream), 'END')) {
        if (preg_match('/^STAT total_connections (\d+)/', $line, $found) === 1) {
            $total = (int) $found[1];
        }
    }
    return $total;
}

test('a miss on one server is no failure when another server is gone', static function () use ($server): void {
    foreach (['consistent', 'standard'] as $strategy) {
        $other = TestServer::memcached();
        $order = ['servers' => [$server->address, $other->address], 'options' => ['hash_strategy' => $strategy]];
        $guest = new TestGuest('memcache', $order);
        $plan = new TestPlan(folder(), array_map(static fn (int $n): string => "$strategy-of-two-$n", range(0, 199)));
        $operations = static fn (string $kind, int $from): array
            => array_map(static fn (int $n): array => [$kind, $n, $n < 100 ? $n + 1 : 0], range($from, $from + 99));
        array_map(static fn (int $n): int => $plan->value($n, 50), range(0, 99));
        $plan->phase([], $operations('set', 0));
        $plan->phase([], $operations('get', 0));
        $plan->phase([], $operations('get', 100));
        $plan->phase(['multiget' => 2], $operations('get', 0));
        $guest->load($plan);
        $guest->run(0);
        $other->kill();
        foreach ([1, 2, 3] as $phase) {
            same($guest->run($phase), ['ran' => $phase], "$strategy: the phase is carried out");
        }
        $get = static fn (int $phase, string $name): array => $guest->result($phase)[0]['operations'][$name];
        [$stored, $absent, $many] = [$get(1, 'get'), $get(2, 'get'), $get(3, 'get_many')];
        ok($stored['hits'] > 10 && $stored['errors'] > 10, "$strategy: some keys are on either", $stored['hits']);
        same($stored['misses'], 0, "$strategy: a key that is gone with the server is no miss");
        ok($absent['misses'] > 10 && $absent['errors'] > 10, "$strategy: a key that the other server never had is a miss", $absent['misses']);
        same(of($many, 'hits', 'errors'), of($stored, 'hits', 'errors'), "$strategy: requests of many keys count the same");
    }
});

test('a get that times out is an error, and a get that misses is not', static function () use ($server): void {
    $guest = new TestGuest('memcached', ['servers' => [$server->address], 'options' => ['poll_timeout' => 3]]);
    $plan = new TestPlan(folder(), ['hung-0', 'hung-1', 'hung-2']);
    $gets = array_map(static fn (int $n): array => ['get', $n, $plan->value($n, 50)], [0, 1, 2]);
    $plan->phase([], $gets);
    $guest->load($plan);
    $server->pause();
    $guest->begin(0);
    $server->waitForClient();
    $server->resume();
    same($guest->lastAnswer(), ['ran' => 0], 'the phase is carried out');
    $get = $guest->result(0)[0]['operations']['get'];
    same(of($get, 'ops', 'errors', 'misses'), [3, 1, 2], 'the first is an error, and the rest are misses');
    same($get['errors_by_kind'], ['timeout' => 1], 'timed out');
});

test('operations on a server that is gone are errors, not misses', static function () use ($server): void {
    $guests = [];
    foreach (['memcached', 'memcache'] as $cache) {
        $guests[$cache] = new TestGuest($cache, ['servers' => [$server->address]]);
    }
    $server->kill();
    foreach ($guests as $cache => $guest) {
        $plan = new TestPlan(folder(), array_map(static fn (int $n): string => "gone-$n", range(0, 19)));
        $values = array_map(static fn (int $n): int => $plan->value($n, 50), range(0, 19));
        $plan->phase([], array_map(static fn (int $n): array => ['get', $n, $values[$n]], range(0, 19)));
        $plan->phase(['multiget' => 5], array_map(static fn (int $n): array => ['get', $n, $values[$n]], range(0, 19)));
        $plan->phase([], array_map(static fn (int $n): array => ['set', $n, $values[$n]], range(0, 19)));
        $plan->phase([], array_map(static fn (int $n): array => ['get_or_set', $n, $values[$n]], range(0, 19)));
        foreach ($guest->runPlan($plan) as [$ran]) {
            $name = array_key_first($ran['operations']);
            $found = $ran['operations'][$name];
            same(of($found, 'errors', 'misses', 'failed_fills'), [20, 0, 0], "$cache: every $name is an error");
            same(array_keys($found['errors_by_kind']), ['io'], "$cache: every $name has the kind io");
            same(array_sum($found['errors_by_kind']), 20, "$cache: every $name is counted once");
        }
        ok(isset($guest->ask('get 4', 'gone')['error']), "$cache: a probed key is an error, too");
    }
});
