<?php

declare(strict_types=1);

/** A memcached of our own on a free port, for as long as the object lives. */
final class TestServer
{
    public readonly string $address;
    /** @var resource|null */
    private $program;
    private readonly int $pid;

    private function __construct(string $address, string ...$command)
    {
        $this->address = $address;
        $this->program = proc_open($command, [], $ends);
        $this->pid = proc_get_status($this->program)['pid'];
        for ($n = 0; $n < 200; $n++) {
            $name = str_starts_with($address, '/') ? "unix://$address" : "tcp://$address";
            if (@stream_socket_client($name) !== false) {
                return;
            }
            usleep(10_000);
        }
        throw new RuntimeException("$address does not answer");
    }

    public function __destruct()
    {
        $this->kill();
    }

    /** `null` where there is none: its tests are left out. */
    public static function memcached(): ?self
    {
        if (trim((string) shell_exec('command -v memcached')) === '') {
            skip('memcached is not installed');
            return null;
        }
        $free = stream_socket_server('tcp://127.0.0.1:0');
        $address = stream_socket_get_name($free, false);
        fclose($free);
        $port = explode(':', $address)[1];
        return new self($address, 'memcached', '-u', 'nobody', '-l', '127.0.0.1', '-U', '0', '-p', $port);
    }

    /** One that listens on a socket of the file system. */
    public static function memcachedOn(string $path): self
    {
        return new self($path, 'memcached', '-u', 'root', '-s', $path);
    }

    /** Lets the server hang: what it is sent from then on it does not answer, whichever of its threads was awake. */
    public function pause(): void
    {
        posix_kill($this->pid, SIGSTOP);
        foreach (glob("/proc/{$this->pid}/task/*/stat") as $thread) {
            while (!str_contains(file_get_contents($thread), ') T')) {
                usleep(1_000);
            }
        }
    }

    public function resume(): void
    {
        posix_kill($this->pid, SIGCONT);
    }

    public function kill(): void
    {
        if ($this->program !== null) {
            posix_kill($this->pid, SIGKILL);
            proc_close($this->program);
            $this->program = null;
        }
    }
}
