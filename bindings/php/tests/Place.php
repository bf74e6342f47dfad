<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Larder;
use Larder\Serializer;
use Larder\SignedSerialize;
use Larder\Store;

/** The places of the tests' stores: a folder and a memcached of this run, which both end with it. */
final class Place
{
    public const KINDS = ['memory', 'mmap', 'memcached', 'tiered'];

    private static ?string $folder = null;
    private static ?string $memcached = null;
    private static int $memcachedPid = 0;
    private static int $files = 0;

    /** The URL of an empty store of this kind. The memcached is one for all tests, and loses what it has. */
    public static function url(string $kind): string
    {
        if ($kind === 'memcached' || $kind === 'tiered') {
            $connected = stream_socket_client('tcp://' . self::memcached());
            fwrite($connected, "flush_all\r\n");
            if (fgets($connected) !== "OK\r\n") {
                throw new \RuntimeException('memcached does not empty itself');
            }
        }
        $file = self::folder() . '/cache' . self::$files++;
        return match ($kind) {
            'memory' => 'memory:?size=8m',
            'mmap' => "mmap:$file?size=8m",
            'memcached' => 'memcached://' . self::memcached(),
            'tiered' => "tiered:mmap:$file?size=8m|memcached://" . self::memcached(),
            // A stack that can be cleared, as the published suites ask.
            'near' => "tiered:memory:?size=4m|mmap:$file?size=8m",
        };
    }

    public static function open(string $kind, ?Serializer $serializer = null): Store
    {
        return Larder::open(self::url($kind), $serializer);
    }

    /** A store that takes every value of PHP. */
    public static function signed(string $kind): Store
    {
        return self::open($kind, self::serializer());
    }

    public static function serializer(): SignedSerialize
    {
        return new SignedSerialize('a secret of the tests, of some length');
    }

    /** A folder that is removed at the end of the run. */
    public static function folder(): string
    {
        if (self::$folder === null) {
            self::$folder = sys_get_temp_dir() . '/larder-php-' . bin2hex(random_bytes(6));
            mkdir(self::$folder);
            self::atEnd(static function (): void {
                array_map(unlink(...), glob(self::$folder . '/*'));
                rmdir(self::$folder);
            });
        }
        return self::$folder;
    }

    /** The address of a memcached, which is started once. */
    public static function memcached(): string
    {
        if (self::$memcached !== null) {
            return self::$memcached;
        }
        [$process, $address] = self::start(static fn (int $port): array => [
            'memcached', '-l', '127.0.0.1', '-p', (string) $port, '-u', 'nobody', '-m', '16',
        ]);
        self::$memcachedPid = proc_get_status($process)['pid'];
        self::atEnd(static function () use ($process): void {
            proc_terminate($process, SIGKILL);
            proc_close($process);
        });
        return self::$memcached = $address;
    }

    /** Sends a signal to the memcached: SIGSTOP, and SIGCONT. */
    public static function signalMemcached(int $signal): void
    {
        posix_kill(self::$memcachedPid, $signal);
    }

    /**
     * Starts a server on a free port, and waits until it accepts a connection.
     *
     * @param \Closure(int): list<string> $command
     * @return array{resource, string} The process, and the address.
     */
    public static function start(\Closure $command): array
    {
        $socket = stream_socket_server('tcp://127.0.0.1:0');
        $address = stream_socket_get_name($socket, false);
        fclose($socket);
        $command = $command((int) substr(strrchr($address, ':'), 1));
        $process = proc_open($command, [1 => ['file', '/dev/null', 'w'], 2 => ['file', '/dev/null', 'w']], $pipes);
        while (($connected = @stream_socket_client("tcp://$address")) === false) {
            if (!proc_get_status($process)['running']) {
                throw new \RuntimeException("$command[0] has ended; is it installed?");
            }
            usleep(5_000);
        }
        fclose($connected);
        return [$process, $address];
    }

    /** Does some work at the end of this process, and not at the end of a forked child. */
    private static function atEnd(\Closure $work): void
    {
        $own = getmypid();
        register_shutdown_function(static function () use ($own, $work): void {
            if (getmypid() === $own) {
                $work();
            }
        });
    }
}
