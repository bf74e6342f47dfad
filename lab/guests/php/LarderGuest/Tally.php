<?php

declare(strict_types=1);

namespace LarderGuest;

/** Counts, latencies and time line of one operation, made from the loop's notes. */
final class Tally
{
    /** The result has at most this many bytes of a wrong value. */
    private const TOLD_BYTES = 65_536;

    private int $ops = 0;
    /** @var list<int> The number of operations with each outcome. */
    private array $outcomes;
    private int $bytes = 0;
    private int $busyNs = 0;
    /** @var array<int, int> */
    private array $latencies = [];
    /** @var array<string, int> */
    private array $kinds = [];
    /** @var array<string, array<string, int|string>> */
    private array $examples = [];
    private readonly Timeline $timeline;

    public function __construct(private readonly bool $reads)
    {
        $this->outcomes = array_fill(0, Outcome::ALL, 0);
        $this->timeline = new Timeline();
    }

    /**
     * Adds the operations of a block from `$from` to `$to`, all of this kind, of which the first began at `$then`.
     * Times less `$origin` are from the start of the phase. The code is written out as the loop's is, for it takes as
     * long.
     */
    public function addRun(Block $block, int $from, int $to, int $then, int $origin): void
    {
        $end = $block->end;
        $want = $block->want;
        $outcome = $block->outcome;
        $latencies = $this->latencies;
        $this->latencies = [];
        [$binOps, $slowest, $bytes, $right, $began] = [0, 0, 0, 0, $then];
        $binEnd = $this->timeline->binEnd($end[$from] - $origin) + $origin;
        for ($n = $from; $n <= $to; $n++) {
            $at = $end[$n];
            $took = $at - $then;
            $then = $at;
            if ($at >= $binEnd) {
                $this->timeline->add($binEnd - 1 - $origin, $slowest, $binOps);
                $binOps = $slowest = 0;
                $binEnd = $this->timeline->binEnd($at - $origin) + $origin;
            }
            $binOps++;
            if ($took > $slowest) {
                $slowest = $took;
            }
            if (isset($outcome[$n])) {
                $what = $outcome[$n];
                $this->outcomes[$what]++;
                if ($what !== Outcome::RIGHT && $what !== Outcome::FILLED && $what !== Outcome::PLANNED) {
                    continue;
                }
                if ($what === Outcome::PLANNED) {
                    $bytes -= strlen($want[$n]);
                }
            } else {
                $right++;
            }
            $bytes += strlen($want[$n]);
            if ($took >= 1_000) {
                $took = $took < 10_000 ? intdiv($took + 5, 10) * 10 : self::rounded($took);
            }
            $latencies[$took] = ($latencies[$took] ?? 0) + 1;
        }
        $this->timeline->add($binEnd - 1 - $origin, $slowest, $binOps);
        $this->latencies = $latencies;
        $this->outcomes[Outcome::RIGHT] += $right;
        $this->ops += $to - $from + 1;
        $this->busyNs += $then - $began;
        $this->bytes += $bytes + self::otherBytes($block, $from, $to);
    }

    /**
     * Adds a request of many keys: the outcome of each key, and the bytes of all values.
     *
     * @param list<int> $outcomes
     */
    public function addRequest(array $outcomes, int $at, int $took, int $bytes): void
    {
        $this->ops += count($outcomes);
        foreach ($outcomes as $what) {
            $this->outcomes[$what]++;
        }
        $this->busyNs += $took;
        $this->bytes += $bytes;
        $this->timeline->add($at, $took, count($outcomes));
        if (in_array(Outcome::RIGHT, $outcomes, true) || in_array(Outcome::PLANNED, $outcomes, true)) {
            $took = self::rounded($took);
            $this->latencies[$took] = ($this->latencies[$took] ?? 0) + 1;
        }
    }

    /**
     * Keeps the first value that is wrong in each way, with the key and the value asked for.
     *
     * @param array<int, array{int, string}> $ofOutcome
     */
    public function addWrong(Block $block, array $ofOutcome): void
    {
        foreach (Outcome::WRONG as $name => $outcome) {
            if (isset($this->examples[$name]) || !isset($ofOutcome[$outcome])) {
                continue;
            }
            [$n, $got] = $ofOutcome[$outcome];
            $this->examples[$name] = [
                'key' => $block->keyIndex[$n],
                'value' => $block->underIndex[$n] === $block->keyIndex[$n] ? $block->value[$n] : 0,
                'length' => strlen($got),
                'begins' => bin2hex(substr($got, 0, self::TOLD_BYTES)),
            ];
        }
    }

    public function addError(string $kind): void
    {
        $this->kinds[$kind] = ($this->kinds[$kind] ?? 0) + 1;
    }

    /**
     * The counts for the result of a phase that lasted `$wallNs`.
     *
     * @return array<string, mixed>
     */
    public function over(int $wallNs): array
    {
        $of = $this->outcomes;
        $wrong = array_map(static fn (int $outcome): int => $of[$outcome], Outcome::WRONG);
        ksort($this->latencies);
        return [
            'ops' => $this->ops,
            'hits' => $this->reads ? $of[Outcome::RIGHT] : 0,
            'misses' => $of[Outcome::MISS] + $of[Outcome::FILLED] + $of[Outcome::UNFILLED] + $of[Outcome::PLANNED],
            'planned_misses' => $of[Outcome::PLANNED],
            'wrong' => array_sum($wrong),
            ...$wrong,
            'wrong_examples' => (object) $this->examples,
            'errors' => $of[Outcome::ERROR],
            'failed_fills' => $of[Outcome::UNFILLED],
            'succeeded' => $of[Outcome::RIGHT] + $of[Outcome::FILLED] + $of[Outcome::PLANNED],
            'bytes' => $this->bytes,
            'busy_ns' => $this->busyNs,
            'latencies' => array_map(null, array_keys($this->latencies), array_values($this->latencies)),
            'errors_by_kind' => (object) $this->kinds,
            'timeline' => $this->timeline->over($wallNs),
        ];
    }

    /** The bytes to add for values whose length is not the expected one, right or wrong. */
    private static function otherBytes(Block $block, int $from, int $to): int
    {
        $bytes = 0;
        foreach ($block->bytesOf as $n => $length) {
            if ($n >= $from && $n <= $to) {
                $isRight = ($block->outcome[$n] ?? Outcome::RIGHT) === Outcome::RIGHT;
                $bytes += $length - ($isRight ? strlen($block->want[$n]) : 0);
            }
        }
        return $bytes;
    }

    /** Rounds to three digits: more digits tell nothing, and few different latencies remain. */
    private static function rounded(int $took): int
    {
        $unit = 1;
        while ($took >= 1_000 * $unit) {
            $unit *= 10;
        }
        return intdiv($took + intdiv($unit, 2), $unit) * $unit;
    }
}
