<?php

declare(strict_types=1);

namespace LarderGuest;

/** A process that does a share of a phase, as its parent knows it. */
final class Child
{
    public bool $isReady = false;
    public int $operations = 0;
    /** The number of values that the child has stored; `null` until its share is done. */
    public ?int $stored = null;
    /** The part of a line that the child has written so far. */
    public string $text = '';

    /**
     * @param ?int $pid `null` once the parent has waited for the child
     * @param resource $pipe Both ways
     */
    public function __construct(public readonly int $process, public ?int $pid, public $pipe)
    {
    }

    public function isOver(): bool
    {
        return $this->stored !== null;
    }
}
