<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * The course of a phase: operations, and the slowest of them, in bins of equal length from its start. There are at
 * most 32 bins, whose length is a power of two of nanoseconds. After the last bin, neighbours are merged and the
 * length doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 bins.
 */
final class Timeline
{
    private const BINS = 32;

    private int $binNs = 1024;
    /** @var list<int> */
    private array $ops;
    /** @var list<int> */
    private array $maxNs;

    public function __construct()
    {
        $this->ops = $this->maxNs = array_fill(0, self::BINS, 0);
    }

    /** Adds operations that ended at `$at`, in nanoseconds from the start, and that took `$took` at most. */
    public function add(int $at, int $took, int $ops = 1): void
    {
        $this->reach($at);
        $bin = intdiv($at, $this->binNs);
        $this->ops[$bin] += $ops;
        $this->maxNs[$bin] = max($this->maxNs[$bin], $took);
    }

    /** The end of the bin that is open at this instant. */
    public function binEnd(int $at): int
    {
        $this->reach($at);
        return (intdiv($at, $this->binNs) + 1) * $this->binNs;
    }

    /**
     * The bins of a phase that lasted `$wallNs`, for its result.
     *
     * @return array{bin_ns: int, ops: list<int>, max_ns: list<int>}
     */
    public function over(int $wallNs): array
    {
        $this->reach($wallNs);
        $bins = intdiv($wallNs, $this->binNs) + 1;
        return [
            'bin_ns' => $this->binNs,
            'ops' => array_slice($this->ops, 0, $bins),
            'max_ns' => array_slice($this->maxNs, 0, $bins),
        ];
    }

    private function reach(int $at): void
    {
        while ($at >= self::BINS * $this->binNs) {
            $this->binNs *= 2;
            for ($bin = 0; $bin < self::BINS; $bin++) {
                $ops = ($this->ops[2 * $bin] ?? 0) + ($this->ops[2 * $bin + 1] ?? 0);
                $maxNs = max($this->maxNs[2 * $bin] ?? 0, $this->maxNs[2 * $bin + 1] ?? 0);
                $this->ops[$bin] = $ops;
                $this->maxNs[$bin] = $maxNs;
            }
        }
    }
}
