<?php

declare(strict_types=1);

namespace Larder;

/**
 * Whether a value that is not the expected one is right all the same, because somebody else stored a newer one, or a
 * truncated one, or plainly wrong. Only what differs comes here.
 */
final class Judge
{
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
        if ($want === Block::NONE || strlen($got) >= strlen($want)) {
            return Outcome::WRONG;
        }
        return str_starts_with($want, $got) ? Outcome::TRUNCATED : Outcome::WRONG;
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
