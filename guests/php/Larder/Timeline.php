<?php

declare(strict_types=1);

namespace Larder;

/**
 * The course of a phase: operations, and the slowest of them, in slots of equal length from its start. There are at
 * most 32 slots, whose length is a power of two of nanoseconds. After the last slot, neighbours are merged and the
 * length doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 slots.
 */
final class Timeline
{
    private const SLOTS = 32;

    private int $slotNs = 1024;
    /** @var list<int> */
    private array $ops;
    /** @var list<int> */
    private array $maxNs;

    public function __construct()
    {
        $this->ops = $this->maxNs = array_fill(0, self::SLOTS, 0);
    }

    /** Adds operations that ended at `$at`, in nanoseconds from the start, and that took `$took` at most. */
    public function add(int $at, int $took, int $ops = 1): void
    {
        $this->reach($at);
        $slot = intdiv($at, $this->slotNs);
        $this->ops[$slot] += $ops;
        $this->maxNs[$slot] = max($this->maxNs[$slot], $took);
    }

    /** The end of the slot that is open at this instant. */
    public function slotEnd(int $at): int
    {
        $this->reach($at);
        return (intdiv($at, $this->slotNs) + 1) * $this->slotNs;
    }

    /**
     * The slots of a phase that lasted `$wallNs`, for its result.
     *
     * @return array{slot_ns: int, ops: list<int>, max_ns: list<int>}
     */
    public function over(int $wallNs): array
    {
        $this->reach($wallNs);
        $slots = intdiv($wallNs, $this->slotNs) + 1;
        return [
            'slot_ns' => $this->slotNs,
            'ops' => array_slice($this->ops, 0, $slots),
            'max_ns' => array_slice($this->maxNs, 0, $slots),
        ];
    }

    private function reach(int $at): void
    {
        while ($at >= self::SLOTS * $this->slotNs) {
            $this->slotNs *= 2;
            for ($slot = 0; $slot < self::SLOTS; $slot++) {
                $ops = ($this->ops[2 * $slot] ?? 0) + ($this->ops[2 * $slot + 1] ?? 0);
                $maxNs = max($this->maxNs[2 * $slot] ?? 0, $this->maxNs[2 * $slot + 1] ?? 0);
                $this->ops[$slot] = $ops;
                $this->maxNs[$slot] = $maxNs;
            }
        }
    }
}
