<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Error;
use Larder\Handles;
use Larder\Json;
use Larder\Larder;
use Larder\Library;
use Larder\SignedSerialize;
use Larder\UsageError;
use PHPUnit\Framework\TestCase;

/** The forms of values, and the marks by which the packages of other languages know them. */
final class ValuesTest extends TestCase
{
    /** What runs code when it is unserialized. */
    public static int $woken = 0;

    public function __wakeup(): void
    {
        self::$woken++;
    }

    public function testTheMarksAreThoseOfTheOtherLanguages(): void
    {
        $url = Place::url('mmap');
        $cache = Larder::open($url, Place::serializer());
        $marks = ['text' => ['grün', 16], 'bytes' => ["\xff", 0], 'number' => [7, 2], 'other' => [[1], 256]];
        foreach ($marks as $key => [$value, $flags]) {
            $cache->set($key, $value);
            self::assertSame($flags, $this->flagsOf($url, $key), $key);
        }
        $json = Larder::open($url);
        $json->set('other', ['a' => 1.0, 'b' => 'grün/']);
        self::assertSame(32, $this->flagsOf($url, 'other'));
        self::assertSame(['a' => 1.0, 'b' => 'grün/'], $json->get('other'));
    }

    public function testWhatAStackOfAnotherLanguageHasLoaded(): void
    {
        $url = Place::url('mmap');
        $this->store($url, 'loaded', pack('N', 16) . 'text', 128);
        $this->store($url, 'number', pack('N', 2) . '12 ', 128);
        $this->store($url, 'cut', 'abc', 128);
        $cache = Larder::open($url);
        self::assertSame('text', $cache->get('loaded'));
        self::assertSame(12, $cache->get('number'));
        $this->expectExceptionMessage('a loaded value has less than four bytes');
        $cache->get('cut');
    }

    public function testJsonRefusesWhatWouldComeBackAsSomethingElse(): void
    {
        $json = new Json();
        foreach ([new \stdClass(), [[new \ArrayObject()]], NAN, ["\xff"]] as $value) {
            try {
                $json->dump($value);
                self::fail('JSON holds ' . get_debug_type($value));
            } catch (UsageError $error) {
                self::assertStringContainsString('take SignedSerialize for it', $error->getMessage());
            }
        }
        $this->expectExceptionMessage('a stored value has the flags 256, which JSON does not read');
        $json->load('{}', 256);
    }

    public function testASignedValueIsAnyValue(): void
    {
        $cache = Place::signed('mmap');
        $value = [new \DateTimeImmutable('2026-01-01'), null, 1.5, "\xff", ['nested' => new \ArrayObject([1])]];
        $cache->set('any', $value);
        self::assertEquals($value, $cache->get('any'));
        $this->expectExceptionMessage('a value cannot be stored');
        $cache->set('any', static fn (): int => 1);
    }

    public function testAValueOfAnotherSignatureIsNotUnserialized(): void
    {
        $url = Place::url('mmap');
        $mine = Larder::open($url, Place::serializer());
        $theirs = Larder::open($url, new SignedSerialize('the secret of somebody else'));
        $theirs->set('key', new self());
        $this->store($url, 'forged', str_repeat("\0", 32) . serialize(new self()), 256);
        $this->store($url, 'short', 'O:8:"stdClass":0:{}', 256);
        foreach (['key', 'forged', 'short'] as $key) {
            try {
                $mine->get($key);
                self::fail("$key was unserialized");
            } catch (Error $error) {
                self::assertSame('signature', $error->kind);
            }
        }
        self::assertSame(0, self::$woken);
        $theirs->get('key');
        self::assertSame(1, self::$woken, 'with the right key it is');
        $this->expectExceptionMessage('the key has 5 bytes < 16; take 16 random bytes or more');
        new SignedSerialize('short');
    }

    public function testClassesMayBeLimited(): void
    {
        $signed = new SignedSerialize('a secret of the tests, of some length', [\ArrayObject::class]);
        self::assertEquals(new \ArrayObject(), $signed->load($signed->dump(new \ArrayObject()), 256));
        self::assertInstanceOf(\__PHP_Incomplete_Class::class, $signed->load($signed->dump(new \SplObjectStorage()), 256));
    }

    private function flagsOf(string $url, string $key): int
    {
        $meta = Library::get()->new('larder_meta');
        (new Handles(Library::get(), $url, false))->call('larder_get', $key, strlen($key), null, 0, null, \FFI::addr($meta));
        return $meta->flags;
    }

    private function store(string $url, string $key, string $bytes, int $flags): void
    {
        $handles = new Handles(Library::get(), $url, false);
        $handles->call('larder_set', $key, strlen($key), $bytes, strlen($bytes), -1, $flags, null);
    }
}
