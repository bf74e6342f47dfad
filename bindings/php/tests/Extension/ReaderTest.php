<?php

declare(strict_types=1);

namespace Larder\Tests\Extension;

use Larder\Code;
use Larder\Handles;
use Larder\Larder;
use Larder\Reader;
use Larder\Store;
use Larder\Tests\Place;
use Larder\UsageError;
use Larder\Values;
use PHPUnit\Framework\TestCase;

/** The extension (ext/larder.c). The package's own tests run with it too. */
final class ReaderTest extends TestCase
{
    private static function of(Store $store): Reader
    {
        $handles = (new \ReflectionProperty($store, 'handles'))->getValue($store);
        return $handles->reader ?? throw new \LogicException('the store reads by FFI');
    }

    public function testStringsComeAsTheyAreAndOtherValuesWithTheirFlags(): void
    {
        $store = Place::open('mmap');
        $reader = self::of($store);
        foreach (['text' => 'Grüße', 'bytes' => "\0\xff", 'empty' => ''] as $key => $value) {
            $store->set($key, $value);
            self::assertSame($value, $reader->read($key));
        }
        $store->set('number', 7);
        [$bytes, $flags, $version, $stale] = $reader->read('number');
        self::assertSame(['7', Values::NUMBER, $store->gets('number')[1], 0], [$bytes, $flags, $version, $stale]);
        $store->set('older', 'text', 600);
        $store->expire('older', 300);
        [$bytes, $flags, , $stale] = $reader->read('older');
        self::assertSame(['text', Values::TEXT, 1], [$bytes, $flags, $stale]);
    }

    public function testWhatIsNoHitIsACode(): void
    {
        $store = Place::open('mmap');
        $reader = self::of($store);
        self::assertSame(Code::NOT_FOUND, $reader->read('absent'));
        $store->set('long', str_repeat('L', 5_000));
        self::assertSame(Code::TOO_SMALL, $reader->read('long'));
        // The store reads it by FFI, and makes room for the next one.
        self::assertSame(str_repeat('L', 5_000), $store->get('long'));
        self::assertSame(str_repeat('L', 5_000), $reader->read('long'));
        $server = Place::open('memcached');
        self::assertSame(Code::E_INVALID_KEY, self::of($server)->read('a key'));
    }

    public function testAReaderOutlivesItsStore(): void
    {
        $store = Place::open('mmap');
        $store->set('key', 'value');
        $reader = self::of($store);
        $store->close();
        self::assertSame(Code::E_ARGUMENT, $reader->read('key'));
        try {
            $store->get('key');
            self::fail('a closed store has no values');
        } catch (UsageError $error) {
            self::assertSame('closed', $error->kind);
        }
        $reader = self::of(Place::open('memory'));
        gc_collect_cycles();
        self::assertSame(Code::E_ARGUMENT, $reader->read('key'));
    }

    public function testAReaderOfNoStoreReadsNothing(): void
    {
        Larder::version();
        self::assertSame(Code::E_ARGUMENT, (new Reader())->read('key'));
    }

    public function testAReaderHasNoCopies(): void
    {
        $copies = [static fn (Reader $it) => clone $it, serialize(...), static fn (Reader $it) => $it->other = 1];
        foreach ($copies as $copy) {
            try {
                $copy(new Reader());
                self::fail('a copy would have the session of the other one after its end');
            } catch (\Throwable $caught) {
                self::assertNotInstanceOf(\PHPUnit\Framework\Exception::class, $caught);
            }
        }
    }

    public function testWithoutTheLibraryAReaderTellsTheFix(): void
    {
        $program = 'try { new Larder\Reader(); } catch (Error $error) { echo $error->getMessage(); }';
        $told = shell_exec(escapeshellarg(PHP_BINARY) . ' -r ' . escapeshellarg($program));
        self::assertSame('liblarder is not loaded; open a store by Larder\Larder::open()', $told);
    }

    public function testTheTurnOfAReadIsSeenByOtherCalls(): void
    {
        $store = Place::open('mmap');
        $store->set('key', 'value');
        $before = Handles::$turn;
        self::assertSame('value', $store->get('key'));
        self::assertSame('value', $store->getOrLoad('key', static fn (): string => 'loaded'));
        self::assertSame($before + 2, Handles::$turn);
    }
}
