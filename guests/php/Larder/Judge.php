<?php

declare(strict_types=1);

namespace Larder;

/**
 * Whether a value that is not the expected one is right all the same, because somebody else stored a newer one; and if not, in
 * which way it is wrong. Only what differs comes here.
 */
final class Judge
{
    /** A value without a header is hardly ever another one of this length by chance. */
    private const TELLING_BYTES = 8;

    /** @var array<int, true> */
    private array $uncertain = [];

    public function __construct(private readonly Plan $plan)
    {
    }

    /** What should have been stored under this key was not acknowledged, so every value of its may be there. */
    public function distrust(int $key): void
    {
        $this->uncertain[$key] = true;
    }

    /** @return list<int> The keys of which that is so. */
    public function uncertain(): array
    {
        return array_keys($this->uncertain);
    }

    /** What operation `$n` of the block got instead of what it wanted. */
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

    /** In which way what was got under a key is wrong, where `$want` would have been right. */
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
     * A value of a key whose values are that short is told by its bytes alone. Otherwise it is what is left of a longer one, which
     * begins with the tag of its key.
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
     * Whether it is one of the values from the key's newest to the oldest that is right. A hot key has thousands of them and
     * the clock runs, so its number is looked up by its first bytes, and it is compared with that one alone. Where nothing
     * may be there no number is large enough.
     */
    private function isRight(Block $block, int $n, string $got): bool
    {
        $key = $block->keyIndex[$n];
        $first = strlen($got) > Plan::HEADER_BYTES ? substr($got, 0, Plan::HEADER_BYTES) : $got;
        $number = $this->plan->numbersOf($key)[$first] ?? 0;
        if ($number === 0) {
            return false;
        }
        // What a miss would have stored under another key says nothing of this one's.
        $isNew = $number >= $block->value[$n] || $block->underIndex[$n] !== $key;
        return ($isNew || isset($this->uncertain[$key])) && $block->isValue($number, $got);
    }
}
