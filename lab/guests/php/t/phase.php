<?php

declare(strict_types=1);

use LarderGuest\Cache;
use LarderGuest\Judge;
use LarderGuest\Order;
use LarderGuest\Phase;
use LarderGuest\Plan;
use LarderGuest\Processes;
use LarderGuest\Protocol;

require __DIR__ . '/lib/harness.php';

const NOTHING = 0xFFFF_FFFF;

/** A cache that keeps its values and does not delete. */
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
        $this->of[$key] = $value;
        return true;
    }

    public function delete(string $key): ?bool
    {
        return null;
    }
}

foreach ([1, 2] as $processes) {
    test("after a delete that failed a hit is right, with $processes processes", static function () use ($processes): void {
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
                // The child closes this socket, and no socket of the test's own.
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

        public function refusal(string $key, string $value, mixed $trace): LarderGuest\Failure
        {
            usleep(50_000);
            return new LarderGuest\Failure('other', 'not today');
        }
    };
    $ten = new TestPlan(folder(), ['key']);
    $ten->phase(['operations' => ['set']], array_map(static fn (): array => ['set', 0, $ten->value(0, 50)], range(1, 10)));
    $plan = Plan::read($ten->write());
    $phase = new Phase($plan, $slow, new Judge($plan), 0, 0);
    $began = hrtime(true);
    $phase->run(static function (): void {});
    $tookNs = hrtime(true) - $began;
    $phase->writeResult();
    $refused = Plan::readJson("$ten->folder/ran-0-0.json");
    same($refused['operations']['set']['errors_by_kind'], ['other' => 10], 'each is');
    ok($refused['wall_ns'] <= $tookNs - 10 * 50_000_000, 'while the clock stands still', [$refused['wall_ns'], $tookNs]);
});
