<?php

declare(strict_types=1);

require __DIR__ . '/lib/harness.php';

$server = TestServer::memcached();

// One process replaces values of one key while two other processes read it: they get newer values than they expect.
test('telling a newer value from a wrong one takes no time', static function (): void {
    $plan = new TestPlan(folder(), ['hot'], 3);
    $oldest = $plan->value(0, 10_000);
    $versions = array_map(static fn (): array => ['set', 0, $plan->value(0, 10_000)], range(1, 4_000));
    $gets = array_fill(0, 2_000, ['get', 0, $oldest]);
    $plan->phase([], [['set', 0, $oldest]], [], []);
    $plan->phase([], $versions, $gets, $gets);
    [, $ran] = (new TestGuest('apcu'))->runPlan($plan);
    foreach ([$ran[1]['operations']['get'], $ran[2]['operations']['get']] as $get) {
        same(of($get, 'ops', 'hits', 'wrong'), [2_000, 2_000, 0], 'no newer value is wrong');
        ok($get['busy_ns'] / 2_000 < 500_000, 'and what precedes the newest is not gone through', $get['busy_ns']);
    }
});

/** The children of a process. */
function childrenOf(int $pid): array
{
    return array_map(intval(...), array_filter(explode(' ', trim((string) @file_get_contents("/proc/$pid/task/$pid/children")))));
}

function isGone(int $pid): bool
{
    for ($n = 0; $n < 30_000; $n++) {
        if (preg_match('/\) Z/', (string) @file_get_contents("/proc/$pid/stat") ?: ') Z') === 1) {
            return true;
        }
        usleep(10_000);
    }
    return false;
}

test('children end between two operations, so that no child leaves the memory locked', static function (): void {
    for ($try = 0; $try < 5; $try++) {
        $guest = new TestGuest('apcu', settings: ['apc.shm_size=1M']);
        $plan = new TestPlan(folder(), ['fails', 'one', 'other'], 3);
        [$large, $one, $other] = [$plan->value(0, 1_500_000), $plan->value(1, 3_000), $plan->value(2, 3_000)];
        $sets = static fn (int $key, int $value): array => array_fill(0, 500, ['set', $key, $value]);
        $options = ['time_limit_s' => 20, 'again' => true];
        $plan->phase($options, $sets(0, $large), $sets(1, $one), $sets(2, $other));
        $guest->load($plan);
        matches($guest->run(0)['error'] ?? null, '/^process 1 of 3: gave up after 100 failures/', 'one gives up');
        $guest->send("set 1 1 -\nxy");
        ok($guest->answersWithin(300), 'and the cache can be asked');
        same($guest->answer(), ['stored' => true], 'as before');
    }
});

test('a guest ends when a child was killed in shared memory', static function (): void {
    $plan = new TestPlan(folder(), ['key'], 3);
    $set = array_fill(0, 100, ['set', 0, $plan->value(0, 100)]);
    $plan->phase(['time_limit_s' => 600, 'again' => true], $set, $set, $set);
    $guest = new TestGuest('apcu');
    $guest->load($plan);
    $guest->begin(0);
    ok($guest->answer()['alive'] > 0, 'it works');
    $children = childrenOf($guest->pid);
    posix_kill($children[0], SIGSTOP);
    posix_kill($children[1], SIGKILL);
    matches($guest->lastAnswer()['error'] ?? null, '/^process [123] of 3 was ended by signal 9/', 'it says what happened');
    same(array_map(isGone(...), $children), [true, true, true], 'a child that does not end is killed');
    same($guest->wait(), 0, 'and it ends, for the cache may be locked');
});

if ($server !== null) {
    test('a guest whose children do nothing says nothing', static function () use ($server): void {
        $plan = new TestPlan(folder(), ['key'], 2);
        $gets = array_fill(0, 100, ['get', 0, $plan->value(0, 100)]);
        $plan->phase(['time_limit_s' => 600, 'again' => true], $gets, $gets);
        $guest = new TestGuest('memcached', ['servers' => [$server->address], 'options' => ['poll_timeout' => 60]]);
        $guest->load($plan);
        $guest->begin(0);
        ok($guest->answer()['alive'] > 0, 'while they work it does');
        $server->pause();
        for ($told = 0; $told < 10 && $guest->answersWithin(2.5); $told++) {
            $guest->answer();
        }
        ok($told < 10, 'what they did until then it tells, and then no more', $told);
        $server->resume();
        ok($guest->answersWithin(300), 'until they go on');
    });
}
