<?php

declare(strict_types=1);

/** A memcached, a Redis, or a stand-in for MongoDB, on a free port, which runs as long as the object lives. */
final class TestServer
{
    public readonly string $address;
    /** @var resource|null */
    private $program;
    private readonly int $pid;

    private function __construct(string $address, string ...$command)
    {
        $this->address = $address;
        $this->program = proc_open($command, [1 => ['file', '/dev/null', 'w']], $ends);
        $this->pid = proc_get_status($this->program)['pid'];
        for ($n = 0; $n < 2_000; $n++) {
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

    /** `null` where memcached is not installed: its tests are left out. */
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

    /** A Redis of 4 MB that drops nothing, with a password; `null` where it is not installed: its tests are left out. */
    public static function redis(): ?self
    {
        if (trim((string) shell_exec('command -v redis-server')) === '' || !extension_loaded('redis')) {
            skip('redis-server or the PHP extension redis is not installed');
            return null;
        }
        $free = stream_socket_server('tcp://127.0.0.1:0');
        $address = stream_socket_get_name($free, false);
        fclose($free);
        $port = explode(':', $address)[1];
        $settings = ['--maxmemory', '4mb', '--maxmemory-policy', 'noeviction', '--requirepass', 'secret', '--save', ''];
        return new self($address, 'redis-server', '--bind', '127.0.0.1', '--port', $port, ...$settings);
    }

    /** The stand-in for MongoDB, as Larder starts it; `null` where it is not installed: its tests are left out. */
    public static function mongodb(): ?self
    {
        $data = getenv('XDG_DATA_HOME') ?: getenv('HOME') . '/.local/share';
        $program = "$data/larder/mongodb/mongo-java-server.jar";
        if (!is_file($program) || trim((string) shell_exec('command -v java')) === '' || !extension_loaded('mongodb')) {
            skip('the stand-in for MongoDB is not installed: ./setup.sh --with mongodb');
            return null;
        }
        $free = stream_socket_server('tcp://127.0.0.1:0');
        $address = stream_socket_get_name($free, false);
        fclose($free);
        return new self($address, 'java', '-XX:+UseSerialGC', '-Xmx128m', '-jar', $program, explode(':', $address)[1]);
    }

    /**
     * Lets the server hang, and returns when all its threads stand still: the server answers no request from then on.
     */
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

    /**
     * Waits until a client waits at the paused server, which has not accepted its connection. A client whose request
     * timed out connects anew, and waits here.
     */
    public function waitForClient(): void
    {
        $listens = sprintf('%04X', (int) explode(':', $this->address)[1]);
        for ($deadline = time() + 300; time() < $deadline; usleep(2_000)) {
            $sockets = (string) file_get_contents('/proc/net/tcp');
            if (preg_match("/^ *\\d+: \\w+:$listens \\S+ 0A \\w+:(\\w+)/m", $sockets, $found) === 1 && hexdec($found[1]) > 0) {
                return;
            }
        }
        throw new RuntimeException("no client waits at $this->address");
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
