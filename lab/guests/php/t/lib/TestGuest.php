<?php

declare(strict_types=1);

/** A guest as Larder starts it. */
final class TestGuest
{
    /** The settings with which Larder starts PHP. */
    private const SETTINGS = [
        'memory_limit=-1', 'display_errors=stderr', 'log_errors=0', 'opcache.enable_cli=1',
        'opcache.file_update_protection=0', 'apc.enable_cli=1', 'xcache.var_size=8M',
    ];

    public readonly string $folder;
    /** @var array<string, mixed>|null */
    public readonly ?array $opened;
    public readonly int $pid;
    /** @var resource|null */
    private $program;
    /** @var resource|null */
    private $to;
    /** @var resource */
    private $from;
    private ?TestPlan $plan = null;
    /** @var array<int, TestRecords> The records of the loaded plan, by phase. */
    private array $records = [];

    /**
     * Starts the program for a cache. `$order` replaces fields of open.json; `$settings` are further settings of PHP.
     *
     * @param array<string, mixed> $order
     * @param list<string> $settings
     */
    public function __construct(string $cache, array $order = [], array $settings = [], string $errors = 'php://stderr')
    {
        $this->folder = folder();
        $open = $order + [
            'protocol' => 3, 'cache' => $cache, 'options' => new stdClass(), 'folder' => $this->folder . '/files',
            'servers' => [], 'server' => new stdClass(), 'tiers' => [], 'room_bytes' => 8 << 20,
            'largest_bytes' => 32_768, 'fresh' => true,
        ];
        @mkdir($this->folder . '/files');
        file_put_contents("$this->folder/open.json", json_encode($open));
        $command = [PHP_BINARY];
        $given = [...self::SETTINGS, 'auto_prepend_file=' . __DIR__ . '/xcache.php', ...$settings];
        foreach ($given as $setting) {
            array_push($command, '-d', $setting);
        }
        array_push($command, dirname(__DIR__, 2) . '/guest.php', $this->folder);
        $pipes = [['pipe', 'r'], ['pipe', 'w'], ['file', $errors, 'a']];
        $this->program = proc_open($command, $pipes, $ends);
        [$this->to, $this->from] = $ends;
        stream_set_read_buffer($this->from, 0);
        $this->pid = proc_get_status($this->program)['pid'];
        $this->opened = $this->answer();
    }

    public function __destruct()
    {
        if ($this->program !== null) {
            proc_terminate($this->program, SIGKILL);
            proc_close($this->program);
        }
    }

    public function send(string $bytes): void
    {
        fwrite($this->to, $bytes);
    }

    /** @return array<string, mixed>|null */
    public function answer(): ?array
    {
        $line = '';
        while (!str_ends_with($line, "\n") && ($byte = fread($this->from, 1)) !== '' && $byte !== false) {
            $line .= $byte;
        }
        return $line === '' ? null : json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    }

    /**
     * The answer to a command, without the `alive` lines before it.
     *
     * @return array<string, mixed>|null
     */
    public function ask(string $command, string $bytes = ''): ?array
    {
        $this->send("$command\n$bytes");
        return $this->lastAnswer();
    }

    /** @return array<string, mixed>|null */
    public function lastAnswer(): ?array
    {
        do {
            $answer = $this->answer();
        } while (isset($answer['alive']));
        if (isset($answer['ran'])) {
            // The next phase has the same pipes.
            $this->records[$answer['ran']]->wait();
        }
        return $answer;
    }

    /** Whether an answer comes within `$seconds`. */
    public function answersWithin(float $seconds): bool
    {
        $ready = [$this->from];
        $none = null;
        return stream_select($ready, $none, $none, (int) $seconds, (int) (fmod($seconds, 1) * 1e6)) > 0;
    }

    /** @return array<string, mixed>|null */
    public function set(string $key, string $value, string $ttl = '-'): ?array
    {
        return $this->ask(sprintf('set %d %d %s', strlen($key), strlen($value), $ttl), $key . $value);
    }

    public function get(string $key): ?string
    {
        $answer = $this->ask('get ' . strlen($key), $key);
        if (isset($answer['error'])) {
            throw new RuntimeException($answer['error']);
        }
        if ($answer['found'] === null) {
            return null;
        }
        $value = '';
        while (strlen($value) < $answer['found']) {
            $value .= fread($this->from, $answer['found'] - strlen($value));
        }
        return $value;
    }

    public function delete(string $key): ?bool
    {
        return $this->ask('delete ' . strlen($key), $key)['found'] ?? null;
    }

    /** @return array<string, mixed>|null */
    public function load(TestPlan $plan): ?array
    {
        $this->plan = $plan;
        $this->records = [];
        return $this->ask('load ' . $plan->write());
    }

    /** Begins a phase of the loaded plan. */
    public function begin(int $phase): void
    {
        $this->records[$phase] = new TestRecords($this->plan, $phase);
        $this->send("run $phase\n");
    }

    /** @return array<string, mixed>|null */
    public function run(int $phase): ?array
    {
        $this->begin($phase);
        return $this->lastAnswer();
    }

    /**
     * Loads a plan and runs its phases; returns the results of the processes, by phase.
     *
     * @return list<list<array<string, mixed>>>
     */
    public function runPlan(TestPlan $plan): array
    {
        $answer = $this->load($plan);
        if (($answer['loaded'] ?? false) !== true) {
            throw new RuntimeException('the plan was not loaded: ' . json_encode($answer));
        }
        $found = [];
        foreach (array_keys($plan->phases) as $phase) {
            $answer = $this->run($phase);
            if (isset($answer['error']) || $answer === null) {
                throw new RuntimeException("phase $phase: " . ($answer['error'] ?? 'no answer'));
            }
            $found[] = $this->result($phase);
        }
        return $found;
    }

    /**
     * The results of the processes in a phase.
     *
     * @return list<array<string, mixed>>
     */
    public function result(int $phase): array
    {
        return $this->records[$phase]->counts();
    }

    /** Ends the guest by `end`; returns its exit code. */
    public function end(): int
    {
        $this->send("end\n");
        return $this->closeInput();
    }

    /** Closes the guest's input; returns its exit code. */
    public function closeInput(): int
    {
        fclose($this->to);
        return $this->wait();
    }

    /** The guest's exit code, or minus the signal that ended it. */
    public function wait(): int
    {
        while (($status = proc_get_status($this->program))['running']) {
            usleep(2_000);
        }
        proc_close($this->program);
        $this->program = null;
        return $status['signaled'] ? -$status['termsig'] : $status['exitcode'];
    }
}
