<?php

declare(strict_types=1);

namespace Larder\Tests;

/** A forked child of a test, and the value that its work returns. */
final class Child
{
    /** @param resource $answer */
    private function __construct(public readonly int $pid, private $answer)
    {
    }

    /** Forks, and does some work in the child. */
    public static function begin(\Closure $work): self
    {
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $pid = pcntl_fork();
        if ($pid !== 0) {
            fclose($theirs);
            return new self($pid, $ours);
        }
        fclose($ours);
        try {
            $answer = ['value' => $work()];
        } catch (\Throwable $caught) {
            $answer = ['thrown' => $caught::class . ': ' . $caught->getMessage()];
        }
        fwrite($theirs, serialize($answer));
        fclose($theirs);
        // The child does nothing of what PHPUnit and this run do at their end.
        posix_kill(getmypid(), SIGKILL);
        exit;
    }

    /** The value of the work; an exception of the child is one here. */
    public function end(): mixed
    {
        $answer = unserialize((string) stream_get_contents($this->answer));
        pcntl_waitpid($this->pid, $status);
        if (!is_array($answer)) {
            throw new \RuntimeException('the child has ended without an answer');
        }
        return isset($answer['thrown']) ? throw new \RuntimeException($answer['thrown']) : $answer['value'];
    }

    /** Kills the child where it stands. */
    public function kill(): void
    {
        posix_kill($this->pid, SIGKILL);
        pcntl_waitpid($this->pid, $status);
    }
}
