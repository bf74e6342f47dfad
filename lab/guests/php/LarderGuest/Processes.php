<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * A phase that several processes share: one child for each, forked when the phase begins. All children begin together,
 * and each reports its progress over a pipe of its own. No child outlives this process: a child whose report fails
 * ends.
 */
final class Processes
{
    /** The longest wait for a message of a child or a command. */
    private const WAIT_US = 250_000;
    /** The time that a child has to end. It checks four times a second, unless an operation takes longer. */
    private const GRACE_NS = 3_000_000_000;
    private const LOOK_US = 1_000;

    /** @var list<Child> */
    private array $children = [];
    private bool $wereKilled = false;

    public function __construct(
        private readonly Protocol $protocol,
        private readonly Plan $plan,
        private readonly Cache $cache,
        private readonly int $phase,
    ) {
        if (!function_exists('pcntl_fork')) {
            throw new Failure('unavailable', 'the PHP extension pcntl, which forks the processes, is not loaded');
        }
    }

    /**
     * Runs the phase in all processes, and calls `$tell` with the operations of all of them several times a second.
     * Returns the number of values stored.
     *
     * @param \Closure(int): void $tell
     */
    public function run(\Closure $tell): int
    {
        try {
            for ($process = 0; $process < $this->plan->processes; $process++) {
                $this->fork($process);
            }
            $this->attend($tell, static fn (Child $child): bool => $child->isReady);
            foreach ($this->children as $child) {
                fwrite($child->pipe, '.');
            }
            $this->attend($tell, static fn (Child $child): bool => $child->isOver());
            return array_sum(array_map(static fn (Child $child): int => (int) $child->stored, $this->children));
        } finally {
            $this->end();
        }
    }

    /** Whether a child was killed within an operation: a lock that it held in shared memory stays locked. */
    public function wereKilled(): bool
    {
        return $this->wereKilled;
    }

    /**
     * Ends the children that still run, and waits for them. Between two operations each child reports its progress, and
     * ends when the pipe is closed. Only a child that does not report in time is killed.
     */
    private function end(): void
    {
        foreach ($this->children as $child) {
            fclose($child->pipe);
        }
        $until = hrtime(true) + self::GRACE_NS;
        foreach ($this->children as $child) {
            while ($child->pid !== null && pcntl_waitpid($child->pid, $status, WNOHANG) === 0) {
                if (hrtime(true) > $until) {
                    posix_kill($child->pid, SIGKILL);
                    pcntl_waitpid($child->pid, $status);
                    $this->wereKilled = true;
                    break;
                }
                usleep(self::LOOK_US);
            }
        }
        $this->children = [];
    }

    private function fork(int $process): void
    {
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $pid = pcntl_fork();
        if ($pid === -1) {
            throw new Failure('other', 'cannot fork: ' . pcntl_strerror(pcntl_get_last_error()));
        }
        if ($pid === 0) {
            fclose($ours);
            foreach ($this->children as $child) {
                fclose($child->pipe);
            }
            $this->protocol->release();
            $this->beChild($process, $theirs);
            // Not `exit`: its clean-up would also end the parent's connections.
            posix_kill(posix_getpid(), SIGKILL);
        }
        fclose($theirs);
        stream_set_read_buffer($ours, 0);
        $this->children[] = new Child($process, $pid, $ours);
    }

    /**
     * The work of a child, which reports in lines: `ready`, a number of operations, `over` and the number of values
     * stored, or `failed`, a kind and a text.
     *
     * @param resource $parent
     */
    private function beChild(int $process, $parent): void
    {
        $write = static function (string|int $line) use ($parent): void {
            if (@fwrite($parent, "$line\n") === false) {
                posix_kill(posix_getpid(), SIGKILL);
            }
        };
        try {
            $phase = new Phase($this->plan, $this->cache->afterFork(), $this->phase, $process);
            $write('ready');
            if ((string) fread($parent, 1) === '') {
                return;
            }
            $write('over ' . $phase->run($write));
        } catch (\Throwable $caught) {
            $failure = Failure::from($caught);
            $write("failed {$failure->kind} {$failure->getMessage()}");
        }
    }

    /**
     * Listens until `$isEnough` holds for every child.
     *
     * @param \Closure(int): void $tell
     * @param \Closure(Child): bool $isEnough
     */
    private function attend(\Closure $tell, \Closure $isEnough): void
    {
        while (count(array_filter($this->children, $isEnough)) < count($this->children)) {
            $ready = ['input' => $this->protocol->input()];
            foreach ($this->children as $n => $child) {
                if (!$child->isOver()) {
                    $ready[$n] = $child->pipe;
                }
            }
            $none = null;
            if ((int) @stream_select($ready, $none, $none, 0, self::WAIT_US) > 0) {
                unset($ready['input']);
                foreach (array_keys($ready) as $n) {
                    $this->listen($this->children[$n]);
                }
            }
            $tell(array_sum(array_map(static fn (Child $child): int => $child->operations, $this->children)));
        }
    }

    private function listen(Child $child): void
    {
        $read = fread($child->pipe, 65_536);
        if ($read === false || $read === '') {
            throw $this->death($child);
        }
        $lines = explode("\n", $child->text . $read);
        $child->text = array_pop($lines);
        foreach ($lines as $line) {
            [$word, $rest] = explode(' ', $line, 2) + [1 => ''];
            match ($word) {
                'ready' => $child->isReady = true,
                'over' => $child->stored = (int) $rest,
                'failed' => throw $this->failure($child, ...explode(' ', $rest, 2)),
                default => $child->operations = (int) $word,
            };
        }
    }

    private function failure(Child $child, string $kind, string $text): Failure
    {
        return new Failure($kind, "{$this->name($child)}: $text");
    }

    /** The failure of a child that has ended too early. */
    private function death(Child $child): Failure
    {
        pcntl_waitpid((int) $child->pid, $status);
        $child->pid = null;
        $this->wereKilled = true;
        $how = pcntl_wifsignaled($status)
            ? 'was ended by signal ' . pcntl_wtermsig($status)
            : 'ended with exit code ' . pcntl_wexitstatus($status);
        return new Failure('other', "{$this->name($child)} $how before its share was done");
    }

    private function name(Child $child): string
    {
        return sprintf('process %d of %d', $child->process + 1, $this->plan->processes);
    }
}
