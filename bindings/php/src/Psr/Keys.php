<?php

declare(strict_types=1);

namespace Larder\Psr;

/**
 * Keys by the rules of PSR-6 and PSR-16, as the store takes them.
 *
 * @internal
 */
final class Keys
{
    /** The characters that both standards keep for themselves. */
    private const RESERVED = '{}()/\\@:';
    /** The longest key of memcached, and of a region that was made without `max_key`. */
    private const LONGEST = 250;

    /** A key that is stored as it is: of the most usual kind. */
    private const USUAL = '/^[^{}()\/\\\\@:\x00-\x20\x7f]{1,250}$/D';

    /** Whether a key is allowed, and stored as it is. One look tells both. */
    public static function isUsual(mixed $key): bool
    {
        return \is_string($key) && \preg_match(self::USUAL, $key) === 1;
    }

    /** Why a key is refused, or `null`. */
    public static function fault(mixed $key): ?string
    {
        if (!\is_string($key)) {
            return 'a key is a string, not ' . \get_debug_type($key);
        }
        if ($key === '') {
            return 'a key has one character at least';
        }
        if (\strpbrk($key, self::RESERVED) !== false) {
            return "the key `$key` has one of the characters " . self::RESERVED . ', which the standard reserves';
        }
        return null;
    }

    /** The key in the store: the hash stands for a key that no memcached takes, too long or with spaces. */
    public static function stored(string $key): string
    {
        if (\strlen($key) <= self::LONGEST && \preg_match('/[\x00-\x20\x7f]/', $key) === 0) {
            return $key;
        }
        return 'hashed:' . \hash('sha256', $key);
    }
}
