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
    public static function ms(int|float|\DateInterval|null $ttl, string $name = 'ttl'): int
    {
        if ($ttl === null) {
            return Code::FOREVER;
        }
        $seconds = $ttl instanceof \DateInterval ? self::seconds($ttl) : $ttl;
        $limit = \intdiv(\PHP_INT_MAX, 1_000);
        // The limit itself, as a float, is a little more than the integers of PHP hold.
        if (!($seconds >= 0 && (\is_int($seconds) ? $seconds <= $limit : $seconds < (float) $limit))) {
            throw new UsageError("$name is $seconds; write seconds from 0 to $limit, or null for ever", 'argument');
        }
        return \is_int($seconds) ? $seconds * 1_000 : (int) \ceil($seconds * 1_000);
    }

    /** The seconds of an interval from now on: a month has 28 to 31 days. */
    public static function seconds(\DateInterval $interval): int|float
    {
        $now = new \DateTimeImmutable();
        $end = $now->add($interval);
        $seconds = $end->getTimestamp() - $now->getTimestamp();
        $microseconds = (int) $end->format('u') - (int) $now->format('u');
        return $microseconds === 0 ? $seconds : $seconds + $microseconds / 1e6;
    }
}
