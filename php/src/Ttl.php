<?php

declare(strict_types=1);

namespace Larder;

/**
 * Lifetimes as the library takes them: in milliseconds.
 *
 * @internal
 */
final class Ttl
{
    /** Seconds, an interval, or `null` for ever. A part of a millisecond counts as a whole one. */
    public static function ms(int|float|\DateInterval|null $ttl): int
    {
        if ($ttl === null) {
            return Code::FOREVER;
        }
        $seconds = $ttl instanceof \DateInterval ? self::seconds($ttl) : $ttl;
        if (!($seconds >= 0 && $seconds <= \PHP_INT_MAX / 1_000)) {
            $limit = \intdiv(\PHP_INT_MAX, 1_000);
            throw new UsageError("ttl is $seconds; write seconds from 0 to $limit, or null for ever", 'argument');
        }
        return \is_int($seconds) ? $seconds * 1_000 : (int) \ceil($seconds * 1_000);
    }

    /** The seconds of an interval from now on: a month has 28 to 31 days. */
    public static function seconds(\DateInterval $interval): int
    {
        $now = new \DateTimeImmutable();
        return $now->add($interval)->getTimestamp() - $now->getTimestamp();
    }
}
