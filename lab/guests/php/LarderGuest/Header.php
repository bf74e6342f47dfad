<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * The header of a value: the tag of its key, its version, its length and a checksum. With the seed of the plan it
 * identifies any value of this run, also a value of an earlier round.
 */
final class Header
{
    public const BYTES = 24;

    private const LOW = 0xFFFF_FFFF;

    private readonly int $seed;

    /** `$seed` has 16 hexadecimal digits. Values begin in the first `$span` bytes of `$pool`, a power of two. */
    public function __construct(string $seed, private readonly int $span, private readonly string $pool)
    {
        $this->seed = unpack('J', hex2bin($seed))[1];
    }

    /** The tag of the key with this index. */
    public function tagOf(int $key): int
    {
        return self::mix($this->seed ^ ($key << 1 | 1));
    }

    /** The header of a value, for a program that composes values itself. */
    public function of(int $key, int $version, int $length): string
    {
        $tag = $this->tagOf($key);
        return pack('PVVP', $tag, $version, $length, $this->checksum($tag, $version, $length));
    }

    /** The place in the pool where the value of this key and version begins. */
    public function offset(int $key, int $version): int
    {
        return $this->begin($this->tagOf($key), $version);
    }

    /**
     * The tag and the length in the header of a value of this run, which may be truncated behind its header. `null`
     * where `$value` is no such value: a byte differs, or it has more bytes than its header says.
     *
     * @return array{int, int}|null
     */
    public function readIntact(string $value): ?array
    {
        if (strlen($value) < self::BYTES) {
            return null;
        }
        ['tag' => $tag, 'version' => $version, 'length' => $length, 'sum' => $sum] = unpack('Ptag/Vversion/Vlength/Psum', $value);
        if (strlen($value) > $length || $sum !== $this->checksum($tag, $version, $length)) {
            return null;
        }
        $at = $this->begin($tag, $version) + self::BYTES;
        $body = substr($value, self::BYTES);
        return $body === substr($this->pool, $at, strlen($body)) ? [$tag, $length] : null;
    }

    private function begin(int $tag, int $version): int
    {
        return self::mix($tag ^ $version) & ($this->span - 1);
    }

    private function checksum(int $tag, int $version, int $length): int
    {
        return self::mix($tag ^ self::mix(($version << 32 | $length) ^ $this->seed));
    }

    /** The finalizer of SplitMix64 (Steele, Lea, Flood 2014), modulo 2 to the 64th. */
    private static function mix(int $x): int
    {
        $x = self::sum($x, self::number('9e3779b97f4a7c15'));
        $x = self::product($x ^ self::shifted($x, 30), self::number('bf58476d1ce4e5b9'));
        $x = self::product($x ^ self::shifted($x, 27), self::number('94d049bb133111eb'));
        return $x ^ self::shifted($x, 31);
    }

    /** A constant that is too large for a literal integer of PHP, so it is made of its bits. */
    private static function number(string $digits): int
    {
        return unpack('J', hex2bin($digits))[1];
    }

    /** The integer shifted to the right without its sign. */
    private static function shifted(int $x, int $bits): int
    {
        return ($x >> $bits) & (PHP_INT_MAX >> ($bits - 1));
    }

    /** Integers wrap around, where PHP would go on with floating point. */
    private static function sum(int $one, int $other): int
    {
        $low = ($one & self::LOW) + ($other & self::LOW);
        return (($one >> 32) + ($other >> 32) + ($low >> 32)) << 32 | $low & self::LOW;
    }

    private static function product(int $one, int $other): int
    {
        $product = 0;
        for ($bits = 0; $bits < 64; $bits += 16) {
            $part = $other >> $bits & 0xFFFF;
            $low = ($one & self::LOW) * $part;
            $high = ($one >> 32 & self::LOW) * $part;
            $product = self::sum($product, self::sum($low, $high << 32) << $bits);
        }
        return $product;
    }
}
