<?php

declare(strict_types=1);

use Larder\Cache;
use Larder\Judge;
use Larder\Order;
use Larder\Phase;
use Larder\Plan;
use Larder\Processes;
use Larder\Protocol;

require __DIR__ . '/lib/harness.php';

const NOTHING = 0xFFFF_FFFF;

/** A cache that keeps its values, does not delete, and refuses what is large. */
final class Stubborn extends Cache
{
    /** @var array<string, string> */
    private array $of = [];

    public static function opened(Order $order): Cache
    {
        return new self();
    }

    public function title(): string
    {
        return 'stubborn';
    }

    public function settings(): array
    {
        return [];
    }

    public function get(string $key): string|false
    {
        return $this->of[$key] ?? false;
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        if (strlen($value) > 80_000) {
            return false;
        }
        $this->of[$key] = $value;
        return true;
    }

    public function delete(string $key): ?bool
    {
        return null;
    }
}

// The cache is tampered with by commands between the phases of a plan, and what the gets find is compared.
$guest = new TestGuest('apcu', settings: ['apc.shm_size=2M']);
$plan = new TestPlan(folder(), array_map(static fn (int $n): string => "key-$n", range(0, 9)));
$old = array_map(static fn (int $n): int => $plan->value($n, 200), range(0, 9));
$new = array_map(static fn (int $n): int => $plan->value($n, 300), range(0, 9));
$short = $plan->value(9, 20);

test('what a get finds is told apart', static function () use ($guest, $plan, $old, $new, $short): void {
    // 0 newest, 1 older, 2 truncated, 3 other key's, 4 nothing, 5 empty, 6 longer, 7 one bit, 9 a short one without header.
    $guest->set('key-0', $plan->text($new[0]));
    $guest->set('key-1', $plan->text($old[1]));
    $guest->set('key-2', substr($plan->text($new[2]), 0, 299));
    $guest->set('key-3', $plan->text($new[4]));
    $guest->set('key-5', '');
    $guest->set('key-6', $plan->text($new[6]) . 'x');
    $guest->set('key-7', $plan->text($new[7]) ^ str_pad("\1", 300, "\0", STR_PAD_LEFT));
    $guest->set('key-9', $plan->text($short));
    $found = static function (int ...$expected) use ($guest, $plan): array {
        $plan->phases = [];
        $plan->phase(['operations' => ['get']], array_map(static fn (int $n, int $value): array => ['get', $n, $value], array_keys($expected), $expected));
        return of($guest->runPlan($plan)[0][0]['operations']['get'], 'hits', 'misses', 'wrong', 'truncated');
    };
    same($found(...array_slice($new, 0, 8)), [1, 1, 6, 2], 'the newest, a miss, and six that are wrong, two of them truncated');
    same($found($old[0], $old[1]), [2, 0, 0, 0], 'a value that came later than the expected one is right');
    same($found($new[0], $new[1]), [1, 0, 1, 0], 'one that came earlier is not');
    same($found(0, 0), [2, 0, 0, 0], 'where any is expected, every one of the key is right');
    same($found(0, 0, 0, 0), [2, 0, 2, 1], 'but none of another key, and no part of one');
    same($found(...array_fill(0, 9, 0), ...[$short]), [3, 2, 5, 2], 'a value without a header is right');
});

test('each way in which a value is wrong is told', static function () use ($guest, $plan, $new): void {
    $wrong = static function (int ...$expected) use ($guest, $plan): array {
        $plan->phases = [];
        $plan->phase(['operations' => ['get']], array_map(static fn (int $n, int $value): array => ['get', $n, $value], array_keys($expected), $expected));
        $get = $guest->runPlan($plan)[0][0]['operations']['get'];
        return [of($get, 'wrong', 'truncated', 'stale', 'other_key', 'damaged'), $get['wrong_examples']];
    };
    [$counts, $examples] = $wrong(...array_slice($new, 0, 8));
    same($counts, [6, 2, 1, 1, 2], "two cut short, an older one, another key's, one too long and one with a flipped bit");
    $told = array_map(static fn (array $of): array => of($of, 'key', 'value', 'length'), $examples);
    ksort($told);
    same($told, [
        'damaged' => [6, $new[6], 301],
        'other_key' => [3, $new[3], 300],
        'stale' => [1, $new[1], 200],
        'truncated' => [2, $new[2], 299],
    ], 'the first of each');
    same($examples['other_key']['begins'], bin2hex($plan->text($new[4])), 'with its bytes');
    $earlier = $plan->stranger(0, 77_777, 300);
    $guest->set('key-0', $earlier);
    $example = ['key' => 0, 'value' => $new[0], 'length' => 300, 'begins' => bin2hex($earlier)];
    same($wrong($new[0]), [[1, 0, 1, 0, 0], ['stale' => $example]], 'a value of an earlier round is stale');
    $guest->set('key-0', substr($plan->stranger(1, 77_777, 300), 0, 100));
    same($wrong($new[0])[0], [1, 0, 0, 1, 0], 'one of another key is so, cut short too');
    $guest->set('key-0', substr_replace($earlier, "\xff", 9, 1));
    same($wrong($new[0])[0], [1, 0, 0, 0, 1], 'one with a damaged header is damaged');
    $short = [$plan->value(8, 12), $plan->value(8, 12)];
    $guest->set('key-8', $plan->text($short[0]));
    same($wrong(...array_fill(0, 8, 0), ...[$short[1]])[0][2], 1, 'an older one without a header is stale');
    $guest->set('key-8', substr($plan->text($short[1]), 0, 5));
    same($wrong(...array_fill(0, 8, 0), ...[$short[1]])[0][1], 3, 'a part of one is truncated');
});

test('after a set that failed every value of the key is right', static function () use ($guest, $plan): void {
    $large = $plan->value(1, 1_900_000);
    $larger = $plan->value(1, 1_999_000);
    $plan->phases = [];
    $plan->phase(['operations' => ['set']], [['set', 2, $large], ['set', 1, $larger]]);
    $plan->phase(['operations' => ['get']], [['get', 1, $larger]]);
    $guest = new TestGuest('apcu', settings: ['apc.shm_size=1M']);
    [[$sets], [$gets]] = $guest->runPlan($plan);
    same($sets['failed'], [$large, $larger], 'the values that were not taken are named');
    same(of($sets['operations']['set'], 'ops', 'errors', 'succeeded', 'bytes'), [2, 2, 0, 0], 'each is an error');
    same($sets['operations']['set']['errors_by_kind'], ['too_large' => 2], 'with a kind');
    matches($sets['first_error'], '/apcu_store\(\) did not take/', 'in words');
    same($gets['operations']['get']['wrong'], 0, 'what is there is not called wrong');
});

test('what is there after a delete is wrong', static function () use ($guest, $plan): void {
    // A delete that the cache acknowledges, and one after which somebody brings the value back.
    [$gone, $back] = [$plan->value(4, 40), $plan->value(5, 40)];
    foreach ([1, 2] as $multiget) {
        $name = $multiget > 1 ? 'get_many' : 'get';
        $plan->phases = [];
        $deletes = [['set', 4, $gone], ['set', 5, $back], ['delete', 4], ['delete', 5]];
        $plan->phase(['operations' => ['set', 'delete']], $deletes);
        $gets = [['get', 4, NOTHING], ['get', 5, NOTHING]];
        $plan->phase(['operations' => [$name], 'multiget' => $multiget], $gets);
        $guest->ask('load ' . $plan->write());
        $guest->ask('run 0');
        $guest->set('key-5', $plan->text($back));
        $guest->ask('run 1');
        $get = $guest->result($plan, 1)[0]['operations'][$name];
        same(of($get, 'hits', 'misses', 'wrong', 'truncated', 'bytes'), [0, 1, 1, 0, 40], "in requests of $multiget");
        same($get['stale'], 1, 'it is stale');
        same(of($get, 'planned_misses', 'succeeded'), [1, 1], 'and what is gone is a right answer');
        same(array_sum(array_column($get['latencies'], 1)), 1, 'with a latency');
    }
});

foreach ([1, 2] as $processes) {
    test("after a delete that failed it is not, with $processes", static function () use ($processes): void {
        $kept = new TestPlan(folder(), ['stays'], $processes);
        $value = $kept->value(0, 40);
        $idle = array_fill(0, $processes - 1, []);
        $kept->phase(['operations' => ['set', 'delete']], [['set', 0, $value], ['delete', 0]], ...$idle);
        $kept->phase(['operations' => ['set', 'get']], [['set', 0, $value], ['get', 0, NOTHING]], ...$idle);
        $plan = Plan::read($kept->write());
        $judge = new Judge($plan);
        $cache = new Stubborn();
        foreach ([0, 1] as $number) {
            if ($processes > 1) {
                // What a child closes is not the test's own.
                [$input] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
                $protocol = new Protocol($input, fopen('/dev/null', 'w'));
                (new Processes($protocol, $plan, $cache, $judge, $number))->run(static function (): void {});
                continue;
            }
            $phase = new Phase($plan, $cache, $judge, $number, 0);
            $phase->run(static function (): void {});
            $phase->writeResult();
        }
        $get = Plan::readJson("$kept->folder/ran-1-0.json")['operations']['get'];
        same(of($get, 'hits', 'wrong'), [1, 0], 'what it should have deleted may be there');
    });
}

test('a fill that is refused is a miss that did not succeed', static function () use ($plan): void {
    $value = $plan->value(8, 1_900_000);
    $plan->phases = [];
    $plan->phase(['operations' => ['get_or_set']], [['get_or_set', 8, $value]]);
    [[$ran]] = (new TestGuest('apcu', settings: ['apc.shm_size=1M']))->runPlan($plan);
    $fill = $ran['operations']['get_or_set'];
    same(of($fill, 'ops', 'misses', 'errors', 'failed_fills', 'succeeded'), [1, 1, 0, 1, 0], 'and no error');
    same($ran['failed'], [$value], 'its value is named');
});

test('a fill goes where the plan says', static function () use ($guest, $plan): void {
    $value = $plan->value(0, 64);
    $plan->phases = [];
    $guest->delete('key-0');
    $guest->delete('key-1');
    $plan->phase(['operations' => ['get_or_set']], array_fill(0, 5, ['get_or_set', 0, $value, 1]));
    [[$ran]] = $guest->runPlan($plan);
    same($ran['operations']['get_or_set']['misses'], 5, 'a script that stores under the wrong key never hits');
    ok($guest->get('key-1') === $plan->text($value), 'and that key has the value');
});

test('where everything fails it gives up', static function () use ($plan): void {
    $value = $plan->value(3, 1_900_000);
    $plan->phases = [];
    $plan->phase(['operations' => ['set']], array_fill(0, 200, ['set', 3, $value]));
    $guest = new TestGuest('apcu', settings: ['apc.shm_size=1M']);
    $guest->ask('load ' . $plan->write());
    $answer = $guest->ask('run 0');
    same($answer['kind'], 'too_large', 'and says which kind of failure it was');
    matches($answer['error'], '/^gave up after 100 failures in a row: apcu_store\(\) did not take/', 'and how many');
});

test('a refusal is explained while the clock stands still', static function (): void {
    $slow = new class extends Cache {
        public static function opened(Order $order): Cache
        {
            return new self();
        }

        public function title(): string
        {
            return 'slow';
        }

        public function settings(): array
        {
            return [];
        }

        public function get(string $key): string|false
        {
            return false;
        }

        public function set(string $key, string $value, mixed $ttl): bool
        {
            return false;
        }

        public function delete(string $key): ?bool
        {
            return false;
        }

        public function refusal(string $key, string $value, mixed $trace): Larder\Failure
        {
            usleep(50_000);
            return new Larder\Failure('other', 'not today');
        }
    };
    $ten = new TestPlan(folder(), ['key']);
    $ten->phase(['operations' => ['set']], array_map(static fn (): array => ['set', 0, $ten->value(0, 50)], range(1, 10)));
    $plan = Plan::read($ten->write());
    $phase = new Phase($plan, $slow, new Judge($plan), 0, 0);
    $phase->run(static function (): void {});
    $phase->writeResult();
    $refused = Plan::readJson("$ten->folder/ran-0-0.json");
    same($refused['operations']['set']['errors_by_kind'], ['other' => 10], 'each is');
    ok($refused['wall_ns'] < 50_000_000, 'and takes no time', $refused['wall_ns']);
});
