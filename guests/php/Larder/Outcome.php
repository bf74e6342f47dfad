<?php

declare(strict_types=1);

namespace Larder;

/** Why an operation is not simply right. Numbers and no enum, for the loop notes them. */
final class Outcome
{
    public const RIGHT = 0;
    public const MISS = 1;
    public const WRONG = 2;
    public const TRUNCATED = 3;
    public const ERROR = 4;
    public const FILLED = 5;
    public const UNFILLED = 6;
}
