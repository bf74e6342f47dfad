<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * A plan in memory: keys, the pool that values are cut from, operations. Values are composed when a block of operations
 * is made ready, for all values together may be larger than memory.
 */
final class Plan
{
    public const GET = 0;
    public const SET = 1;
    public const GET_OR_SET = 2;
    public const DELETE = 3;
    public const TOUCH = 4;

    /** A value begins with a header of this length, which is unique, unless it is shorter. */
    public const HEADER_BYTES = 24;
    /** The value of a get whose key must be absent; larger than the number of any value. */
    public const NOTHING = 0xFFFF_FFFF;

    private const OPERATION_BYTES = 16;
    private const VALUE_BYTES = 36;
    /** The number of operations that are unpacked at once to be looked through. */
    private const LOOKED_THROUGH = 16_384;

    /** @var list<string> */
    public array $keys = [];
    /** @var list<int> The number of the last value of each key; 0 where the key has no value. */
    public array $newest = [];
    /** @var array<int, array<array-key, int>> The results of numbersOf() so far. */
    public array $numbers = [];

    /** @param list<array<string, mixed>> $phases */
    private function __construct(
        public readonly string $folder,
        public readonly int $processes,
        public readonly int|float|null $ttl,
        public readonly bool $replays,
        public readonly array $phases,
        private readonly string $pool,
        private readonly string $values,
        private readonly string $operations,
    ) {
    }

    public static function read(string $folder): self
    {
        $plan = self::readJson("$folder/plan.json");
        $self = new self(
            $folder,
            $plan['processes'],
            $plan['ttl_s'],
            $plan['replays'],
            $plan['phases'],
            self::slurp($plan['pool']),
            self::slurp("$folder/values.bin"),
            self::slurp("$folder/ops.bin"),
        );
        $self->readKeys(self::slurp("$folder/keys.bin"));
        return $self;
    }

    /** @return array<string, mixed> */
    public static function readJson(string $path): array
    {
        return json_decode(self::slurp($path), true, flags: JSON_THROW_ON_ERROR);
    }

    /** Value number `$value`, in a string of its own. */
    public function value(int $value): string
    {
        [1 => $at, 2 => $length] = unpack('V2', $this->values, ($value - 1) * self::VALUE_BYTES);
        if ($length < self::HEADER_BYTES) {
            return substr($this->pool, $at, $length);
        }
        return substr($this->values, ($value - 1) * self::VALUE_BYTES + 12, self::HEADER_BYTES)
            . substr($this->pool, $at + self::HEADER_BYTES, $length - self::HEADER_BYTES);
    }

    /**
     * The numbers of a key's values, by the first bytes of each value, which are unique. Of equal short values: the
     * newest.
     *
     * @return array<array-key, int>
     */
    public function numbersOf(int $key): array
    {
        if (isset($this->numbers[$key])) {
            return $this->numbers[$key];
        }
        $numbers = [];
        $value = $this->newest[$key];
        while ($value !== 0) {
            $place = ($value - 1) * self::VALUE_BYTES;
            [1 => $at, 2 => $length, 3 => $previous] = unpack('V3', $this->values, $place);
            $first = $length < self::HEADER_BYTES
                ? substr($this->pool, $at, $length)
                : substr($this->values, $place + 12, self::HEADER_BYTES);
            $numbers[$first] ??= $value;
            $value = $previous;
        }
        return $this->numbers[$key] = $numbers;
    }

    /**
     * Kind, key, value and key to store under of `$count` operations from `$first` on, one behind the other, from index
     * 1.
     *
     * @return array<int, int>
     */
    public function operations(int $first, int $count): array
    {
        return $count === 0 ? [] : unpack('V' . 4 * $count, $this->operations, $first * self::OPERATION_BYTES);
    }

    /**
     * The number of the value that the null cache holds when a process begins a phase. It is the value that was set
     * last, or the fill of the first miss; 0 where the cache is empty.
     */
    public function heldBefore(int $phase, int $process): int
    {
        $held = 0;
        for ($earlier = 0; $earlier < $phase; $earlier++) {
            $set = 0;
            $filled = 0;
            foreach ($this->changes(...$this->phases[$earlier]['shares'][$process]) as [$kind, $value]) {
                if ($kind === self::SET) {
                    $set = $value;
                } elseif ($kind === self::GET_OR_SET && $set === 0 && $filled === 0) {
                    $filled = $value;
                }
            }
            $held = $set ?: $held ?: $filled;
        }
        return $held;
    }

    /**
     * Whether every value that the processes store in a phase is one entry more. A key stored before may have been
     * there or not, and deleted and expired entries are gone too.
     */
    public function storesOnlyNewKeys(int $phase): bool
    {
        if ($this->ttl !== null || $this->phases[$phase]['again']) {
            return false;
        }
        $stored = [];
        for ($number = 0; $number <= $phase; $number++) {
            $isHere = $number === $phase;
            foreach ($this->phases[$number]['shares'] as $share) {
                foreach ($this->changes(...$share) as [$kind, , $key]) {
                    if ($isHere && ($kind === self::DELETE || isset($stored[$key]))) {
                        return false;
                    }
                    if ($kind !== self::DELETE) {
                        $stored[$key] = true;
                    }
                }
            }
        }
        return true;
    }

    /**
     * The operations of a share that change entries: the kind of each, its value, and the key that it changes.
     *
     * @return \Generator<array{int, int, int}>
     */
    private function changes(int $first, int $count): \Generator
    {
        for ($at = 0; $at < $count; $at += self::LOOKED_THROUGH) {
            $operations = $this->operations($first + $at, min(self::LOOKED_THROUGH, $count - $at));
            for ($n = 1, $end = count($operations); $n < $end; $n += 4) {
                $kind = $operations[$n];
                if ($kind !== self::GET && $kind !== self::TOUCH) {
                    yield [$kind, $operations[$n + 2], $operations[$n + 3]];
                }
            }
        }
    }

    private function readKeys(string $bytes): void
    {
        for ($at = 0, $end = strlen($bytes); $at < $end; $at += 8 + $length) {
            [1 => $newest, 2 => $length] = unpack('V2', $bytes, $at);
            $this->newest[] = $newest;
            $this->keys[] = substr($bytes, $at + 8, $length);
        }
    }

    private static function slurp(string $path): string
    {
        $bytes = @file_get_contents($path);
        if ($bytes === false) {
            throw new Failure('io', "cannot open $path: " . (error_get_last()['message'] ?? 'for an unknown reason'));
        }
        return $bytes;
    }
}
