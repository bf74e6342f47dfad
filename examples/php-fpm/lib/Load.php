<?php

declare(strict_types=1);

namespace Larder\Example;

/** Visitors: processes that ask for rows, the popular ones more often, and note each answer. */
final class Load
{
    private const VISITORS = 6;
    /** Rows by the law of Zipf with an exponent of about 1. */
    private const ROWS = 600;
    private const PAUSE_US = 1_500;

    /** @var list<int> */
    private array $visitors = [];

    public function __construct(private readonly Servers $servers)
    {
        for ($n = 0; $n < self::VISITORS; $n++) {
            $pid = pcntl_fork();
            if ($pid === 0) {
                $this->visit("$servers->folder/visits-$n");
                // A visitor does nothing of what the program does at its end.
                posix_kill(getmypid(), SIGKILL);
            }
            $this->visitors[] = $pid;
        }
    }

    /** The number of answers so far. */
    public function count(): int
    {
        $files = array_filter(glob("{$this->servers->folder}/visits-*"), is_file(...));
        return array_sum(array_map(static fn (string $file): int => substr_count(file_get_contents($file), "\n"), $files));
    }

    /**
     * Ends the visits, and returns all of them in the order of their ends.
     *
     * @return list<array{at: float, row: int, took_ms: float, level: string, cache_us: float, worker: int, failed: ?string}>
     */
    public function end(): array
    {
        touch("{$this->servers->folder}/enough");
        $visits = [];
        foreach ($this->visitors as $n => $pid) {
            pcntl_waitpid($pid, $status);
            $file = "{$this->servers->folder}/visits-$n";
            array_push($visits, ...array_map(
                static fn (string $line): array => json_decode($line, true, 8, JSON_THROW_ON_ERROR),
                file($file, FILE_IGNORE_NEW_LINES),
            ));
        }
        usort($visits, static fn (array $one, array $other): int => $one['at'] <=> $other['at']);
        return $visits;
    }

    private function visit(string $file): void
    {
        $notes = fopen($file, 'w');
        while (!file_exists("{$this->servers->folder}/enough")) {
            $row = (int) (self::ROWS ** lcg_value());
            $began = hrtime(true);
            $note = ['level' => 'failed', 'cache_us' => 0.0, 'worker' => 0, 'failed' => null];
            try {
                $answer = json_decode($this->ask($row), true, 8, JSON_THROW_ON_ERROR);
                $note = array_intersect_key($answer, $note) + ['failed' => $answer['right'] ? null : 'another row'];
            } catch (\Throwable $caught) {
                $note['failed'] = $caught->getMessage();
            }
            $note += ['row' => $row, 'at' => microtime(true), 'took_ms' => (hrtime(true) - $began) / 1e6];
            fwrite($notes, json_encode($note, JSON_THROW_ON_ERROR) . "\n");
            clearstatcache();
            usleep(self::PAUSE_US);
        }
        fclose($notes);
    }

    private function ask(int $row): string
    {
        return FastCgi::get($this->servers->socket, [
            'GATEWAY_INTERFACE' => 'FastCGI/1.0',
            'REQUEST_METHOD' => 'GET',
            'SCRIPT_FILENAME' => "{$this->servers->folder}/index.php",
            'SCRIPT_NAME' => '/index.php',
            'QUERY_STRING' => "row=$row",
        ]);
    }
}
