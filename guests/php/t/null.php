<?php

declare(strict_types=1);

require __DIR__ . '/lib/harness.php';

test('the null cache replays what was set last', static function (): void {
    $guest = new TestGuest('null');
    same($guest->opened['cache'], 'null', 'the guest says which cache it has');
    matches($guest->opened['language'], '/^php 8\.\d+\.\d+/', 'and which language');
    same($guest->opened['settings']['opcache'], 'on', 'and that it is compiled as in a web server');
    same($guest->get('a'), null, 'nothing is there at first');
    ok($guest->set('a', "line\nfeed")['stored'], 'a value is stored');
    same($guest->get('b'), "line\nfeed", 'what was set last comes back, whatever the key');
    same($guest->end(), 0, 'the guest ends when it is told to');
});

test('what is counted adds up', static function (): void {
    $guest = new TestGuest('null');
    $plan = new TestPlan(folder(), array_map(static fn (int $n): string => "key-$n", range(0, 99)), replays: true);
    $values = array_map(static fn (int $n): int => $plan->value($n, $n < 5 ? $n : 100), range(0, 99));
    $set = array_map(static fn (int $n): array => ['set', $n, $values[$n]], range(0, 99));
    $get = array_map(static fn (int $n): array => ['get', $n, $values[$n]], range(0, 99));
    $plan->phase(['operations' => ['set']], $set);
    $plan->phase(['operations' => ['get']], [...$get, ...$get]);
    [[$sets], [$gets]] = $guest->runPlan($plan);
    $names = ['ops', 'hits', 'misses', 'wrong', 'errors', 'succeeded', 'bytes'];
    same(of($sets['operations']['set'], ...$names), [100, 0, 0, 0, 0, 100, 10 + 95 * 100], 'sets are counted');
    same(of($gets['operations']['get'], ...$names), [200, 200, 0, 0, 0, 200, 20_000], 'and gets');
    foreach ([$sets, $gets] as $ran) {
        $name = array_key_first($ran['operations']);
        $found = $ran['operations'][$name];
        same(array_sum(array_column($found['latencies'], 1)), $found['succeeded'], "$name: as many latencies as successes");
        same(array_sum($found['timeline']['ops']), $found['ops'], "$name: every operation is on the time line");
        same($found['busy_ns'], $ran['wall_ns'], "$name: one process alone is always busy");
        ok($ran['rss_bytes'] > 1_000_000, "$name: memory is told");
        same($ran['connections'], 0, "$name: there are no connections");
    }
});

test('time ends a phase', static function (): void {
    $guest = new TestGuest('null');
    $plan = new TestPlan(folder(), ['key'], replays: true);
    $value = $plan->value(0, 100);
    $options = ['operations' => ['set'], 'time_limit_s' => 0.5, 'again' => true];
    $plan->phase($options, array_fill(0, 5_000, ['set', 0, $value]));
    $guest->ask('load ' . $plan->write());
    $guest->send("run 0\n");
    $alive = $guest->answer()['alive'] ?? 0;
    ok($alive > 5_000, 'the operations come again and again, and it says how far it is', $alive);
    same($guest->lastAnswer(), ['ran' => 0], 'then it is over');
    [$ran] = $guest->result($plan, 0);
    ok(abs($ran['wall_ns'] / 1e9 - 0.5) < 0.1, 'after the time that was given', $ran['wall_ns']);
    ok($ran['cpu_user_ns'] + $ran['cpu_system_ns'] > 1e8, 'CPU time is told', $ran);
    ok($ran['cpu_user_ns'] + $ran['cpu_system_ns'] < 6e8, 'and no more than passed', $ran);
    $slots = count($ran['operations']['set']['timeline']['ops']);
    ok($slots >= 17 && $slots <= 32, 'with 17 to 32 slots of time', $slots);
    ok($alive < $ran['operations']['set']['ops'], 'and more operations than were told before');
});
