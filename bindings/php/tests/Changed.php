<?php

declare(strict_types=1);

namespace Larder\Tests;

/** A class that has changed since a value of it was stored. */
final class Changed
{
    /** @return list<int> */
    public function __serialize(): array
    {
        return [1];
    }

    /** @param list<int> $data */
    public function __unserialize(array $data): void
    {
        throw new \LogicException('this class has changed');
    }
}
