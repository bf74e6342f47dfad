<?php

declare(strict_types=1);

namespace LarderGuest;

/** A note of the loop on operations that did not go well, to be explained when the clock stands still. */
final class Note
{
    /** The get got a failure that its client reports as a miss. */
    public const MISSED = 0;
    /** The cache did not take the value. */
    public const REFUSED = 1;
    /** The operation ended in an exception, or got no answer. */
    public const FAILED = 2;

    /**
     * @param int $from The first operation of the request
     * @param int $to The last operation of the request
     * @param mixed $said The trace of the cache, or the exception
     */
    public function __construct(
        public readonly int $from,
        public readonly int $to,
        public readonly int $what,
        public readonly mixed $said,
    ) {
    }
}
