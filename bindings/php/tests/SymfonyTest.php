<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Json;
use Larder\Larder;
use Larder\SignedSerialize;
use Larder\Symfony\LarderAdapter;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Cache\Adapter\TagAwareAdapter;
use Symfony\Component\Cache\Marshaller\DefaultMarshaller;
use Symfony\Component\Cache\Marshaller\SodiumMarshaller;
use Symfony\Contracts\Cache\ItemInterface;

/** The adapter by Symfony's contracts, on every kind of store. */
final class SymfonyTest extends TestCase
{
    /** @dataProvider \Larder\Tests\StoreTest::kinds */
    public function testTheContractOfACache(string $kind): void
    {
        $cache = new LarderAdapter(Place::signed($kind), 'contract');
        $ran = 0;
        $callback = static function (ItemInterface $item) use (&$ran): \ArrayObject {
            $item->expiresAfter(60);
            return new \ArrayObject([++$ran]);
        };
        self::assertEquals(new \ArrayObject([1]), $cache->get('page', $callback, null, $metadata));
        self::assertEquals(new \ArrayObject([1]), $cache->get('page', $callback, null, $metadata));
        self::assertEqualsWithDelta(time() + 60, $metadata[ItemInterface::METADATA_EXPIRY], 10);
        self::assertEquals(new \ArrayObject([2]), $cache->get('page', $callback, INF), 'a beta of INF loads anew');
        self::assertTrue($cache->delete('page'));
        self::assertEquals(new \ArrayObject([3]), $cache->get('page', $callback));
    }

    /** @dataProvider \Larder\Tests\StoreTest::kinds */
    public function testAClearOfANamespaceLeavesTheOthers(string $kind): void
    {
        $store = Place::signed($kind);
        [$one, $other] = [new LarderAdapter($store, 'one'), new LarderAdapter($store, 'other')];
        foreach ([$one, $other] as $cache) {
            $cache->get('key', static fn (): string => 'value');
        }
        self::assertTrue($one->clear());
        self::assertFalse($one->hasItem('key'));
        self::assertTrue($other->hasItem('key'));
        $anew = new LarderAdapter($store, 'one');
        self::assertFalse($anew->hasItem('key'), 'another request finds the new version');
    }

    /** @dataProvider \Larder\Tests\StoreTest::kinds */
    public function testTags(string $kind): void
    {
        $cache = new TagAwareAdapter(new LarderAdapter(Place::signed($kind), 'tagged'), null, 0.0);
        $long = str_repeat('k', 300);
        foreach (['a' => ['red', 'round'], $long => ['red'], 'c' => ['blue']] as $key => $tags) {
            $cache->get($key, static function (ItemInterface $item) use ($key, $tags): string {
                $item->tag($tags);
                return $key;
            });
        }
        self::assertSame([true, true, true], array_map($cache->hasItem(...), ['a', $long, 'c']));
        self::assertTrue($cache->invalidateTags(['red']));
        self::assertSame([false, false, true], array_map($cache->hasItem(...), ['a', $long, 'c']));
    }

    public function testAMarshallerReplacesTheSerializer(): void
    {
        $url = Place::url('mmap');
        $marshaller = new SodiumMarshaller([sodium_crypto_box_keypair()], new DefaultMarshaller());
        $cache = new LarderAdapter(Larder::open($url, new Json()), '', 0, $marshaller);
        $cache->get('key', static fn (): \ArrayObject => new \ArrayObject([1]));
        self::assertEquals(new \ArrayObject([1]), $cache->getItem('key')->get());
        $this->expectExceptionMessage('open the store with a SignedSerialize');
        new LarderAdapter(Larder::open($url));
    }

    public function testIdsThatMemcachedDoesNotTake(): void
    {
        $cache = new LarderAdapter(Place::signed('memcached'));
        foreach (['with a space', str_repeat('k', 300), "tab\tkey"] as $key) {
            self::assertTrue($cache->save($cache->getItem($key)->set($key)));
            self::assertSame($key, $cache->getItem($key)->get());
            self::assertTrue($cache->deleteItem($key));
            self::assertFalse($cache->hasItem($key));
        }
    }
}
