<?php

declare(strict_types=1);

namespace Larder;

/** A process that does a share of a phase, as its parent knows it. */
final class Child
{
    public bool $isReady = false;
    public bool $isOver = false;
    public int $operations = 0;
    /** What it wrote that is no whole line yet. */
    public string $text = '';

    /**
     * @param ?int $pid `null` once it has been waited for
     * @param resource $pipe Both ways
     */
    public function __construct(public readonly int $process, public ?int $pid, public $pipe)
    {
    }
}
