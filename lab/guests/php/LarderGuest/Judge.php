<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * Decides whether an unexpected value is right because another process stored a newer value, and otherwise in which way
 * it is wrong. The judge sees only values that differ from the expected one.
 */
final class Judge
{
    /** A value without a header that is at least this long hardly ever equals another value by chance. */
    private const TELLING_BYTES = 8;

    /** @var array<int, true> */
    private array $uncertain = [];

    public function __construct(private readonly Plan $plan)
    {
    }

    /** A change of this key was not acknowledged, so it may have any of its values. */
    public function distrust(int $key): void
    {
        $this->uncertain[$key] = true;
    }

    /** @return list<int> The keys with an unacknowledged change. */
    public function uncertain(): array
    {
        return array_keys($this->uncertain);
    }

    /** The outcome of operation `$n` of the block, which got `$got` instead of the expected value. */
    public function verdict(Block $block, int $n, string $got): int
    {
        $want = $block->want[$n];
        if (!$this->plan->replays && $this->isRight($block, $n, $got)) {
            if (strlen($got) !== strlen($want)) {
                $block->bytesOf[$n] = strlen($got);
            }
            return Outcome::RIGHT;
        }
        $block->bytesOf[$n] = strlen($got);
        $outcome = $this->plan->replays ? Outcome::DAMAGED : $this->wrong($block->keyIndex[$n], $want, $got);
        $block->noteWrong($n, $outcome, $got);
        return $outcome;
    }

    /** In which way the value `$got` of a key is wrong, where `$want` would have been right. */
    private function wrong(int $key, string $want, string $got): int
    {
        if (strlen($got) < Header::BYTES) {
            return $this->wrongWithoutHeader($key, $want, $got);
        }
        $read = $this->plan->header->readIntact($got);
        if ($read === null) {
            return Outcome::DAMAGED;
        }
        [$tag, $length] = $read;
        if ($tag !== $this->plan->header->tagOf($key)) {
            return Outcome::OTHER_KEY;
        }
        return strlen($got) < $length ? Outcome::TRUNCATED : Outcome::STALE;
    }

    /**
     * Where the key's values are shorter than a header, their bytes alone tell them apart. Otherwise a truncated value
     * begins as the tag of its key does.
     */
    private function wrongWithoutHeader(int $key, string $want, string $got): int
    {
        $newest = $this->plan->newest[$key];
        if ($newest !== 0 && strlen($this->plan->value($newest)) < Header::BYTES) {
            if (strlen($got) >= self::TELLING_BYTES && isset($this->plan->numbersOf($key)[$got])) {
                return Outcome::STALE;
            }
            $isCut = $want !== Block::NONE && strlen($got) < strlen($want) && str_starts_with($want, $got);
            return $isCut ? Outcome::TRUNCATED : Outcome::DAMAGED;
        }
        $tag = pack('P', $this->plan->header->tagOf($key));
        return str_starts_with($tag, substr($got, 0, strlen($tag))) ? Outcome::TRUNCATED : Outcome::DAMAGED;
    }

    /**
     * Whether `$got` is one of the key's values from the oldest right one to the newest. A hot key has thousands of
     * values, and the clock runs. So the first bytes of `$got` give the number of the one value to compare it with.
     * Where the key must be absent, no number is large enough.
     */
    private function isRight(Block $block, int $n, string $got): bool
    {
        $key = $block->keyIndex[$n];
        $first = strlen($got) > Plan::HEADER_BYTES ? substr($got, 0, Plan::HEADER_BYTES) : $got;
        $number = $this->plan->numbersOf($key)[$first] ?? 0;
        if ($number === 0) {
            return false;
        }
        // The value of a fill under another key says nothing about the values of this key.
        $isNew = $number >= $block->value[$n] || $block->underIndex[$n] !== $key;
        return ($isNew || isset($this->uncertain[$key])) && $block->isValue($number, $got);
    }
}
