<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Larder;
use PHPUnit\Framework\TestCase;

/** Processes that share stores: forked, killed, and all at once. */
final class ProcessesTest extends TestCase
{
    /** @return iterable<string, array{string}> */
    public static function kinds(): iterable
    {
        return StoreTest::kinds();
    }

    /** @return iterable<string, array{string}> */
    public static function shared(): iterable
    {
        foreach (['mmap', 'memcached', 'tiered'] as $kind) {
            yield $kind => [$kind];
        }
    }

    /** @dataProvider kinds */
    public function testAChildUsesTheStoreOfItsParent(string $kind): void
    {
        $cache = Place::open($kind);
        $cache->set('forked', 'parent');
        // All calls of both processes cross: an answer of the other process would be noticed.
        $work = static function (string $name) use ($cache): array {
            $found = [];
            for ($n = 0; $n < 200; $n++) {
                $cache->set("forked.$name", "$name $n");
                $found[] = $cache->get("forked.$name") === "$name $n" && $cache->get('forked') === 'parent';
            }
            return array_unique($found);
        };
        $child = Child::begin(static fn (): array => $work('child'));
        self::assertSame([true], $work('parent'));
        self::assertSame([true], $child->end());
        self::assertSame($kind === 'memory' ? null : 'child 199', $cache->get('forked.child'));
    }

    /** @dataProvider kinds */
    public function testWhatAChildClosesStaysOpenInItsParent(string $kind): void
    {
        $cache = Place::open($kind);
        $cache->set('closed', 'parent');
        $closes = static function () use (&$cache): bool {
            $cache->close();
            $cache = null;
            return true;
        };
        self::assertTrue(Child::begin($closes)->end());
        self::assertSame('parent', $cache->get('closed'));
        self::assertSame(['closed' => 'parent'], $cache->getMany(['closed', 'absent']));
    }

    /** @dataProvider shared */
    public function testEachCallMayBeTheFirstOfAChild(string $kind): void
    {
        $cache = Place::open($kind);
        $cache->set('first', 7);
        $calls = [
            'get' => static fn (): mixed => $cache->get('first'),
            'gets' => static fn (): mixed => $cache->gets('first')[0],
            'getMany' => static fn (): mixed => $cache->getMany(['first', 'absent'])['first'],
            'getOrLoad' => static fn (): mixed => $cache->getOrLoad('first', static fn (): int => 0),
            'lease' => static fn (): mixed => $cache->lease('first')->value,
            'touch' => static fn (): mixed => $cache->touch('first') ? 7 : 0,
            'setMany' => static fn (): mixed => $cache->setMany(['first' => 7]) === [] ? $cache->get('first') : 0,
            'stats' => static fn (): mixed => count($cache->stats()) > 3 ? 7 : 0,
        ];
        $cache->get('first');
        foreach ($calls as $name => $call) {
            self::assertSame(7, Child::begin($call)->end(), $name);
            self::assertSame(7, $cache->get('first'), "the parent after $name");
        }
    }

    /** @dataProvider shared */
    public function testOneOfManyProcessesLoads(string $kind): void
    {
        $url = Place::url($kind);
        $ran = Place::folder() . "/ran-$kind";
        $loads = static fn (): mixed => Larder::open($url)->getOrLoad('loaded', static function () use ($ran): array {
            file_put_contents($ran, 'x', FILE_APPEND);
            // The others come while this one loads.
            usleep(300_000);
            return ['page' => 'text'];
        }, 60);
        $children = array_map(static fn (): Child => Child::begin($loads), range(1, 6));
        foreach ($children as $child) {
            self::assertSame(['page' => 'text'], $child->end());
        }
        self::assertSame('x', file_get_contents($ran), 'one loader has run');
    }

    /** @dataProvider shared */
    public function testAKilledLoaderHoldsUpNobodyForLong(string $kind): void
    {
        $cache = Place::open($kind);
        $key = 'killed';
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $child = Child::begin(static function () use ($cache, $key, $theirs): void {
            $cache->lease($key, 1.0);
            fwrite($theirs, 'leased');
            sleep(600);
        });
        self::assertSame('leased', fread($ours, 6));
        self::assertFalse($cache->lease($key, 1.0)->mustLoad(), 'the child loads');
        $child->kill();
        self::assertSame('mine', $cache->getOrLoad($key, static fn (): string => 'mine', 60, 30.0));
        // The lease was over, so this value was stored.
        self::assertSame('mine', $cache->get($key));
    }

    public function testWritersThatAreKilledLeaveTheFileInOrder(): void
    {
        $url = Place::url('mmap');
        $cache = Larder::open($url);
        for ($round = 0; $round < 8; $round++) {
            [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
            $child = Child::begin(static function () use ($url, $theirs): void {
                $own = Larder::open($url);
                for ($n = 0;; $n++) {
                    $own->set('written.' . $n % 50, str_repeat(chr(65 + $n % 26), 100 + 20 * ($n % 50)));
                    if ($n === 200) {
                        fwrite($theirs, 'writes');
                    }
                }
            });
            self::assertSame('writes', fread($ours, 6));
            usleep(random_int(0, 3_000));
            $child->kill();
            for ($n = 0; $n < 50; $n++) {
                $value = $cache->get("written.$n");
                self::assertTrue($value === null || $value === str_repeat($value[0], 100 + 20 * $n), 'no value is torn');
                $cache->set("written.$n", 'x');
                self::assertSame('x', $cache->get("written.$n"));
            }
        }
    }

    public function testAKeptStoreIsOpenedOnceForAProcess(): void
    {
        // Another store in memory would be empty.
        $own = Larder::open('memory:?size=1m', kept: true);
        $own->set('kept', 1);
        $own->close();
        self::assertSame(1, Larder::open('memory:?size=1m', kept: true)->get('kept'), 'for the next request');
        self::assertNull(Larder::open('memory:?size=1m', kept: false)->get('kept'));

        $url = Place::url('memcached');
        $second = Larder::open($url, kept: true);
        $second->set('kept', 1);
        $own = Child::begin(static function () use ($second, $url): array {
            return [$second->get('kept'), Larder::open($url, kept: true)->get('kept')];
        });
        self::assertSame([1, 1], $own->end(), 'a child opens its own');
        self::assertSame(1, $second->get('kept'));
    }
}
