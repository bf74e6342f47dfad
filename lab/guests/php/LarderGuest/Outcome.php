<?php

declare(strict_types=1);

namespace LarderGuest;

/** The outcomes of an operation. They are numbers and no enum, for the loop notes them. */
final class Outcome
{
    public const RIGHT = 0;
    public const MISS = 1;
    public const ERROR = 2;
    public const FILLED = 3;
    public const UNFILLED = 4;
    /** Another value than the expected one. */
    public const OTHER = 5;
}
