<?php

declare(strict_types=1);

/**
 * Receives the records of a phase as Larder does, and counts outcomes. Larder alone judges values: of those that are not
 * the expected ones, the values of the key that have a number count as hits here, and the others as wrong.
 */
final class TestRecords
{
    private const OUTCOMES = ['right', 'missed', 'failed', 'filled', 'unfilled', 'other'];
    private const NAMES = ['get', 'set', 'get_or_set', 'delete', 'touch'];
    private const COUNTS = ['ops', 'hits', 'misses', 'errors', 'wrong', 'failed_fills', 'succeeded', 'busy_ns'];

    /** @var list<int> The processes that still receive. */
    private array $pids = [];

    /** Begins to receive the records of all processes in a phase, by a process for each. */
    public function __construct(private readonly TestPlan $plan, private readonly int $phase)
    {
        for ($process = 0; $process < $plan->processes; $process++) {
            $records = fopen("$plan->folder/records-$process", 'r+b');
            stream_set_read_buffer($records, 0);
            $next = fopen("$plan->folder/next-$process", 'r+b');
            $file = fopen($this->received($process), 'wb');
            $pid = pcntl_fork();
            if ($pid === 0) {
                self::store($records, $next, $file);
                // Not `exit`: its clean-up would also end the programs of the test.
                posix_kill(posix_getpid(), SIGKILL);
            }
            $this->pids[] = $pid;
        }
    }

    /** A phase that was given up has no end. */
    public function __destruct()
    {
        foreach ($this->pids as $pid) {
            posix_kill($pid, SIGKILL);
        }
        $this->wait();
    }

    /** Makes the pipes of a plan. */
    public static function makePipes(string $folder, int $processes): void
    {
        for ($process = 0; $process < $processes; $process++) {
            foreach (["$folder/records-$process", "$folder/next-$process"] as $pipe) {
                file_exists($pipe) || posix_mkfifo($pipe, 0600);
            }
        }
    }

    /** Waits until all records have ended. */
    public function wait(): void
    {
        foreach ($this->pids as $pid) {
            pcntl_waitpid($pid, $status);
        }
        $this->pids = [];
    }

    /**
     * What each process did.
     *
     * @return list<array<string, mixed>>
     */
    public function counts(): array
    {
        $this->wait();
        return array_map($this->countsOf(...), range(0, $this->plan->processes - 1));
    }

    private function received(int $process): string
    {
        return "{$this->plan->folder}/received-{$this->phase}-$process";
    }

    /**
     * Writes all parts of a record to a file.
     *
     * @param resource $records
     * @param resource $next
     * @param resource $file
     */
    private static function store($records, $next, $file): void
    {
        do {
            $head = self::read($records, 8);
            [1 => $kind, 2 => $length] = unpack('V2', $head);
            fwrite($file, $head . self::read($records, $length));
            if ($kind === 1) {
                fwrite($next, "\n");
            }
        } while ($kind === 1);
    }

    /** @param resource $from */
    private static function read($from, int $length): string
    {
        $bytes = '';
        while (strlen($bytes) < $length) {
            $bytes .= fread($from, $length - strlen($bytes));
        }
        return $bytes;
    }

    /** @return array<string, mixed> */
    private function countsOf(int $process): array
    {
        $result = ['wall_ns' => 0, 'first_error' => null, 'failed' => [], 'notes' => [], 'operations' => []];
        $bytes = file_get_contents($this->received($process));
        $done = 0;
        for ($at = 0; $at < strlen($bytes); $at += 8 + $length) {
            [1 => $kind, 2 => $length] = unpack('V2', $bytes, $at);
            $part = substr($bytes, $at + 8, $length);
            if ($kind === 2) {
                return $result + json_decode($part, true, flags: JSON_THROW_ON_ERROR);
            }
            $done += $this->addBlock($result, $part, $process, $done);
        }
        throw new RuntimeException('a record without an end');
    }

    /**
     * Adds a block to a result, and returns the number of its operations.
     *
     * @param array<string, mixed> $result
     */
    private function addBlock(array &$result, string $part, int $process, int $done): int
    {
        [1 => $count, 2 => $segments, 3 => $noted] = unpack('V3', $part);
        $began = [];
        for ($n = 0; $n < $segments; $n++) {
            ['first' => $first, 'time' => $time] = unpack('Vfirst/V/Ptime', $part, 16 + 16 * $n);
            $began[$first] = $time;
        }
        $at = 16 + 16 * $segments;
        $ends = array_values(unpack("P$count", $part, $at));
        $outcomes = array_values(unpack("C$count", $part, $at + 8 * $count));
        $notes = self::notes(substr($part, $at + 9 * $count), $noted);
        $phase = $this->plan->phases[$this->phase];
        [$first, $share] = $phase['shares'][$process];
        for ($n = 0; $n < $count; $n++) {
            $then = $began[$n] ?? $then;
            [1 => $what, 3 => $value] = unpack('V3', $this->plan->ops[$first + ($done + $n) % $share]);
            $name = $what === 0 && $phase['multiget'] > 1 ? 'get_many' : self::NAMES[$what];
            $result['operations'][$name] ??= array_fill_keys(self::COUNTS, 0) + ['errors_by_kind' => []];
            $of = &$result['operations'][$name];
            $outcome = self::OUTCOMES[$outcomes[$n]];
            $isRight = $outcome === 'right' || $outcome === 'other' && $notes[$n][0] === 1;
            $of['ops']++;
            $of['hits'] += (int) ($isRight && ($what === 0 || $what === 2));
            $of['succeeded'] += (int) ($isRight || $outcome === 'filled');
            $of['wrong'] += (int) ($outcome === 'other' && !$isRight);
            $of['misses'] += (int) in_array($outcome, ['missed', 'filled', 'unfilled'], true);
            $of['errors'] += (int) ($outcome === 'failed');
            $of['failed_fills'] += (int) ($outcome === 'unfilled');
            $of['busy_ns'] += $ends[$n] - $then;
            $result['wall_ns'] += $ends[$n] - $then;
            $then = $ends[$n];
            if ($outcome === 'failed' || $outcome === 'unfilled') {
                [$kind, $text] = explode("\n", $notes[$n][2], 2) + [1 => null];
                $of['errors_by_kind'][$kind] = ($of['errors_by_kind'][$kind] ?? 0) + 1;
                $result['first_error'] ??= $text;
                if ($what === 1 || $what === 2) {
                    $result['failed'][] = $value;
                }
            }
        }
        array_push($result['notes'], ...array_values($notes));
        return $count;
    }

    /** @return array<int, array{int, int, string}> By operation, the kind, the number and the bytes of each note. */
    private static function notes(string $bytes, int $count): array
    {
        $notes = [];
        for ($at = 0; $count-- > 0; $at += 16 + $length) {
            [1 => $n, 2 => $kind, 3 => $number, 4 => $length] = unpack('V4', $bytes, $at);
            $notes[$n] = [$kind, $number, substr($bytes, $at + 16, $length)];
        }
        return $notes;
    }
}
