<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Error;
use Larder\Larder;
use Larder\Serializer;
use Larder\SignedSerialize;
use Larder\UsageError;
use PHPUnit\Framework\TestCase;

/** Values that are loaded where they are absent, and leases. */
final class LoadTest extends TestCase
{
    /** @return iterable<string, array{string}> */
    public static function kinds(): iterable
    {
        return StoreTest::kinds();
    }

    /** @dataProvider kinds */
    public function testAnAbsentValueIsLoadedOnce(string $kind): void
    {
        $cache = Place::open($kind);
        $ran = 0;
        $loader = static function () use (&$ran): array {
            return ['load' => ++$ran];
        };
        self::assertSame(['load' => 1], $cache->getOrLoad('load', $loader, 60));
        self::assertSame(['load' => 1], $cache->getOrLoad('load', $loader, 60));
        self::assertSame(['load' => 1], $cache->get('load'));
        $long = str_repeat('long', 100_000);
        self::assertSame($long, $cache->getOrLoad('load.long', static fn (): string => $long));
        self::assertSame($long, $cache->getOrLoad('load.long', static fn (): string => 'another'));
        $cache->getOrLoad('load.null', static fn (): mixed => null);
        self::assertTrue($cache->has('load.null'), 'null is a value too');
    }

    /** @dataProvider kinds */
    public function testALoaderThatFailsLeavesNothing(string $kind): void
    {
        $cache = Place::open($kind);
        try {
            $cache->getOrLoad('fails', static fn () => throw new \DomainException('not today'));
            self::fail('the loader has failed');
        } catch (\DomainException $caught) {
            self::assertSame('not today', $caught->getMessage());
        }
        // The lease is released, so nobody waits for it.
        $lease = $cache->lease('fails');
        self::assertTrue($lease->mustLoad());
        $cache->release($lease);
        try {
            $cache->getOrLoad('fails', static fn (): \stdClass => new \stdClass());
            self::fail('JSON takes no object');
        } catch (UsageError) {
            self::assertTrue($cache->lease('fails')->mustLoad());
        }
    }

    /** @dataProvider kinds */
    public function testAWrongTimeIsToldBeforeTheLoaderWorks(string $kind): void
    {
        $cache = Place::open($kind);
        $loader = static fn (): array => self::fail('the loader works');
        $calls = [
            'ttl is -1' => static fn (): mixed => $cache->getOrLoad('timed', $loader, -1),
            'ttl is INF' => static fn (): mixed => $cache->getOrLoadMany(['timed', 'timed.too'], $loader, INF),
            'wait is NAN' => static fn (): mixed => $cache->getOrLoad('timed', $loader, 60, NAN),
            'wait is -0.5' => static fn (): mixed => $cache->getOrLoad('timed', $loader, 60, -0.5),
            'early is -1' => static fn (): mixed => $cache->lease('timed', 1.0, -1),
        ];
        foreach ($calls as $told => $call) {
            try {
                $call();
                self::fail($told);
            } catch (UsageError $error) {
                self::assertStringStartsWith($told, $error->getMessage());
            }
        }
        self::assertTrue($cache->lease('timed')->mustLoad(), 'no lease is left');
    }

    public function testAWaitMayBeEndless(): void
    {
        $url = Place::url('mmap');
        $cache = Larder::open($url);
        $lease = $cache->lease('endless');
        $child = Child::begin(static fn (): mixed => Larder::open($url)->getOrLoad('endless', static fn () => 'own', 60, INF));
        usleep(200_000);
        $cache->fill($lease, 'of the loader');
        self::assertSame('of the loader', $child->end());
    }

    public function testAValueThatCannotBeReadLeavesNoLease(): void
    {
        $url = Place::url('mmap');
        $theirs = Larder::open($url, new SignedSerialize('the secret of somebody else'));
        $theirs->set('unread', [1], 600);
        $theirs->expire('unread', 300);
        try {
            Larder::open($url, Place::serializer())->lease('unread', 600.0);
            self::fail('the value was read');
        } catch (Error $error) {
            self::assertSame('signature', $error->kind);
        }
        self::assertTrue($theirs->lease('unread')->mustLoad());
    }

    public function testAnySerializerMayFail(): void
    {
        $cache = Place::open('mmap', new class implements Serializer {
            public function flags(): int
            {
                return 512;
            }

            public function dump(mixed $value): string
            {
                throw new \DomainException('not this one');
            }

            public function load(string $data, int $flags): mixed
            {
                return null;
            }
        });
        try {
            $cache->getOrLoad('refused', static fn (): array => []);
            self::fail('the value was stored');
        } catch (\DomainException) {
            self::assertTrue($cache->lease('refused')->mustLoad(), 'no lease is left');
        }
    }

    public function testAStoreThatDoesNotTakeTheValuesKeepsThemFromNobody(): void
    {
        $values = ['a' => 'A', 'b' => 'B'];
        $away = Larder::open('memcached://127.0.0.1:1');
        self::assertSame($values, $away->getOrLoadMany(['a', 'b'], static fn (): array => $values));
        $large = ['large' => str_repeat('x', 10 << 20)];
        $cache = Place::open('memory');
        self::assertSame($large, $cache->getOrLoadMany(['large'], static fn (): array => $large));
        self::assertSame($large['large'], $cache->getOrLoad('large', static fn (): string => $large['large']));
        self::assertTrue($cache->lease('large')->mustLoad(), 'no lease is left');
    }

    /** @dataProvider kinds */
    public function testAnExpiredValueIsUsedUntilItIsLoaded(string $kind): void
    {
        $cache = Place::open($kind);
        self::assertFalse($cache->expire('expired.absent'));
        $cache->set('expired', 'old', 600);
        self::assertTrue($cache->expire('expired', 300));
        $lease = $cache->lease('expired', 600.0);
        self::assertTrue($lease->mustLoad() && $lease->isStale());
        self::assertSame('old', $lease->value);
        self::assertSame('old', $cache->getOrLoad('expired', static fn (): string => 'not now'), 'another caller loads');
        self::assertTrue($cache->fill($lease, 'new', 60));
        self::assertSame('new', $cache->getOrLoad('expired', static fn (): string => 'not now'));

        $cache->expire('expired', 300);
        $fails = static fn () => throw new \DomainException('not today');
        self::assertSame('new', $cache->getOrLoad('expired', $fails), 'the older value, where the loader fails');
        self::assertSame('newer', $cache->getOrLoad('expired', static fn (): string => 'newer', 60));
    }

    /** @dataProvider kinds */
    public function testLeases(string $kind): void
    {
        $cache = Place::open($kind);
        $lease = $cache->lease('leased', 600.0);
        self::assertTrue($lease->mustLoad());
        self::assertFalse($lease->isHit() || $lease->isStale());
        $waits = $cache->lease('leased', 600.0);
        self::assertFalse($waits->mustLoad() || $waits->isHit());
        self::assertTrue($cache->release($lease));
        self::assertFalse($cache->release($lease));
        $second = $cache->lease('leased', 600.0);
        self::assertTrue($second->mustLoad());
        self::assertFalse($cache->fill($lease, 'of an ended lease'));
        $cache->set('leased', 'of a writer');
        self::assertFalse($cache->fill($second, 'older than the write'));
        self::assertSame('of a writer', $cache->lease('leased')->value);
        $this->expectException(UsageError::class);
        $cache->fill($waits, 'without a right');
    }

    /** @dataProvider kinds */
    public function testAWaitHasAnEnd(string $kind): void
    {
        $cache = Place::open($kind);
        $lease = $cache->lease('slow', 600.0);
        self::assertSame('own', $cache->getOrLoad('slow', static fn (): string => 'own', 60, 0.05));
        self::assertNull($cache->get('slow'), 'the caller that did not wait stores nothing');
        self::assertTrue($cache->fill($lease, 'of the loader'));
    }

    /** @dataProvider kinds */
    public function testAValueIsLoadedBeforeItsEnd(string $kind): void
    {
        $cache = Place::open($kind);
        $cache->set('early', 'old', 600);
        $new = static fn (): string => 'new';
        self::assertSame('old', $cache->getOrLoad('early', $new, 600, early: 10));
        self::assertSame('new', $cache->getOrLoad('early', $new, 6_000, early: 1_200));
        self::assertSame('new', $cache->get('early'));
    }

    /** @dataProvider kinds */
    public function testManyAreLoadedTogether(string $kind): void
    {
        $cache = Place::open($kind);
        $cache->set('together.1', 'one');
        $asked = [];
        $loader = static function (array $keys) use (&$asked): array {
            $asked[] = $keys;
            return ['together.2' => 'two', '33' => 'three'];
        };
        $keys = ['together.1', 'together.2', '33', 'together.none', '33'];
        $expected = ['together.1' => 'one', 'together.2' => 'two', '33' => 'three'];
        self::assertEquals($expected, $cache->getOrLoadMany($keys, $loader, 60));
        self::assertSame([['together.2', '33', 'together.none']], $asked);
        self::assertEquals($expected, $cache->getMany($keys));
        $cache->delete('33');
    }
}
