<?php

declare(strict_types=1);

namespace LarderGuest;

/** CPU time between two instants, and memory. */
final class Usage
{
    private int $userUs = 0;
    private int $systemUs = 0;

    public function start(): void
    {
        $this->add(-1);
    }

    public function stop(): void
    {
        $this->add(1);
    }

    /** @return array{int, int} User and system time in nanoseconds. */
    public function cpuNs(): array
    {
        return [max(0, $this->userUs) * 1_000, max(0, $this->systemUs) * 1_000];
    }

    /** Resident memory, as the system tells it. */
    public static function rssBytes(): int
    {
        $told = (string) @file_get_contents('/proc/self/status');
        return preg_match('/^VmRSS:\s+(\d+) kB$/m', $told, $found) === 1 ? $found[1] * 1024 : 0;
    }

    private function add(int $sign): void
    {
        $usage = getrusage();
        $this->userUs += $sign * ($usage['ru_utime.tv_sec'] * 1_000_000 + $usage['ru_utime.tv_usec']);
        $this->systemUs += $sign * ($usage['ru_stime.tv_sec'] * 1_000_000 + $usage['ru_stime.tv_usec']);
    }
}
