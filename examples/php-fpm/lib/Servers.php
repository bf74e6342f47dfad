<?php

declare(strict_types=1);

namespace Larder\Example;

/** A memcached and a php-fpm of this run, in a folder of its own. Both listen on the loopback or on sockets of files only. */
final class Servers
{
    public readonly string $folder;
    public readonly string $socket;
    private readonly string $memcached;
    private readonly string $pidFile;
    /** @var list<resource> */
    private array $processes = [];

    public function __construct()
    {
        $this->folder = sys_get_temp_dir() . '/larder-fpm-' . bin2hex(random_bytes(6));
        mkdir($this->folder);
        $this->socket = "$this->folder/php-fpm.sock";
        $this->pidFile = "$this->folder/php-fpm.pid";
        $memcached = $this->memcached = "$this->folder/memcached.sock";
        $account = self::isRoot() ? 'www-data' : posix_getpwuid(posix_geteuid())['name'];
        if (self::isRoot()) {
            chown($this->folder, $account);
        }
        $this->start(['memcached', '-s', $memcached, '-m', '64', '-u', $account]);
        $this->copySources();
        $near = "mmap:$this->folder/cache?size=32m";
        $this->write('php-fpm.conf', strtr(file_get_contents(dirname(__DIR__) . '/php-fpm.conf'), [
            '@FOLDER@' => $this->folder,
            '@CACHE_URL@' => "tiered:$near|memcached://$memcached|?l1_ttl=60s",
            '@NEAR_URL@' => $near,
            '@USER@' => self::isRoot() ? "user = $account\ngroup = $account\nlisten.owner = $account" : '',
        ]));
        self::waitFor('memcached', static fn (): bool => file_exists($memcached));
        $this->start($this->fpm($account));
        self::waitFor('php-fpm', fn (): bool => file_exists($this->socket) && count($this->workers()) === 4);
    }

    /** The connections that memcached has accepted so far. */
    public function connections(): int
    {
        $connected = stream_socket_client("unix://$this->memcached");
        fwrite($connected, "stats\r\nquit\r\n");
        preg_match('/^STAT total_connections (\d+)/m', stream_get_contents($connected), $found);
        return (int) $found[1];
    }

    /** Ends both servers, and removes the folder. */
    public function end(): void
    {
        foreach (array_reverse($this->processes) as $process) {
            proc_terminate($process);
            proc_close($process);
        }
        foreach (["$this->folder/php/src", "$this->folder/php", $this->folder] as $folder) {
            array_map(unlink(...), array_filter(glob("$folder/*"), static fn (string $path): bool => !is_dir($path)));
            @rmdir($folder);
        }
    }

    /** @return list<int> The workers of php-fpm. */
    public function workers(): array
    {
        $pid = $this->master();
        $children = (string) @file_get_contents("/proc/$pid/task/$pid/children");
        return array_map(intval(...), preg_split('/\s+/', $children, -1, PREG_SPLIT_NO_EMPTY));
    }

    /** The first process of php-fpm. */
    public function master(): int
    {
        return (int) @file_get_contents($this->pidFile);
    }

    public function log(): string
    {
        return (string) @file_get_contents("$this->folder/php-fpm.log");
    }

    /** Waits until something is so; the limit is that of a machine with much other work. */
    public static function waitFor(string $what, \Closure $isSo): void
    {
        $deadline = microtime(true) + 180;
        while (!$isSo()) {
            if (microtime(true) > $deadline) {
                throw new \RuntimeException("$what: not so within 180 s");
            }
            usleep(5_000);
        }
    }

    /**
     * The command of php-fpm, with Larder preloaded. As root, PHP preloads as another user and has the library loaded by
     * `ffi.preload`.
     *
     * @return list<string>
     */
    private function fpm(string $account): array
    {
        $package = "$this->folder/php";
        $settings = [
            'opcache.enable=1',
            "opcache.preload=$package/preload.php",
            "error_log=$this->folder/php.log",
        ];
        if (self::isRoot()) {
            // The header names the library as the loader finds it, and LARDER_LIBRARY a file elsewhere.
            $library = getenv('LARDER_LIBRARY') ?: 'liblarder.so.0.2';
            $this->write('larder.h', str_replace('liblarder.so.0.2', $library, file_get_contents("$package/src/larder.h")));
            array_push($settings, "opcache.preload_user=$account", "ffi.preload=$this->folder/larder.h");
        }
        $flags = array_merge(...array_map(static fn (string $setting): array => ['-d', $setting], $settings));
        return [self::program(), '--nodaemonize', '--fpm-config', "$this->folder/php-fpm.conf", ...$flags];
    }

    /** Copies the package and the page: the account of the workers need not reach the sources. */
    private function copySources(): void
    {
        $package = dirname(__DIR__, 3) . '/bindings/php';
        mkdir("$this->folder/php/src", 0755, true);
        $classes = array_map(static fn (string $file): string => 'src/' . basename($file), glob("$package/src/*.*"));
        foreach (['preload.php', ...$classes] as $file) {
            $this->write("php/$file", file_get_contents("$package/$file"));
        }
        $this->write('index.php', file_get_contents(dirname(__DIR__) . '/public/index.php'));
    }

    /** Debian's php-fpm has its version in its name, and lies where only root has its path. */
    private static function program(): string
    {
        $name = 'php-fpm' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
        foreach (["/usr/sbin/$name", "/usr/sbin/php-fpm", "/usr/local/sbin/php-fpm"] as $path) {
            if (is_executable($path)) {
                return $path;
            }
        }
        throw new \RuntimeException("there is no $name; apt-get install $name");
    }

    /** @param list<string> $command */
    private function start(array $command): void
    {
        $out = ['file', "$this->folder/said", 'a'];
        $this->processes[] = proc_open($command, [['file', '/dev/null', 'r'], $out, $out], $pipes)
            ?: throw new \RuntimeException("$command[0] cannot be started; is it installed?");
    }

    private function write(string $name, string $text): void
    {
        file_put_contents("$this->folder/$name", $text);
        chmod("$this->folder/$name", 0644);
    }

    private static function isRoot(): bool
    {
        return posix_geteuid() === 0;
    }
}
