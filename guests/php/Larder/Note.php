<?php

declare(strict_types=1);

namespace Larder;

/** What the loop noted of operations that did not go well, to be explained when the clock stands still. */
final class Note
{
    /** The get was answered by a failure that its client tells as a miss. */
    public const MISSED = 0;
    /** The cache did not take the value. */
    public const REFUSED = 1;
    /** It was an exception, or no answer at all. */
    public const FAILED = 2;

    /**
     * @param int $from The first operation of the request
     * @param int $to The last
     * @param mixed $said What the cache said of it: its trace, or what was caught
     */
    public function __construct(
        public readonly int $from,
        public readonly int $to,
        public readonly int $what,
        public readonly mixed $said,
    ) {
    }
}
