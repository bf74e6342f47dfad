<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Handles;
use Larder\Larder;
use Larder\Serializer;
use Larder\Store;
use PHPUnit\Framework\TestCase;

/** Calls in the middle of another call of the same store. */
final class ReentryTest extends TestCase
{
    /** The signals that come while a verb is called: enough for many wrong values where a look is left out. */
    private const SIGNALS = 300;

    /** @return iterable<string, array{string, \Closure(Store): mixed}> */
    public static function reads(): iterable
    {
        $keys = array_map(static fn (int $n): string => "key$n", range(0, 19));
        foreach (['mmap', 'memory'] as $kind) {
            yield "get, $kind" => [$kind, static fn (Store $cache): mixed => $cache->get('key7')];
            yield "get of a long value, $kind" => [$kind, static fn (Store $cache): mixed => $cache->get('long')[0]];
            yield "gets, $kind" => [$kind, static fn (Store $cache): mixed => $cache->gets('key7')[0]];
            yield "getMany, $kind" => [$kind, static fn (Store $cache): mixed => $cache->getMany($keys)];
            $loads = static fn (Store $cache): mixed => $cache->getOrLoad('key7', static fn (): int => 0);
            yield "getOrLoad, $kind" => [$kind, $loads];
            yield "lease, $kind" => [$kind, static fn (Store $cache): mixed => $cache->lease('key7')->value];
            yield "lease of an older value, $kind" => [$kind, static function (Store $cache): mixed {
                $lease = $cache->lease('older');
                $isReleased = !$lease->mustLoad() || $cache->release($lease);
                return $isReleased ? $lease->value : 'not released';
            }];
        }
    }

    /**
     * @dataProvider reads
     * @param \Closure(Store): mixed $read
     */
    public function testASignalHandlerMayUseTheStore(string $kind, \Closure $read): void
    {
        $cache = Place::open($kind);
        for ($n = 0; $n < 20; $n++) {
            $cache->set("key$n", str_repeat(chr(65 + $n), 100 + $n));
        }
        $cache->set('long', str_repeat('L', 40_000));
        $cache->set('older', 'an older value', 600);
        $cache->expire('older', 300);
        $expected = $read($cache);
        $cache->set('other', 'of the handler');
        $handled = 0;
        $isAsync = pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, static function () use ($cache, &$handled): void {
            $handled++;
            $cache->get('other');
            $cache->getMany(['other', 'key1']);
        });
        $parent = getmypid();
        $child = Child::begin(static function () use ($parent): void {
            pcntl_async_signals(false);
            while (posix_kill($parent, SIGUSR1)) {
                usleep(50);
            }
        });
        try {
            $wrong = 0;
            $deadline = microtime(true) + 10;
            while ($handled < self::SIGNALS && microtime(true) < $deadline) {
                $wrong += $read($cache) === $expected ? 0 : 1;
            }
        } finally {
            $child->kill();
            pcntl_signal(SIGUSR1, SIG_DFL);
            pcntl_async_signals($isAsync);
        }
        self::assertGreaterThan(0, $handled);
        self::assertSame(0, $wrong);
    }

    public function testASerializerMayUseTheStore(): void
    {
        $serializer = new class implements Serializer {
            public ?Store $cache = null;

            public function flags(): int
            {
                return 512;
            }

            public function dump(mixed $value): string
            {
                $this->cache?->getMany(['x', 'y']);
                return serialize($value);
            }

            public function load(string $data, int $flags): mixed
            {
                $this->cache?->getMany(['x', 'y']);
                $this->cache?->set('z', 'a text of the serializer');
                return unserialize($data);
            }
        };
        $cache = Place::open('mmap', $serializer);
        $cache->setMany(['x' => 'X', 'y' => 'Y']);
        $serializer->cache = $cache;
        $values = ['a' => [1], 'b' => [2, 3], 'c' => [4]];
        self::assertSame([], $cache->setMany($values));
        self::assertSame($values, $cache->getMany(array_keys($values)));
        foreach ($values as $key => $value) {
            self::assertSame($value, $cache->gets($key)[0]);
            self::assertSame($value, $cache->lease($key)->value);
        }
        $serializer->cache = null;
    }

    public function testADestructorMayUseTheStore(): void
    {
        $cache = Place::signed('mmap');
        $pool = new \Larder\Psr\CacheItemPool($cache);
        $pool->saveDeferred($pool->getItem('late')->set([1]));
        $cache->set('value', [2]);
        $loader = static function () use (&$pool): array {
            $pool = null;
            return [3];
        };
        self::assertSame([3], $cache->getOrLoad('loaded', $loader));
        self::assertSame(['late' => [1], 'loaded' => [3]], $cache->getMany(['late', 'loaded']));
    }

    public function testStoresThatAreKeptTogetherMayUseEachOther(): void
    {
        [$url, $serializer] = ['memory:?size=3m', Place::serializer()];
        [$one, $other] = [Larder::open($url, $serializer, true), Larder::open($url, $serializer, true)];
        $one->set('long', str_repeat('L', 3 << 18));
        $before = Handles::$turn;
        self::assertSame(str_repeat('L', 3 << 18), $other->get('long'));
        self::assertGreaterThan($before, Handles::$turn, 'they share a session, and so the number of its calls');
        self::assertSame(str_repeat('L', 3 << 18), $one->get('long'));
    }

    public function testAStoreHasNoCopies(): void
    {
        // Each would read from the other's place.
        $this->expectException(\Error::class);
        clone Place::open('memory');
    }
}
