<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Handles;
use Larder\Larder;
use Larder\Library;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use Larder\Store;
use Larder\Ttl;
use Larder\UsageError;
use PHPUnit\Framework\TestCase;

/** The TTL of each call, as the store has it. */
final class TimesTest extends TestCase
{
    private const SECONDS = 100;

    /** @return iterable<string, array{\Closure(Store): mixed}> */
    public static function writes(): iterable
    {
        $ttl = self::SECONDS;
        yield 'set' => [static fn (Store $cache) => $cache->set('key', 1, $ttl)];
        yield 'add' => [static fn (Store $cache) => $cache->delete('key') && $cache->add('key', 1, $ttl)];
        yield 'replace' => [static fn (Store $cache) => $cache->replace('key', 1, $ttl)];
        yield 'cas' => [static fn (Store $cache) => $cache->cas('key', 1, $cache->gets('key')[1], $ttl)];
        yield 'touch' => [static fn (Store $cache) => $cache->touch('key', $ttl)];
        yield 'expire' => [static fn (Store $cache) => $cache->expire('key', $ttl)];
        yield 'setMany' => [static fn (Store $cache) => $cache->setMany(['other' => 1, 'key' => 1], $ttl)];
        yield 'incr' => [static fn (Store $cache) => $cache->delete('key') && $cache->incr('key', 1, 5, $ttl)];
        yield 'decr' => [static fn (Store $cache) => $cache->delete('key') && $cache->decr('key', 1, 5, $ttl)];
        yield 'fill' => [static fn (Store $cache) => $cache->delete('key') && $cache->fill($cache->lease('key'), 1, $ttl)];
        $loads = static fn (Store $cache) => $cache->delete('key') && $cache->getOrLoad('key', static fn (): int => 1, $ttl);
        yield 'getOrLoad' => [$loads];
        $loader = static fn (): array => ['key' => 1];
        yield 'getOrLoadMany' => [
            static fn (Store $cache) => $cache->delete('key') && $cache->getOrLoadMany(['key'], $loader, $ttl),
        ];
        yield 'PSR-16' => [static fn (Store $cache) => (new SimpleCache($cache))->set('key', 1, $ttl)];
        yield 'PSR-16 by default' => [static fn (Store $cache) => (new SimpleCache($cache, $ttl))->set('key', 1)];
        yield 'PSR-16, many' => [static fn (Store $cache) => (new SimpleCache($cache))->setMultiple(['key' => 1], $ttl)];
        yield 'PSR-6' => [static function (Store $cache) use ($ttl): void {
            $pool = new CacheItemPool($cache);
            $pool->save($pool->getItem('key')->set(1)->expiresAfter($ttl));
        }];
        yield 'PSR-6 by default' => [static function (Store $cache) use ($ttl): void {
            $pool = new CacheItemPool($cache, $ttl);
            $pool->save($pool->getItem('key')->set(1));
        }];
    }

    /**
     * @dataProvider writes
     * @param \Closure(Store): mixed $write
     */
    public function testTheTtlReachesTheStore(\Closure $write): void
    {
        $url = Place::url('mmap');
        $cache = Larder::open($url, Place::serializer());
        $cache->set('key', 1);
        self::assertSame(-1, self::restOf($url), 'for ever');
        $write($cache);
        self::assertEqualsWithDelta(self::SECONDS * 1_000, self::restOf($url), 20_000);
    }

    public function testANumberKeepsItsTtl(): void
    {
        $url = Place::url('mmap');
        $cache = Larder::open($url);
        $cache->set('key', 1, self::SECONDS);
        self::assertSame([3, 2], [$cache->incr('key', 2, 9), $cache->decr('key', 1, 9)]);
        self::assertSame(2, $cache->get('key'), 'with its mark');
        self::assertEqualsWithDelta(self::SECONDS * 1_000, self::restOf($url), 20_000);
    }

    public function testPartsOfSeconds(): void
    {
        self::assertSame([0, 1, 1_500, 7_000], array_map(Ttl::ms(...), [0, 0.0001, 1.5, 7]));
        $interval = new \DateInterval('PT1S');
        $interval->f = 0.6;
        for ($n = 0; $n < 20; $n++) {
            self::assertEqualsWithDelta(1_600, Ttl::ms($interval), 1, 'at each part of a second');
            usleep(30_000);
        }
    }

    public function testTimesThatAreNone(): void
    {
        $limit = intdiv(PHP_INT_MAX, 1_000);
        self::assertSame($limit * 1_000, Ttl::ms($limit));
        $past = new \DateInterval('PT1H');
        $past->invert = 1;
        foreach ([-1, -0.001, $limit + 1, (float) $limit, PHP_INT_MAX, INF, -INF, NAN, $past] as $ttl) {
            try {
                Ttl::ms($ttl);
                self::fail(var_export($ttl, true) . ' is a TTL');
            } catch (UsageError $error) {
                self::assertStringContainsString("write seconds from 0 to $limit", $error->getMessage());
            }
        }
    }

    private static function restOf(string $url): int
    {
        $meta = Library::get()->new('larder_meta');
        (new Handles(Library::get(), $url, false))->call('larder_get', 'key', 3, null, 0, null, \FFI::addr($meta));
        return $meta->ttl_ms;
    }
}
