<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * Operations made ready for the loop: an array for each of their fields, composed values, and places for the loop's
 * notes. A process alone makes them ready while its clock stands still. Each of several processes does so before its
 * clock starts, unless there are too many operations.
 */
final class Block
{
    /** The expectation of a get where no value is right: a string that is no value of any plan. */
    private const NONE = 'nothing is stored under this key, so no value of it is right';
    /** The bytes of other values that a block keeps as they are. Of the values after these it keeps the beginning. */
    private const OTHER_BYTES = 16 << 20;
    private const BEGINNING = 64;

    public int $count = 0;
    /** The kind of all operations; `null` where the kinds are mixed. */
    public ?int $onlyKind = null;
    /** @var list<int> */
    public array $kind = [];
    /** @var list<string> */
    public array $key = [];
    /** @var list<string> */
    public array $under = [];
    /** @var list<string> The value that a get should find, or that a set stores. */
    public array $want = [];

    /** @var list<int> When each operation ended, in nanoseconds. */
    public array $end = [];
    /** @var array<int, int> The outcome of each operation that is not simply right. */
    public array $outcome = [];
    /** @var array<int, Failure> The failure of each operation that failed. */
    public array $errors = [];
    /** @var array<int, int|array{int, string}> Other values: the number of each, or its length and its bytes. */
    public array $others = [];
    /** @var list<Note> */
    public array $notes = [];
    /** @var list<array{int, int}> The first operation of each segment, and its start time. */
    public array $segments = [];
    /** @var array<int, int> The last operation of a request of many keys, by its first operation. */
    public array $requestTo = [];
    /** @var array<int, list<string>> The keys of a request, by its first operation. */
    public array $requestKeys = [];

    /** @var list<int> */
    private array $keyIndex = [];
    private int $otherBytes = 0;
    /** @var array<int, string> Values by their number, for gets to compare with. */
    private array $read = [];
    /** @var array<int, string> Values by their number, for sets to store. */
    private array $stored = [];
    private int $composed = 0;

    /**
     * `$operations` and `$bytes` limit the block; `$held` is the number of the value that the null cache holds. With
     * `$meetsNewer`, gets may meet newer values than they expect, so the numbers of their keys' values are made ready
     * too.
     */
    public function __construct(
        private readonly Plan $plan,
        private readonly int $operations,
        private readonly int $bytes,
        public readonly int $multiget,
        private readonly bool $meetsNewer,
        private int $held,
    ) {
    }

    /** Makes ready as many of the `$count` operations from `$first` on as fit, and returns their number. */
    public function fill(int $first, int $count): int
    {
        if ($this->composed >= $this->bytes) {
            $this->read = $this->stored = [];
            $this->composed = 0;
        }
        $plan = $this->plan;
        $words = $plan->operations($first, min($count, $this->operations));
        $this->forget();
        $n = 0;
        for ($at = 1, $end = count($words); $at < $end && $this->composed < $this->bytes; $at += 4) {
            $kind = $words[$at];
            $key = $words[$at + 1];
            $this->kind[] = $kind;
            $this->keyIndex[] = $key;
            $this->key[] = $plan->keys[$key];
            $this->under[] = $plan->keys[$words[$at + 3]];
            $this->makeReady($kind, $key, $words[$at + 2]);
            $n++;
        }
        $this->count = $n;
        // Filled, so that the loop finds room for all end times.
        $this->end = $n === 0 ? [] : array_fill(0, $n, 0);
        $this->onlyKind = count(array_unique($this->kind)) === 1 ? $this->kind[0] : null;
        if ($this->multiget > 1) {
            $this->makeRequests();
        }
        return $n;
    }

    /**
     * Notes that operation `$n` got `$got` in place of the expected value: the number of this value among those of its
     * key, or its bytes. A hot key has thousands of values, and the clock runs. So the first bytes of `$got` give the
     * number of the one value to compare it with.
     */
    public function other(int $n, string $got): int
    {
        $length = strlen($got);
        $first = $length > Plan::HEADER_BYTES ? substr($got, 0, Plan::HEADER_BYTES) : $got;
        $number = $this->plan->replays ? 0 : $this->plan->numbersOf($this->keyIndex[$n])[$first] ?? 0;
        if ($number !== 0 && $this->isValue($number, $got)) {
            $this->others[$n] = $number;
        } else {
            $this->otherBytes += $length;
            $isKept = $this->otherBytes <= self::OTHER_BYTES;
            $this->others[$n] = [$length, $isKept ? $got : substr($got, 0, self::BEGINNING)];
        }
        return Outcome::OTHER;
    }

    /** The number of values that the first `$count` operations stored. */
    public function stored(int $count): int
    {
        $stored = count(array_keys(array_slice($this->kind, 0, $count), Plan::SET, true));
        foreach ($this->outcome as $n => $what) {
            if ($what === Outcome::FILLED) {
                $stored++;
            } elseif ($this->kind[$n] === Plan::SET) {
                // A set that is not right has failed.
                $stored--;
            }
        }
        return $stored;
    }

    /** Whether `$got` is value number `$value`. The composed value is kept for later gets, while there is room. */
    private function isValue(int $value, string $got): bool
    {
        if (isset($this->read[$value]) || $this->composed < $this->bytes) {
            return strcmp($got, $this->composed($this->read, $value)) === 0;
        }
        return strcmp($got, $this->plan->value($value)) === 0;
    }

    /** Sets the value of an operation: the value that a set stores, or that a get should find. */
    private function makeReady(int $kind, int $key, int $value): void
    {
        $plan = $this->plan;
        if ($kind === Plan::SET) {
            $this->held = $value;
            $this->want[] = $this->composed($this->stored, $value);
            return;
        }
        if ($kind !== Plan::GET && $kind !== Plan::GET_OR_SET) {
            $this->want[] = '';
            return;
        }
        if ($plan->replays) {
            if ($kind === Plan::GET_OR_SET && $this->held === 0) {
                $this->held = $value;
            }
            $value = $this->held;
        } elseif ($this->meetsNewer) {
            $plan->numbersOf($key);
        }
        $right = $value === 0 ? $plan->newest[$key] : $value;
        $this->want[] = $right === 0 || $right === Plan::NOTHING ? self::NONE : $this->composed($this->read, $right);
    }

    /**
     * A value, which later blocks share while there is room. Gets and sets have separate strings, even of the same
     * value. The null cache returns the very string that it was given, and comparing a string with itself would cost
     * nothing.
     *
     * @param array<int, string> $values
     */
    private function composed(array &$values, int $value): string
    {
        if (isset($values[$value])) {
            return $values[$value];
        }
        $text = $this->plan->value($value);
        $this->composed += strlen($text);
        return $values[$value] = $text;
    }

    private function forget(): void
    {
        $this->kind = $this->keyIndex = $this->key = $this->under = $this->want = [];
        $this->outcome = $this->errors = $this->others = $this->notes = $this->segments = [];
        $this->otherBytes = 0;
    }

    /** Joins successive gets into requests of up to `$multiget` keys: the end of each request, and its keys. */
    private function makeRequests(): void
    {
        $this->requestTo = $this->requestKeys = [];
        for ($from = 0; $from < $this->count; $from = $to + 1) {
            $to = $from;
            if ($this->kind[$from] === Plan::GET) {
                while ($to - $from + 1 < $this->multiget && ($this->kind[$to + 1] ?? -1) === Plan::GET) {
                    $to++;
                }
            }
            $this->requestTo[$from] = $to;
            $this->requestKeys[$from] = array_slice($this->key, $from, $to - $from + 1);
        }
    }
}
