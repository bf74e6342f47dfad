<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Error;
use Larder\Larder;
use Larder\RefusedError;
use Larder\Store;
use Larder\UnavailableError;
use Larder\UnsupportedError;
use Larder\UsageError;
use PHPUnit\Framework\TestCase;

/** Every verb on every kind of store. */
final class StoreTest extends TestCase
{
    /** @return iterable<string, array{string}> */
    public static function kinds(): iterable
    {
        foreach (Place::KINDS as $kind) {
            yield $kind => [$kind];
        }
    }

    /** @dataProvider kinds */
    public function testValuesComeBackAsTheyAre(string $kind): void
    {
        $cache = Place::open($kind);
        $values = [
            'text' => 'grün', 'bytes' => "\xff\x00\xfe", 'empty' => '', 'digits' => '17', 'number' => -5,
            'large' => PHP_INT_MAX, 'float' => 1.0, 'yes' => true, 'nothing' => null, 'list' => [1, 'two', [3.5, false]],
            'map' => ['a' => ['b' => null]], 'long' => str_repeat('x', 300_000),
        ];
        foreach ($values as $key => $value) {
            $cache->set("values.$key", $value);
            self::assertSame($value, $cache->get("values.$key", 'absent'), $key);
            // A second read of a long value is one without a call for more room.
            self::assertSame($value, $cache->get("values.$key", 'absent'), "$key again");
        }
        self::assertNull($cache->get('values.absent'));
        self::assertSame('other', $cache->get('values.absent', 'other'));
    }

    /** @dataProvider kinds */
    public function testConditionsOfAStoredValue(string $kind): void
    {
        $cache = Place::open($kind);
        self::assertFalse($cache->replace('if', 1));
        self::assertFalse($cache->has('if'));
        self::assertTrue($cache->add('if', 1));
        self::assertFalse($cache->add('if', 2));
        self::assertTrue($cache->replace('if', 3));
        self::assertTrue($cache->has('if'));
        self::assertSame(3, $cache->get('if'));
        self::assertTrue($cache->delete('if'));
        self::assertFalse($cache->delete('if'));
        self::assertNull($cache->get('if'));
    }

    /** @dataProvider kinds */
    public function testVersions(string $kind): void
    {
        $cache = Place::open($kind);
        self::assertSame([null, null], $cache->gets('versioned'));
        $cache->set('versioned', 'first');
        [$value, $version] = $cache->gets('versioned');
        self::assertSame('first', $value);
        if ($kind === 'tiered') {
            self::assertNull($version, 'a stack has no versions');
            $this->expectException(UnsupportedError::class);
            $cache->cas('versioned', 'second', 1);
        }
        self::assertTrue($cache->cas('versioned', 'second', $version));
        self::assertFalse($cache->cas('versioned', 'third', $version));
        self::assertFalse($cache->cas('versioned.absent', 'third', $version));
        self::assertSame('second', $cache->get('versioned'));
    }

    /** @dataProvider kinds */
    public function testNumbers(string $kind): void
    {
        $cache = Place::open($kind);
        self::assertNull($cache->incr('count'));
        self::assertSame(10, $cache->incr('count', 5, 10));
        self::assertSame(15, $cache->incr('count', 5, 10));
        self::assertSame(12, $cache->decr('count', 3));
        self::assertSame(0, $cache->decr('count', 100));
        // The library's number has no mark of a number, and memcached keeps its length.
        self::assertSame('0', rtrim($cache->get('count')));
        $cache->set('marked', 9);
        self::assertSame(10, $cache->incr('marked'));
        self::assertSame(10, $cache->get('marked'));
        $cache->set('count', PHP_INT_MAX);
        self::assertSame('9223372036854775808', $cache->incr('count'));
        self::assertSame('9223372036854775808', $cache->get('count'));
        $cache->set('count', 'no number');
        try {
            $cache->incr('count');
            self::fail('text is no number');
        } catch (UsageError $error) {
            self::assertSame('not_a_number', $error->kind);
        }
        $this->expectExceptionMessage('delta is -1; write 0 or more');
        $cache->incr('count', -1);
    }

    /** @dataProvider kinds */
    public function testManyKeysAtOnce(string $kind): void
    {
        $cache = Place::open($kind);
        self::assertSame([], $cache->getMany([]));
        self::assertSame([], $cache->setMany([]));
        self::assertSame(0, $cache->deleteMany([]));
        $values = ['many.a' => 'A', 'many.b' => ['list'], '1700' => 17, 'many.empty' => ''];
        self::assertSame([], $cache->setMany($values));
        self::assertSame($values, $cache->getMany(['many.a', 'many.b', 1700, 'many.empty', 'many.absent']));
        self::assertSame(['many.a' => 'A'], $cache->getMany(new \ArrayIterator(['many.a'])));
        self::assertSame(['k' . str_repeat('x', 300)], $cache->setMany(['many.a' => 'B', 'k' . str_repeat('x', 300) => 1]));
        self::assertSame('B', $cache->get('many.a'), 'a refused entry keeps no other out');
        self::assertSame(3, $cache->deleteMany(['many.a', 'many.b', '1700', 'many.absent']));
        self::assertNull($cache->get('many.a'));
    }

    /** @dataProvider kinds */
    public function testTimes(string $kind): void
    {
        $cache = Place::open($kind);
        $cache->set('timed.over', 1, 0);
        self::assertNull($cache->get('timed.over'));
        $cache->set('timed', 1, 1);
        $cache->set('timed.longer', 1, new \DateInterval('PT1H'));
        self::assertTrue($cache->touch('timed.longer', 7200.5));
        self::assertFalse($cache->touch('timed.absent', 1));
        $deadline = microtime(true) + 10;
        while ($cache->get('timed') !== null && microtime(true) < $deadline) {
            usleep(20_000);
        }
        self::assertNull($cache->get('timed'));
        self::assertSame(1, $cache->get('timed.longer'));
        $this->expectExceptionMessage('ttl is -1; write seconds from 0');
        $cache->set('timed', 1, -1);
    }

    /** @dataProvider kinds */
    public function testErrors(string $kind): void
    {
        $cache = Place::open($kind);
        try {
            $cache->get(str_repeat('k', 300));
            self::fail('the key is too long');
        } catch (UsageError $error) {
            self::assertSame('key_too_long', $error->kind);
        }
        try {
            $cache->set('errors', str_repeat('x', 10 << 20));
            self::fail('the value is too large');
        } catch (RefusedError $error) {
            self::assertSame('value_too_large', $error->kind);
        }
        $cache->close();
        $cache->close();
        $calls = [
            'get' => ['errors'], 'has' => ['errors'], 'delete' => ['errors'], 'gets' => ['errors'], 'set' => ['errors', 1],
            'add' => ['errors', 1], 'incr' => ['errors'], 'touch' => ['errors'], 'lease' => ['errors'], 'clear' => [],
            'getMany' => [['errors', 'others']], 'setMany' => [['errors' => 1]], 'deleteMany' => [['errors']], 'stats' => [],
            'getOrLoad' => ['errors', static fn (): int => 1], 'getOrLoadMany' => [['errors'], static fn (): array => []],
        ];
        foreach ($calls as $verb => $arguments) {
            try {
                $cache->$verb(...$arguments);
                self::fail("$verb of a closed store");
            } catch (UsageError $error) {
                self::assertSame('the store is closed; open it again', $error->getMessage());
            }
        }
    }

    /** @dataProvider kinds */
    public function testCounters(string $kind): void
    {
        $cache = Place::open($kind);
        $before = $cache->stats();
        $cache->set('counted', 1);
        $cache->get('counted');
        $cache->get('counted.absent');
        $after = $cache->stats();
        self::assertGreaterThanOrEqual($before['hits'] + 1, $after['hits']);
        self::assertGreaterThanOrEqual($before['misses'] + 1, $after['misses']);
    }

    public function testAClearRemovesEveryEntryOfAnOwnStore(): void
    {
        foreach (['memory', 'mmap'] as $kind) {
            $cache = Place::open($kind);
            $cache->set('cleared', 1);
            $cache->clear();
            self::assertFalse($cache->has('cleared'));
        }
        $this->expectException(UnsupportedError::class);
        Place::open('memcached')->clear();
    }

    public function testUrlsThatCannotBeOpened(): void
    {
        try {
            // What is away at the opening is told by the first call.
            Larder::open('mmap:/no/such/folder/cache')->get('key');
            self::fail('there is no such folder');
        } catch (UnavailableError $error) {
            self::assertStringContainsString('/no/such/folder', $error->getMessage());
        }
        $kinds = [
            'no-such:' => 'unknown_scheme', 'memory:?size=much' => 'invalid_options', 'no url' => 'invalid_url',
            "memory:\0" => 'invalid_url',
        ];
        foreach ($kinds as $url => $kind) {
            try {
                Larder::open($url);
                self::fail("$url was opened");
            } catch (UsageError $error) {
                self::assertSame($kind, $error->kind);
            }
        }
    }

    public function testAServerThatDoesNotAnswer(): void
    {
        $cache = Larder::open('memcached://127.0.0.1:1');
        try {
            $cache->get('key');
            self::fail('nobody answers there');
        } catch (UnavailableError $error) {
            self::assertStringContainsString('127.0.0.1:1', $error->getMessage());
        }
        $calls = [['setMany', ['key' => 1]], ['getMany', ['key']], ['deleteMany', ['key']], ['set', 'key']];
        foreach ($calls as [$verb, $first]) {
            try {
                $cache->$verb($first, 1);
                self::fail("$verb without an answer");
            } catch (UnavailableError $error) {
                self::assertSame('unavailable', $error->kind);
            }
        }
        self::assertSame('loaded', $cache->getOrLoad('key', static fn (): string => 'loaded'), 'the caller has its value');
    }

    public function testAStoreShowsNoPassword(): void
    {
        $cache = new Store(
            new \Larder\Handles(\Larder\Library::get(), 'memory:?size=1m', false),
            new \Larder\SignedSerialize('the secret of the application'),
        );
        self::assertSame(['open' => true], $cache->__debugInfo());
        self::assertStringNotContainsString('secret', print_r($cache, true));
        self::assertSame(1, preg_match('/^\d+\.\d+\.\d+$/', Larder::version()));
    }

    public function testALibraryThatIsMissing(): void
    {
        $program = 'require $argv[1];'
            . 'try { Larder\Larder::open("memory:"); } catch (Larder\Error $e) { echo $e->getMessage(); }';
        $command = [PHP_BINARY, '-r', $program, '--', __DIR__ . '/../autoload.php'];
        $process = proc_open($command, [1 => ['pipe', 'w']], $pipes, null, ['LARDER_LIBRARY' => '/no/such/file']);
        $told = stream_get_contents($pipes[1]);
        proc_close($process);
        self::assertStringStartsWith('the library /no/such/file cannot be loaded', $told);
        self::assertStringEndsWith('install it by packaging/capi, or write its path to LARDER_LIBRARY', $told);
        self::assertSame(0, substr_count($told, "\n"));
    }

    public function testErrorsAreOfOneClass(): void
    {
        $this->expectException(Error::class);
        Larder::open('no-such:');
    }
}
