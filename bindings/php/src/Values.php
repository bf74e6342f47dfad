<?php

declare(strict_types=1);

namespace Larder;

/**
 * Values as they are stored: strings and whole numbers as they are, everything else by the serializer. The flags of an entry
 * tell its form, with the numbers that the other packages of Larder use too.
 *
 * @internal
 */
final class Values
{
    public const BYTES = 0;
    public const NUMBER = 2;
    /** A string of PHP is stored as text where it is UTF-8. For PHP the two are the same; Python has a type for each. */
    public const TEXT = 16;
    /** A value that a stack of another language has loaded: its own flags in four bytes, and the value behind them. */
    private const LOADED = 128;

    public function __construct(private readonly Serializer $serializer)
    {
    }

    /** @return array{string, int} The stored form, and its flags. */
    public function encode(mixed $value): array
    {
        if (\is_string($value)) {
            return [$value, \preg_match('//u', $value) === 1 ? self::TEXT : self::BYTES];
        }
        if (\is_int($value)) {
            return [(string) $value, self::NUMBER];
        }
        return [$this->serializer->dump($value), $this->serializer->flags()];
    }

    public function decode(string $bytes, int $flags): mixed
    {
        switch ($flags) {
            case self::TEXT:
            case self::BYTES:
                return $bytes;
            case self::NUMBER:
                return self::number(\trim($bytes));
            case self::LOADED:
                if (\strlen($bytes) < 4) {
                    throw new Error('a loaded value has less than four bytes', 'corrupted');
                }
                return $this->decode(\substr($bytes, 4), \unpack('N', $bytes)[1]);
            default:
                return $this->serializer->load($bytes, $flags);
        }
    }

    /** A number beyond PHP's integers stays text. */
    private static function number(string $digits): int|string
    {
        $number = (int) $digits;
        return (string) $number === $digits ? $number : $digits;
    }
}
