<?php

declare(strict_types=1);

require __DIR__ . '/lib/harness.php';

$server = TestServer::mongodb();
if ($server === null) {
    ok(true, 'nothing to see');
    return;
}

/** A guest of the server, with these options. */
function guestOf(TestServer $server, array $options = []): TestGuest
{
    $order = ['servers' => [$server->address], 'server' => ['collection' => 'c' . bin2hex(random_bytes(4))]];
    return new TestGuest('mongodb', $order + ['options' => $options + ['w' => '1', 'socketTimeoutMS' => 5_000]]);
}

/** A plan of sets, each of a key of its own. */
function planOfSets(int $count, int $length): TestPlan
{
    $plan = new TestPlan(folder(), array_map(static fn (int $n): string => "key-$n", range(0, $count - 1)));
    $sets = array_map(static fn (int $n): array => ['set', $n, $plan->value($n, $length)], range(0, $count - 1));
    $plan->phase([], $sets);
    return $plan;
}

foreach (['1', '0'] as $w) {
    test("values with w=$w", static function () use ($server, $w): void {
        $guest = guestOf($server, ['w' => $w]);
        same($guest->opened['settings']['w'] ?? null, $w, 'it tells how it writes');
        ok($guest->set("k\xe9y", "\0\xff")['stored'], 'any bytes are stored');
        same(bin2hex((string) $guest->get("k\xe9y")), '00ff', 'and come back');
        same($guest->delete("k\xe9y"), true, 'what is there is deleted');
        same($guest->delete("k\xe9y"), false, 'once');
        $answer = $guest->set('large', str_repeat('x', 16 << 20));
        same($answer['stored'] ?? null, false, 'what no document has room for is refused');
        matches($answer['why'] ?? null, '/^the value of 16777216 bytes is larger than a document has room for/', 'and why');
        $plan = planOfSets(200, 30_000);
        $plan->phase([], array_map(static fn (int $n): array => ['get', $n, $n + 1], range(0, 199)));
        [[$sets], [$gets]] = $guest->runPlan($plan);
        same(of($sets['operations']['set'], 'succeeded', 'errors'), [200, 0], 'a plan of sets');
        same(of($gets['operations']['get'], 'hits', 'errors'), [200, 0], 'and of gets');
        same($sets['failed'], [], 'all of it acknowledged');
        same($guest->end(), 0, 'the guest ends well');
    });
}

test('what was sent and could not be waited for has failed', static function () use ($server): void {
    $guest = guestOf($server, ['w' => '0', 'socketTimeoutMS' => 3_000]);
    $plan = planOfSets(50, 100);
    $plan->phase([], array_map(static fn (int $n): array => ['set', $n, $n + 1], range(0, 49)));
    $guest->load($plan);
    $server->pause();
    $answer = $guest->run(0);
    $server->resume();
    // The server has gone on when it answers a guest that can wait.
    ok(guestOf($server, ['socketTimeoutMS' => 300_000])->set('key', 'x')['stored'], 'the server goes on');
    same($answer, ['ran' => 0], 'the phase is carried out');
    [$ran] = $guest->result(0);
    same(of($ran['operations']['set'], 'ops', 'succeeded', 'errors'), [50, 0, 50], 'with counts');
    same($ran['operations']['set']['errors_by_kind'], ['timeout' => 50], 'of their kind');
    same($ran['failed'], range(1, 50), 'and none is vouched for');
    same($guest->run(1), ['ran' => 1], 'the next phase');
    [$ran] = $guest->result(1);
    same($ran['operations']['set']['succeeded'], 50, 'is a new beginning');
    same($ran['failed'], [], 'in which all went well');
});

test('a lost server is an error of kind io, not a time-out', static function () use ($server): void {
    $guest = guestOf($server);
    $unheard = guestOf($server, ['w' => '0']);
    ok($guest->set('key', 'x')['stored'], 'at first it is there');
    $guest->load(planOfSets(20, 100));
    $unheard->load(planOfSets(20, 100));
    $server->pause();
    $guest->begin(0);
    $unheard->begin(0);
    usleep(300_000);
    $server->kill();
    foreach ([$guest, $unheard] as $each) {
        same($each->lastAnswer(), ['ran' => 0], 'the phase is carried out');
        [$ran] = $each->result(0);
        same($ran['operations']['set']['errors_by_kind'], ['io' => 20], 'every set is an error of this kind');
        same($ran['failed'], range(1, 20), 'and is told');
        if ($each === $guest) {
            same($each->ask('get 3', 'key')['kind'] ?? null, 'io', 'so is what is probed');
        }
    }
});
