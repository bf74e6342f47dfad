<?php

declare(strict_types=1);

/** Writes small plans as Larder does. */
final class TestPlan
{
    /** Values begin in the first bytes of the pool. */
    private const SPAN = 131_072;
    private const KINDS = ['get' => 0, 'set' => 1, 'get_or_set' => 2, 'delete' => 3, 'touch' => 4];

    /** @var list<array<string, mixed>> */
    public array $phases = [];
    /** @var array<int, int> */
    public array $newest = [];
    /** @var list<string> */
    public array $ops = [];

    /** @var list<string> */
    private array $values = [];
    private readonly string $pool;

    /** @param list<string> $keys */
    public function __construct(
        public readonly string $folder,
        public readonly array $keys,
        public readonly int $processes = 1,
        private readonly int|float|null $ttl = null,
        private readonly bool $replays = false,
    ) {
        $pool = '';
        for ($n = 0; $n < 200_000; $n++) {
            $pool .= chr(($n * 7919 + intdiv($n, 256)) % 251);
        }
        $this->pool = str_repeat($pool, 11);
    }

    /** Adds a value under the key of this index, and returns its number. */
    public function value(int $key, int $length): int
    {
        $number = count($this->values) + 1;
        // A guest only needs headers that differ. Larder composes others, and alone reads them.
        $header = [$key, $number, $length, 0, 0, 0];
        $this->values[] = pack('V9', $number * 7919 % self::SPAN, $length, $this->newest[$key] ?? 0, ...$header);
        return $this->newest[$key] = $number;
    }

    /**
     * Adds a phase of operations [kind, key, value, stored under] for each process.
     *
     * @param array<string, mixed> $options
     * @param list<array{0: string, 1: int, 2?: int, 3?: int}> ...$shares
     */
    public function phase(array $options, array ...$shares): void
    {
        $of = [];
        foreach ($shares as $share) {
            $of[] = [count($this->ops), count($share)];
            foreach ($share as $operation) {
                [$kind, $key, $value, $under] = $operation + [2 => 0, 3 => $operation[1]];
                $this->ops[] = pack('V4', self::KINDS[$kind], $key, $value, $under);
            }
        }
        $this->phases[] = $options
            + ['measured' => true, 'time_limit_s' => null, 'multiget' => 1, 'again' => false, 'shares' => $of];
    }

    /** Writes the plan, and returns its folder. */
    public function write(): string
    {
        $keys = '';
        foreach ($this->keys as $index => $key) {
            $keys .= pack('V2', $this->newest[$index] ?? 0, strlen($key)) . $key;
        }
        file_put_contents("$this->folder/pool.bin", $this->pool);
        file_put_contents("$this->folder/keys.bin", $keys);
        file_put_contents("$this->folder/values.bin", implode('', $this->values));
        file_put_contents("$this->folder/ops.bin", implode('', $this->ops));
        file_put_contents("$this->folder/plan.json", json_encode([
            'pool' => "$this->folder/pool.bin",
            'processes' => $this->processes,
            'ttl_s' => $this->ttl,
            'replays' => $this->replays,
            'phases' => $this->phases,
        ]));
        TestRecords::makePipes($this->folder, $this->processes);
        return $this->folder;
    }
}
