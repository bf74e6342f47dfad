<?php
// Workers on APCu: the work of work.rs, as far as this cache can do it. APCu's memory is shared by fork alone, so this program
// forks the workers. It answers `start NUMBER` with the process, and `reap NUMBER` with the end of that process. When its input
// ends, it ends all workers.
//
// apcu.php FOLDER

declare(strict_types=1);

// The ledger's layout is in ledger.rs. All places are in words.
const WORKERS = 8, KEYS = 4096, COUNTERS = 64, LINE = 288, EACH = 4;
const FIRST_KEY = WORKERS * LINE, FIRST_COUNTER = FIRST_KEY + EACH * KEYS;
const OPERATIONS = 0, HITS = 1, WRONG = 2, OLD = 3;
const SINCE = 16, WAITED = 17, KEY = 18, SLOW = 20, STOPPED = 21;
const BEGUN = 0, OLDEST = 1, STORED = 2;
const ANY = -1, OFTEN = 2_000_000, TOLD = 50_000_000;

final class Worker
{
    private $ledger;
    private int $line;

    public function __construct(string $folder, private int $number)
    {
        $this->ledger = fopen("$folder/ledger", 'r+b');
        stream_set_read_buffer($this->ledger, 0);
        stream_set_write_buffer($this->ledger, 0);
        $this->line = $number * LINE;
        mt_srand(getmypid());
    }

    public function work(int $parent): void
    {
        [$asked, $waited] = [0, 0];
        while (true) {
            [$what, $on, $key] = $this->choose();
            $began = hrtime(true);
            if ($began - $asked > OFTEN) {
                $waited = $this->waited();
                $this->put($this->line + WAITED, $waited);
                $asked = $began = hrtime(true);
                if (posix_getppid() !== $parent) {
                    exit(0);
                }
            }
            $this->put($this->line + SINCE, $began);
            $this->put($this->line + KEY, $key);
            $this->$what($on);
            $ended = hrtime(true);
            if ($ended - $began >= TOLD) {
                $told = $this->word($this->line + SLOW);
                $slow = [$began, $ended, $this->waited() - $waited, $key << 1];
                $this->put($this->line + 32 + 4 * ($told % 64), ...$slow);
                $this->put($this->line + SLOW, $told + 1);
            }
            $this->put($this->line + SINCE, 0);
            $this->tally(OPERATIONS);
        }
    }

    private function choose(): array
    {
        $stopped = $this->word(STOPPED) - 1;
        $again = $stopped >= 0 && $stopped < KEYS && mt_rand(1, $stopped % WORKERS === $this->number ? 2 : 8) === 1;
        $any = $again ? $stopped : mt_rand(0, KEYS - 1);
        $own = $any - $any % WORKERS + $this->number;
        $counter = $any % COUNTERS;
        $which = mt_rand(0, 4095);
        return match (true) {
            $which < 1 && mt_rand(1, 32) === 1 => ['clear', 0, ANY],
            $which < 600 => ['set', $own, $own],
            $which < 750 => ['remove', $own, $own],
            $which < 900 => ['count', $counter, KEYS + $counter],
            default => ['get', $any, $any],
        };
    }

    private function words(int $at, int $count): array
    {
        fseek($this->ledger, 8 * $at);
        $bytes = '';
        while (strlen($bytes) < 8 * $count) {
            $bytes .= fread($this->ledger, 8 * $count - strlen($bytes));
        }
        return array_values(unpack('q*', $bytes));
    }

    private function word(int $at): int
    {
        return $this->words($at, 1)[0];
    }

    private function put(int $at, int ...$words): void
    {
        fseek($this->ledger, 8 * $at);
        fwrite($this->ledger, pack('q*', ...$words));
    }

    private function tally(int $of): void
    {
        $this->put($this->line + $of, $this->word($this->line + $of) + 1);
    }

    private function key(int $key, int $word): int
    {
        return $this->word(FIRST_KEY + EACH * $key + $word);
    }

    private function raise(int $key, int $word, int $to): void
    {
        if ($this->key($key, $word) < $to) {
            $this->put(FIRST_KEY + EACH * $key + $word, $to);
        }
    }

    private function waited(): int
    {
        return (int) explode(' ', file_get_contents('/proc/self/schedstat'))[1];
    }

    /** The value of a key in a version: of as many lengths as in values.rs. */
    private function value(int $key, int $version): string
    {
        $mixed = ($key * 2654435761 + $version * 40503) % 1_000_003;
        $long = intdiv($key, WORKERS) % 8 === 0 ? $mixed % 8 : 7;
        $length = $long === 0 ? 20_000 + $mixed % 60_000 : ($long < 4 ? 4000 + $mixed % 6000 : 24 + $mixed % 2000);
        return substr(str_repeat(pack('qq', $version, $key), 1 + intdiv($length, 16)), 0, $length);
    }

    private function get(int $key): void
    {
        $oldest = $this->key($key, OLDEST);
        $found = apcu_fetch("key-$key", $is_there);
        if (!$is_there) {
            return;
        }
        $newest = $this->key($key, BEGUN);
        $this->tally(HITS);
        $version = is_string($found) && strlen($found) >= 16 ? unpack('q', $found)[1] : 0;
        $right = $version > 0 && $version <= $newest && $found === $this->value($key, $version);
        if (!$right || $version < $oldest) {
            $this->tally($right ? OLD : WRONG);
        }
    }

    private function begin(int $key): int
    {
        $version = $this->key($key, BEGUN) + 1;
        $this->put(FIRST_KEY + EACH * $key + BEGUN, $version);
        return $version;
    }

    private function set(int $key): void
    {
        $version = $this->begin($key);
        if (apcu_store("key-$key", $this->value($key, $version))) {
            $this->raise($key, STORED, $version);
            $this->raise($key, OLDEST, $version);
        } else {
            apcu_delete("key-$key");
            $this->raise($key, OLDEST, $version + 1);
        }
    }

    private function remove(int $key): void
    {
        $version = $this->begin($key);
        apcu_delete("key-$key");
        $this->raise($key, OLDEST, $version + 1);
    }

    private function clear(): void
    {
        $words = $this->words(FIRST_KEY, EACH * KEYS);
        apcu_clear_cache();
        for ($key = 0; $key < KEYS; $key++) {
            $stored = $words[EACH * $key + STORED];
            if ($stored > 0) {
                $this->raise($key, OLDEST, $stored + 1);
            }
        }
    }

    /** A counter: see counters.rs. */
    private function count(int $counter): void
    {
        $at = FIRST_COUNTER + 2 * WORKERS * $counter;
        $sums = fn () => $this->words($at + WORKERS, WORKERS);
        $least = max($sums());
        $this->put($at + $this->number, $this->word($at + $this->number) + 1);
        $old = apcu_fetch("counter-$counter", $is_there);
        if ($is_there && is_int($old)) {
            if (!apcu_cas("counter-$counter", $old, $old + 1)) {
                return;
            }
            $this->put($at + WORKERS + $this->number, $old + 1);
            if ($old + 1 <= $least) {
                $this->tally(OLD);
            }
            $most = WORKERS + array_sum($this->words($at, WORKERS));
            if ($old + 1 > $most || count(array_keys($sums(), $old + 1)) > 1) {
                $this->tally(WRONG);
            }
        } elseif ($is_there) {
            $this->tally(WRONG);
        } elseif ($counter % WORKERS === $this->number) {
            $this->put($at + $this->number, $this->word($at + $this->number) + 2 * WORKERS);
            $first = array_sum($this->words($at, WORKERS));
            if (apcu_add("counter-$counter", $first)) {
                $this->put($at + WORKERS + $this->number, $first);
            }
        }
    }
}

$parent = getmypid();
$processes = [];
while (($line = fgets(STDIN)) !== false) {
    [$order, $number] = explode(' ', trim($line));
    if ($order === 'start') {
        $process = pcntl_fork();
        if ($process === 0) {
            (new Worker($argv[1], (int) $number))->work($parent);
        }
        $processes[$number] = $process;
        echo "$process\n";
    } else {
        pcntl_waitpid($processes[$number], $status);
        unset($processes[$number]);
        echo pcntl_wifsignaled($status) ? 'signal: ' . pcntl_wtermsig($status) : 'exit status: ' . pcntl_wexitstatus($status), "\n";
    }
}
foreach ($processes as $process) {
    posix_kill($process, SIGKILL);
}
