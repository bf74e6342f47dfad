<?php

declare(strict_types=1);

namespace LarderGuest;

/** The outcomes of an operation. They are numbers and no enum, for the loop notes them. */
final class Outcome
{
    public const RIGHT = 0;
    public const MISS = 1;
    public const DAMAGED = 2;
    public const TRUNCATED = 3;
    public const ERROR = 4;
    public const FILLED = 5;
    public const UNFILLED = 6;
    public const STALE = 7;
    public const OTHER_KEY = 8;
    /** A miss of a key that must be absent, which is the right answer. */
    public const PLANNED = 9;

    /** The number of outcomes. */
    public const ALL = 10;
    /** The ways in which a value is wrong, as results name them. */
    public const WRONG = [
        'damaged' => self::DAMAGED,
        'truncated' => self::TRUNCATED,
        'stale' => self::STALE,
        'other_key' => self::OTHER_KEY,
    ];
}
