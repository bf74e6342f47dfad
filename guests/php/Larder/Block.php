<?php

declare(strict_types=1);

namespace Larder;

/**
 * Operations made ready for the loop: an array for each thing that it needs, strings that are composed already, places for
 * what it notes. This happens while the clock stands still, or, of several processes, before it starts where there are not
 * too many of them.
 */
final class Block
{
    /** No value of any plan, for a key under which none is right. */
    public const NONE = 'nothing is stored under this key, so no value of it is right';

    public int $count = 0;
    /** The one kind that all operations are of; `null` where they are mixed. */
    public ?int $onlyKind = null;
    /** @var list<int> */
    public array $kind = [];
    /** @var list<int> */
    public array $keyIndex = [];
    /** @var list<int> */
    public array $value = [];
    /** @var list<int> */
    public array $underIndex = [];
    /** @var list<string> */
    public array $key = [];
    /** @var list<string> */
    public array $under = [];
    /** @var list<string> What a get should find, and what a set stores. */
    public array $want = [];

    /** @var list<int> When each operation ended, in nanoseconds. */
    public array $end = [];
    /** @var array<int, int> What each came to that is not simply right. */
    public array $outcome = [];
    /** @var array<int, int> The length of what was got, where it is not that of what was wanted. */
    public array $bytesOf = [];
    /** @var array<int, Failure> */
    public array $errors = [];
    /** @var array<int, array<int, array{int, string}>> By kind and outcome, the first operation that was wrong in this way, and what it got. */
    public array $wrong = [];
    /** @var list<Note> */
    public array $notes = [];
    /** @var list<array{int, int, int, int}> First and last operation, when it began, and how long the phase had lasted. */
    public array $segments = [];
    /** @var array<int, int> Of requests of many keys, by their first operation, the last. */
    public array $requestTo = [];
    /** @var array<int, list<string>> And the keys. */
    public array $requestKeys = [];

    /** @var list<int> The operations that are right where they find nothing. */
    private array $nothing = [];
    /** @var array<int, string> Values by their number, as they are compared. */
    private array $read = [];
    /** @var array<int, string> Values by their number, as they are stored. */
    private array $stored = [];
    private int $composed = 0;

    /**
     * `$operations` and `$bytes` say how much is made ready at once at most; `$held` is what the null cache holds. Where gets
     * may meet newer values than they expect, `$meetsNewer`, what tells those apart is made ready too.
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

    /** Makes as many of `$count` operations from `$first` on ready as fit; returns how many. */
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
            $this->underIndex[] = $words[$at + 3];
            $this->under[] = $plan->keys[$words[$at + 3]];
            $this->makeReady($kind, $key, $words[$at + 2]);
            $n++;
        }
        $this->count = $n;
        // Filled, so that the loop finds room for all of them.
        $this->end = $n === 0 ? [] : array_fill(0, $n, 0);
        $this->onlyKind = count(array_unique($this->kind)) === 1 ? $this->kind[0] : null;
        if ($this->multiget > 1) {
            $this->makeRequests();
        }
        return $n;
    }

    /** What missed where nothing may be there has done what it should. Asked once it is known which misses were failures. */
    public function settleMisses(): void
    {
        foreach ($this->nothing as $n) {
            if (($this->outcome[$n] ?? Outcome::RIGHT) === Outcome::MISS) {
                $this->outcome[$n] = Outcome::PLANNED;
            }
        }
    }

    /** Keeps the first value of a kind of operation that is wrong in this way. */
    public function noteWrong(int $n, int $outcome, string $got): void
    {
        $this->wrong[$this->kind[$n]][$outcome] ??= [$n, $got];
    }

    /** Whether `$got` is value number `$value`; what it is compared with is kept while there is room, for it will be got again. */
    public function isValue(int $value, string $got): bool
    {
        if (isset($this->read[$value]) || $this->composed < $this->bytes) {
            return strcmp($got, $this->composed($this->read, $value)) === 0;
        }
        return strcmp($got, $this->plan->value($value)) === 0;
    }

    /** What an operation is about: the value of a set, or what a get should find. */
    private function makeReady(int $kind, int $key, int $value): void
    {
        $plan = $this->plan;
        if ($kind === Plan::SET) {
            $this->held = $value;
            $this->value[] = $value;
            $this->want[] = $this->composed($this->stored, $value);
            return;
        }
        if ($kind !== Plan::GET && $kind !== Plan::GET_OR_SET) {
            $this->value[] = $value;
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
        if ($right === Plan::NOTHING) {
            $this->nothing[] = count($this->value);
        }
        $this->value[] = $value;
        $this->want[] = $right === 0 || $right === Plan::NOTHING ? self::NONE : $this->composed($this->read, $right);
    }

    /**
     * A value, which the next blocks have too while there is room. What is read and what is stored are strings of their own,
     * even when they are the same value: the null cache hands back the very string that it was given, and comparing a string
     * with itself would cost nothing.
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
        $this->kind = $this->keyIndex = $this->value = $this->underIndex = $this->key = $this->under = $this->want = [];
        $this->outcome = $this->bytesOf = $this->errors = $this->notes = $this->segments = [];
        $this->wrong = $this->nothing = [];
    }

    /** Gets that follow one another become requests of so many keys: where each ends, and its keys. */
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
