<?php

declare(strict_types=1);

require __DIR__ . '/lib/harness.php';

$server = TestServer::memcached();

/** A tier of a tiered cache in a folder of its own. */
function tier(string $cache, array $more = []): array
{
    return $more + ['cache' => $cache, 'options' => new stdClass(), 'folder' => folder(), 'servers' => []];
}

// No PHP that runs this guest has XCache, so the contract suite does not open it.
test('XCache returns the stored values', static function (): void {
    $guest = new TestGuest('xcache');
    ok(isset($guest->opened['cache']), 'it tells what it is', $guest->opened);
    same($guest->get('none'), null, 'what was never stored is not there');
    $binary = implode('', array_map(chr(...), range(0, 255)));
    same($guest->set('bytes', $binary), ['stored' => true], 'a value of all bytes is stored');
    ok($guest->get('bytes') === $binary, 'and comes back whole');
    ok($guest->set('bytes', 'newer')['stored'], 'it is replaced');
    same($guest->get('bytes'), 'newer', 'by what is read then');
    ok($guest->set('empty', '')['stored'], 'an empty value is stored');
    same($guest->get('empty'), '', 'and is not a miss');
    ok($guest->set('12', '34')['stored'], 'a key that looks like a number is stored');
    same($guest->get('12'), '34', 'and its value is no number');
    same($guest->delete('bytes'), true, 'it is deleted');
    same($guest->delete('bytes'), false, 'and cannot be deleted again');
    same($guest->get('bytes'), null, 'for it is gone');
    ok($guest->set('long', str_repeat('x', 30_000), '600')['stored'], 'the largest announced value is stored, with a TTL');
    same(strlen((string) $guest->get('long')), 30_000, 'and comes back');
    same($guest->end(), 0, 'the guest ends well');
});

test('entries that APCu dropped are counted as evictions', static function (): void {
    $guest = new TestGuest('apcu', settings: ['apc.shm_size=2M']);
    $plan = new TestPlan(folder(), array_map(static fn (int $n): string => "key-$n", range(0, 99)));
    $values = array_map(static fn (int $n): int => $plan->value($n, 60_000), range(0, 99));
    $plan->phase([], array_map(static fn (int $n): array => ['set', $n, $values[$n]], range(0, 99)));
    $plan->phase([], array_map(static fn (int $n): array => ['get', $n, $values[$n]], range(0, 99)));
    same($guest->load($plan), ['loaded' => true, 'evictions' => 0], 'nothing at first');
    $evictions = $guest->run(0)['evictions'];
    same($guest->run(1), ['ran' => 1, 'evictions' => 0], 'nothing by reading');
    same($guest->result(0)[0]['operations']['set']['succeeded'], 100, 'it takes all');
    $get = $guest->result(1)[0]['operations']['get'];
    ok($get['misses'] > 60 && $get['hits'] > 0, 'and most are gone', $get['misses']);
    same($evictions, $get['misses'], 'as many as it tells');
});

test('entries that APCu may have dropped are not guessed', static function (): void {
    $sets = static fn (array $values): array => array_map(static fn (int $value): array => ['set', $value - 1, $value], $values);
    $phases = [
        'keys that are stored again' => [null, $sets([...range(1, 30), ...range(31, 38)])],
        'and deleted' => [null, [['delete', 0], ...$sets(range(31, 38))]],
        'and expire' => [600, $sets(range(31, 38))],
    ];
    foreach ($phases as $name => [$ttl, $share]) {
        $guest = new TestGuest('apcu', settings: ['apc.shm_size=2M']);
        $plan = new TestPlan(folder(), array_map(static fn (int $n): string => "key-$n", range(0, 37)), ttl: $ttl);
        array_map(static fn (int $n): int => $plan->value($n, $n < 30 ? 100 : 400_000), range(0, 37));
        $plan->phase([], $sets(range(1, 30)));
        $plan->phase([], $share);
        $guest->load($plan);
        same($guest->run(0), ['ran' => 0, 'evictions' => 0], 'nothing is dropped at first');
        same($guest->run(1), ['ran' => 1], "where everything is dropped and $name nobody knows");
    }
    $guest = new TestGuest('apcu', settings: ['apc.ttl=60']);
    $guest->load($plan);
    same($guest->run(0), ['ran' => 0], 'nor with a ttl');
});

test('a value that APCu cannot take is refused', static function (): void {
    $guest = new TestGuest('apcu', settings: ['apc.shm_size=2M']);
    $answer = $guest->set('key', str_repeat('x', 3_000_000));
    same($answer['stored'], false, 'what is larger than all of it is not stored');
    matches($answer['why'], '/^apcu_store\(\) did not take key and value of 3000003 bytes: shm_size is 2\d+ bytes/', 'and why');
    ok($guest->set('key', 'x')['stored'], 'and it goes on');
    foreach (['2M' => 'stored', '8M' => 'error'] as $size => $how) {
        $guest = new TestGuest('xcache', settings: ['apc.shm_size=2M', "xcache.var_size=$size"]);
        $answer = $guest->set('key', str_repeat('x', 3_000_000));
        ok(isset($answer[$how]), "XCache with room for $size", $answer);
        same($answer['kind'] ?? 'too_large', $how === 'stored' ? 'too_large' : 'full', 'what is too large is not what is full');
    }
});

test('a full file system is an error in the words of the system', static function (): void {
    $mount = folder();
    exec('mount -t tmpfs -o size=1m tmpfs ' . escapeshellarg($mount) . ' 2>/dev/null', result_code: $code);
    if ($code !== 0) {
        echo "not root: left out\n";
        ok(true, 'nothing to see');
        return;
    }
    try {
        $guest = new TestGuest('file', ['folder' => $mount]);
        ok($guest->set('old', str_repeat('x', 400_000))['stored'], 'what fits is stored');
        $answer = $guest->set('old', str_repeat('y', 900_000));
        same($answer['kind'] ?? null, 'full', 'what does not is an error of this kind');
        matches($answer['error'] ?? null, '/No space left on device/', 'with these words');
        same(strlen((string) $guest->get('old')), 400_000, 'nothing half is there');
        same(count(scandir($mount)), 3, 'and nothing is left of the try');
        $guest->end();
    } finally {
        exec('umount ' . escapeshellarg($mount));
    }
});

test('unchecked writes leave empty files on a full file system', static function (): void {
    $mount = folder();
    exec('mount -t tmpfs -o size=1m tmpfs ' . escapeshellarg($mount) . ' 2>/dev/null', result_code: $code);
    if ($code !== 0) {
        echo "not root: left out\n";
        ok(true, 'nothing to see');
        return;
    }
    try {
        $guest = new TestGuest('file', ['folder' => $mount, 'options' => ['writes' => 'unchecked']]);
        same($guest->opened['settings']['writes'] ?? null, 'unchecked', 'it tells how it writes');
        same($guest->set('first', str_repeat('x', 600_000)), ['stored' => true], 'what fits is stored');
        same($guest->set('part', str_repeat('y', 600_000)), ['stored' => true], 'of what does not that is said as well');
        same($guest->set('none', str_repeat('z', 600_000)), ['stored' => true], 'even where nothing of it fits');
        same(strlen((string) $guest->get('first')), 600_000, 'the first one is whole');
        $part = strlen((string) $guest->get('part'));
        ok($part > 0 && $part < 600_000, 'a part of the second is there', $part);
        same(filesize("$mount/" . sha1('none')), 0, 'of the third a file without bytes');
        same($guest->get('none'), null, 'which is read as nothing');
        same($guest->set('empty', ''), ['stored' => true], 'an empty value');
        $guest->end();
    } finally {
        exec('umount ' . escapeshellarg($mount));
    }
    $guest = new TestGuest('file', ['options' => ['writes' => 'unchecked']]);
    ok($guest->set('empty', '')['stored'], 'an empty value that somebody stores');
    same($guest->get('empty'), '', 'is not a miss');
});

test('a file that cannot be deleted is an error in the words of the system', static function (): void {
    $folder = folder();
    $guest = new TestGuest('file', ['folder' => $folder]);
    $guest->set('kept', 'x');
    $guest->set('over', 'x', '0.001');
    usleep(5_000);
    same($guest->delete('over'), false, 'what has expired was not there');
    $file = escapeshellarg("$folder/" . sha1('kept'));
    exec("chattr +i $file 2>/dev/null", result_code: $code);
    if ($code === 0) {
        $answer = $guest->ask('delete 4', 'kept');
        exec("chattr -i $file");
        same($answer, ['error' => 'Operation not permitted', 'kind' => 'io'], 'what must not be changed is');
    }
    // A folder in the place of the key's file.
    unlink("$folder/" . sha1('kept'));
    mkdir("$folder/" . sha1('kept'));
    matches($guest->ask('delete 4', 'kept')['error'] ?? null, '/^(Is a directory|Operation not permitted)$/', 'so is a folder');
});

test('each adapter of Symfony tells its failures and its evictions', static function (): void {
    $of = static fn (string $adapter, string ...$settings): TestGuest
        => new TestGuest('symfony', ['options' => ['adapter' => $adapter]], $settings);
    $guest = $of('apcu', 'apc.shm_size=2M');
    ok($guest->set('12', '34')['stored'], 'a key that looks like a number is stored');
    same([$guest->get('12'), $guest->delete('12'), $guest->delete('12')], ['34', true, false], 'it is found and deleted once');
    matches($guest->set('key', str_repeat('x', 3_000_000))['why'] ?? null, '/shm_size is 2\d+ bytes/', 'a value beyond the memory is refused');
    $plan = new TestPlan(folder(), array_map(static fn (int $n): string => "key-$n", range(0, 99)));
    $sets = array_map(static fn (int $n): array => ['set', $n, $plan->value($n, 60_000)], range(0, 99));
    $plan->phase([], $sets);
    $guest->load($plan);
    ok($guest->run(0)['evictions'] > 60, 'evictions are counted');
    $folder = folder();
    $guest = new TestGuest('symfony', ['options' => ['adapter' => 'file'], 'folder' => $folder]);
    ok($guest->set('kept', 'x')['stored'], 'a file is stored');
    $guest->end();
    same((new TestGuest('symfony', ['options' => ['adapter' => 'file'], 'folder' => $folder, 'fresh' => false]))->get('kept'), 'x', 'a later program finds the file');
    same($of('chain')->load($plan), ['loaded' => true, 'evictions' => 0], 'a chain drops nothing, for the files have every entry');
    $off = $of('chain', 'apc.enable_cli=0');
    matches($off->opened['unavailable'] ?? null, '/^APCu is loaded but off/', 'a chain without its memory does not open');
});

test('a chain of Symfony fills its memory with a TTL, and not for ever', static function (): void {
    $folder = folder();
    $order = ['options' => ['adapter' => 'chain'], 'folder' => $folder];
    $first = new TestGuest('symfony', $order);
    $first->set('key', 'x', '3600');
    $first->end();
    $guest = new TestGuest('symfony', ['fresh' => false] + $order);
    $guest->load(new TestPlan(folder(), ['key'], ttl: 1));
    same($guest->get('key'), 'x', 'the value comes from the file');
    exec('rm -r ' . escapeshellarg("$folder/larder"));
    same($guest->get('key'), 'x', 'and now from the memory');
    usleep(2_100_000);
    same($guest->get('key'), null, 'until the TTL is over');
});

test('a value that ends as values with a TTL do comes back whole', static function (): void {
    $mark = (new ReflectionClassConstant(LarderGuest\Cache\File::class, 'MARK'))->getValue();
    $guest = new TestGuest('file');
    $guest->set('key', "0000000000000000$mark");
    same(bin2hex((string) $guest->get('key')), bin2hex("0000000000000000$mark"), 'with none of its own');
    $guest->set('key', "0000000000000000$mark", '60');
    same(bin2hex((string) $guest->get('key')), bin2hex("0000000000000000$mark"), 'and with one');
});

test('another process finds the files that the first one stored', static function (): void {
    $folder = folder();
    $first = new TestGuest('file', ['folder' => $folder]);
    $first->set('kept', 'x');
    same($first->end(), 0, 'the first ends');
    same((new TestGuest('file', ['folder' => $folder, 'fresh' => false]))->get('kept'), 'x', 'opened again');
    same((new TestGuest('file', ['folder' => $folder]))->get('kept'), null, 'or fresh');
});

test('the cache is opened with the options of the user', static function () use ($server): void {
    $apcu = new TestGuest('apcu', settings: ['apc.shm_size=4M', 'apc.ttl=7', 'apc.entries_hint=99']);
    same(of($apcu->opened['settings'], 'ttl', 'entries_hint'), ['7', '99'], 'settings of APCu');
    ok(abs($apcu->opened['settings']['shm_size'] - (4 << 20)) < 4096, 'and its size');
    if ($server !== null) {
        $order = ['servers' => [$server->address], 'options' => ['chunk_size' => 8192, 'hash_strategy' => 'standard']];
        $memcache = new TestGuest('memcache', $order);
        $settings = of($memcache->opened['settings'], 'chunk_size', 'hash_strategy', 'compress_threshold');
        same($settings, ['8192', 'standard', '0'], 'settings of memcache');
        $options = ['distribution' => 'ketama', 'poll_timeout' => 0.3, 'tcp_nodelay' => true];
        $memcached = new TestGuest('memcached', ['options' => $options] + $order);
        $settings = of($memcached->opened['settings'], 'distribution', 'poll_timeout', 'tcp_nodelay', 'compression');
        same($settings, ['ketama', '300 ms', 'on', 'off'], 'of memcached');
    }
});

test('tiers are counted, and a nearer one never has an older value', static function (): void {
    $guest = new TestGuest('tiered', ['tiers' => [tier('apcu'), tier('file')]], ['apc.shm_size=1M']);
    $plan = new TestPlan(folder(), ['grows', 'stays']);
    [$small, $stays, $large] = [$plan->value(0, 100), $plan->value(1, 100), $plan->value(0, 1_500_000)];
    $plan->phase([], [['set', 0, $small], ['set', 1, $stays], ['set', 0, $large]]);
    $plan->phase([], [['get', 0, $large], ['get', 0, $large]]);
    [[$sets], [$gets]] = $guest->runPlan($plan);
    same($sets['operations']['set']['succeeded'], 3, 'what the farthest took is stored');
    same($gets['operations']['get']['hits'], 2, 'the newest is what is read');
    $counts = static fn (array $tier): array => of($tier, 'name', 'hits', 'misses', 'fills', 'refused');
    same(array_map($counts, $sets['tiers']), [['apcu', 0, 0, 0, 1], ['file', 0, 0, 0, 0]], 'of sets');
    same(array_map($counts, $gets['tiers']), [['apcu', 0, 2, 0, 2], ['file', 2, 0, 0, 0]], 'each tier tells what it did');
});
