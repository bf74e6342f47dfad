<?php

declare(strict_types=1);

use LarderGuest\Cache;
use LarderGuest\Order;
use LarderGuest\Phase;
use LarderGuest\Plan;

require __DIR__ . '/lib/harness.php';

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
    $ten->phase([], array_map(static fn (): array => ['set', 0, $ten->value(0, 50)], range(1, 10)));
    $plan = Plan::read($ten->write());
    $records = new TestRecords($ten, 0);
    $phase = new Phase($plan, $slow, 0, 0);
    $began = hrtime(true);
    $phase->run(static function (): void {});
    $tookNs = hrtime(true) - $began;
    [$refused] = $records->counts();
    same($refused['operations']['set']['errors_by_kind'], ['other' => 10], 'each is');
    ok($refused['wall_ns'] <= $tookNs - 10 * 50_000_000, 'while the clock stands still', [$refused['wall_ns'], $tookNs]);
});

test('of many other values only the beginning is sent', static function (): void {
    $plan = new TestPlan(folder(), ['set', 'other']);
    [$set, $other] = [$plan->value(0, 400_000), $plan->value(1, 400_000)];
    $plan->phase([], [['set', 0, $set], ...array_fill(0, 60, ['get', 1, $other])]);
    [[$ran]] = (new TestGuest('null'))->runPlan($plan);
    same($ran['operations']['get']['wrong'], 60, 'each value is another');
    same(array_unique(array_column($ran['notes'], 1)), [400_000], 'each has its length');
    $lengths = array_map(strlen(...), array_column($ran['notes'], 2));
    same($lengths, [...array_fill(0, 41, 400_000), ...array_fill(0, 19, 64)], 'the first 16 MiB are whole');
});
