<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * Explains the failures that the loop noted, in their order. An explanation may need a question to the servers, so it
 * waits until a segment of the loop is over. Where everything fails, the phase is given up.
 */
final class Failures
{
    /** The phase is given up after this many failures in a row, or this time of them: the rest would repeat them. */
    private const FAILURES_IN_A_ROW = 100;
    private const FAILING_NS = 5_000_000_000;
    /** A key of a request that has failed was missed by the failure, also where it was filled then. */
    private const MISSES = [Outcome::MISS, Outcome::FILLED, Outcome::UNFILLED];

    /** The number of operations before those of the block. */
    private int $base = 0;
    /** The last operation that failed. */
    private int $last = -1;
    private int $inARow = 0;
    private int $failingSince = 0;

    public function __construct(private readonly Cache $cache, private readonly Block $block)
    {
    }

    /** Goes on to the next filling of the block, whose operations follow the present ones. */
    public function nextBlock(): void
    {
        $this->base += $this->block->count;
    }

    /** Explains the notes made since the last call. */
    public function settle(): void
    {
        $block = $this->block;
        $notes = $block->notes;
        $block->notes = [];
        foreach ($notes as $note) {
            $failure = match ($note->what) {
                Note::MISSED => $this->cache->failureOfMiss($note->said),
                Note::REFUSED => $this->refusal($note->from, $note->said),
                default => $note->said === null ? Failure::unexplained() : Failure::from($note->said),
            };
            for ($n = $note->from; $n <= $note->to; $n++) {
                if ($note->what !== Note::MISSED) {
                    $block->errors[$n] ??= $failure;
                } elseif (in_array($block->outcome[$n] ?? Outcome::RIGHT, self::MISSES, true)) {
                    $block->outcome[$n] = Outcome::ERROR;
                    $block->errors[$n] = $failure;
                }
            }
            $this->count($note->from, $note->to, $failure);
        }
    }

    private function refusal(int $n, mixed $said): Failure
    {
        $block = $this->block;
        $key = $block->kind[$n] === Plan::GET_OR_SET ? $block->under[$n] : $block->key[$n];
        return $this->cache->refusal($key, $block->want[$n], $said);
    }

    /** Gives up after too many failures in a row. A request with any key that was found or missed is no failure. */
    private function count(int $from, int $to, Failure $failure): void
    {
        $block = $this->block;
        $position = $this->base + $from;
        // The get of this operation has failed already, so its failed fill is no second failure.
        if ($position <= $this->last) {
            return;
        }
        for ($n = $from; $n <= $to; $n++) {
            $what = $block->outcome[$n] ?? Outcome::RIGHT;
            if ($what !== Outcome::ERROR && $what !== Outcome::UNFILLED) {
                $this->inARow = 0;
                return;
            }
        }
        if ($position !== $this->last + 1 || $this->inARow === 0) {
            $this->inARow = 0;
            $this->failingSince = $block->end[$to];
        }
        $this->last = $this->base + $to;
        $this->inARow++;
        if ($this->inARow < 2) {
            return;
        }
        $isLong = $block->end[$to] - $this->failingSince >= self::FAILING_NS;
        if ($this->inARow >= self::FAILURES_IN_A_ROW || $isLong) {
            $what = "gave up after {$this->inARow} failures in a row: {$failure->getMessage()}";
            throw new Failure($failure->kind, $what);
        }
    }
}
