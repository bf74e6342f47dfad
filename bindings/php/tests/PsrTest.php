<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Json;
use Larder\Larder;
use Larder\Psr\CacheItem;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use Larder\SignedSerialize;
use Larder\Store;
use Larder\UsageError;
use PHPUnit\Framework\TestCase;
use Psr\Log\AbstractLogger;
use Psr\Log\LoggerInterface;

/** What the published suites do not ask of the caches of PSR-6 and PSR-16. */
final class PsrTest extends TestCase
{
    /** The signatures of both standards in their version 3; version 1 has no types, and version 2 those of parameters. */
    private const SIGNATURES = [
        SimpleCache::class => [
            'get' => 'mixed', 'set' => 'bool', 'delete' => 'bool', 'clear' => 'bool', 'getMultiple' => 'iterable',
            'setMultiple' => 'bool', 'deleteMultiple' => 'bool', 'has' => 'bool',
        ],
        CacheItemPool::class => [
            'getItem' => 'Psr\Cache\CacheItemInterface', 'getItems' => 'iterable', 'hasItem' => 'bool', 'clear' => 'bool',
            'deleteItem' => 'bool', 'deleteItems' => 'bool', 'save' => 'bool', 'saveDeferred' => 'bool', 'commit' => 'bool',
        ],
        CacheItem::class => [
            'getKey' => 'string', 'get' => 'mixed', 'isHit' => 'bool', 'set' => 'static', 'expiresAt' => 'static',
            'expiresAfter' => 'static',
        ],
    ];

    public function testTheSignaturesSuitEveryVersion(): void
    {
        foreach (self::SIGNATURES as $class => $methods) {
            foreach ($methods as $name => $returns) {
                $method = new \ReflectionMethod($class, $name);
                self::assertSame($returns, (string) $method->getReturnType(), "$class::$name");
                foreach ($method->getParameters() as $parameter) {
                    // A parameter without a type suits every type. The types here are those of version 1.
                    $type = (string) $parameter->getType();
                    self::assertContains($type, ['', 'array', 'Psr\Cache\CacheItemInterface'], "$class::$name");
                }
            }
        }
    }

    public function testAStoreOfJsonIsRefused(): void
    {
        $cache = Place::open('memory', new Json());
        foreach ([SimpleCache::class, CacheItemPool::class] as $class) {
            try {
                new $class($cache);
                self::fail("$class takes JSON");
            } catch (UsageError $error) {
                self::assertStringContainsString('open the store with a SignedSerialize', $error->getMessage());
            }
        }
    }

    /** @dataProvider \Larder\Tests\StoreTest::kinds */
    public function testEveryKindOfStore(string $kind): void
    {
        $store = Place::signed($kind);
        $simple = new SimpleCache($store, 60);
        $long = str_repeat('k', 300);
        $values = ['object' => new \ArrayObject([1]), 'null' => null, 'with a space' => 'x', $long => 1.5, '17' => 'seventeen'];
        self::assertTrue($simple->setMultiple($values));
        $keys = array_map(strval(...), array_keys($values));
        self::assertEquals($values + ['none' => 'absent'], $simple->getMultiple([...$keys, 'none'], 'absent'));
        self::assertTrue($simple->has($long) && $simple->has('null'));
        self::assertTrue($simple->deleteMultiple([$long, 'with a space']));
        self::assertFalse($simple->has($long));
        // memcached may have entries of others, which a clear would remove.
        self::assertSame(in_array($kind, ['memory', 'mmap'], true), $simple->clear());

        $pool = new CacheItemPool($store, 60);
        self::assertTrue($pool->save($pool->getItem($long)->set(new \ArrayObject([2]))));
        self::assertEquals(new \ArrayObject([2]), $pool->getItem($long)->get());
        $pool->saveDeferred($pool->getItem('later')->set(null)->expiresAfter(30));
        self::assertTrue($pool->getItem('later')->isHit());
        unset($pool);
        gc_collect_cycles();
        self::assertTrue((new CacheItemPool($store))->getItem('later')->isHit(), 'what is deferred is saved at the end');
    }

    public function testAFailureIsAMissAndAWarning(): void
    {
        $log = self::log();
        $store = Larder::open('memcached://127.0.0.1:1', Place::serializer());
        $simple = new SimpleCache($store, null, $log);
        self::assertSame('default', $simple->get('key', 'default'));
        self::assertFalse($simple->set('key', 1));
        self::assertSame(['key' => null], $simple->getMultiple(['key']));
        self::assertCount(3, $log->said);
        self::assertStringContainsString('127.0.0.1:1', $log->said[0]);
        $pool = new CacheItemPool($store, null, $log);
        self::assertFalse($pool->getItem('key')->isHit());
        self::assertFalse($pool->save($pool->getItem('key')->set(1)));
    }

    public function testAValueOfAnotherSignatureIsAMissAndKeepsNoOtherOut(): void
    {
        $url = Place::url('mmap');
        Larder::open($url, new SignedSerialize('the secret of somebody else'))->set('theirs', [1]);
        $store = Larder::open($url, Place::serializer());
        $store->set('mine', [2]);
        $expected = ['theirs' => null, 'mine' => [2]];
        self::assertSame($expected, (new SimpleCache($store))->getMultiple(['theirs', 'mine']));
        $items = (new CacheItemPool($store))->getItems(['theirs', 'mine']);
        self::assertSame([false, true], [$items['theirs']->isHit(), $items['mine']->isHit()]);
        $adapter = new \Larder\Symfony\LarderAdapter($store);
        self::assertInstanceOf(Store::class, $store);
        self::assertFalse($adapter->getItem('theirs')->isHit());
    }

    public function testAClassThatCannotBeReadIsAMiss(): void
    {
        $store = Place::signed('memory');
        $store->set('changed', new Changed());
        self::assertSame('default', (new SimpleCache($store))->get('changed', 'default'));
        self::assertFalse((new CacheItemPool($store))->getItem('changed')->isHit());
    }

    /** A log that keeps its lines. */
    private static function log(): LoggerInterface
    {
        return new class extends AbstractLogger {
            /** @var list<string> */
            public array $said = [];

            public function log($level, $message, array $context = []): void
            {
                $this->said[] = strtr((string) $message, ['{error}' => $context['error']]);
            }
        };
    }
}
