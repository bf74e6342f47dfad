<?php

/*
 * The time of a hit: php -d apc.enable_cli=1 -d opcache.enable_cli=1 bench/hit.php [stored]
 *
 * The caches take turns, so a busy machine slows all of them. Each line is the median of the rounds, with the range of
 * the middle nine tenths. Two floors are what PHP's FFI takes: for a call with the same arguments that does nothing, and for the
 * cheapest read. With `-d extension=larder` the reads of `Larder` are those of the extension.
 *
 * The keys are read in an order of chance, as requests ask for them. With `stored` they are read in the order in which they were
 * stored, in which the processor fetches ahead what lies in that order.
 */

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Handles;
use Larder\Larder;
use Larder\Library;
use Larder\SignedSerialize;

require __DIR__ . '/../autoload.php';

const KEYS = 1_000;
const ROUNDS = 61;
const BYTES = 100;
/** The size of each shared memory, which is that of APCu by default. */
const SIZE = '32m';

/** A memcached of this run, or `null` where there is none. */
function memcached(): ?int
{
    if (trim((string) shell_exec('command -v memcached')) === '') {
        return null;
    }
    $socket = stream_socket_server('tcp://127.0.0.1:0');
    $port = (int) substr(strrchr(stream_socket_get_name($socket, false), ':'), 1);
    fclose($socket);
    $server = proc_open(['memcached', '-l', '127.0.0.1', '-p', (string) $port, '-u', 'nobody'], [], $pipes);
    register_shutdown_function(static fn () => proc_terminate($server));
    while (@fsockopen('127.0.0.1', $port) === false) {
        usleep(1_000);
    }
    return $port;
}

/** What is measured: a name, and a loop over the keys that returns its nanoseconds. */
final class Candidates
{
    /** @var array<string, \Closure(): int> */
    public array $loops = [];

    /**
     * @param list<string> $keys As they are stored
     * @param list<string> $asked The same, as they are read
     */
    public function __construct(
        private readonly array $keys,
        private readonly array $asked,
        private readonly string $value,
    ) {
    }

    /** Adds a function of the library that refuses its arguments at once. */
    public function nothing(): void
    {
        [$asked, $library] = [$this->asked, Library::get()];
        $this->loops['an FFI call of three arguments that does nothing'] = static function () use ($asked, $library): int {
            $began = hrtime(true);
            foreach ($asked as $key) {
                $library->larder_read(null, $key, \strlen($key));
            }
            return hrtime(true) - $began;
        };
    }

    /** Adds the cheapest read by FFI, in which no flags are looked at and no signal is minded. */
    public function cheapest(string $url): void
    {
        [$asked, $handles, $length] = [$this->asked, new Handles(Library::get(), $url, false), \strlen($this->value)];
        [$library, $place, $buffer] = [$handles->library, \FFI::addr($handles->place), $handles->buffer];
        $read = static function () use ($asked, $handles, $length, $library, $place, $buffer): int {
            $began = hrtime(true);
            foreach ($asked as $key) {
                $library->larder_read($place, $key, \strlen($key));
                \FFI::string($buffer, $length);
            }
            return hrtime(true) - $began;
        };
        $this->loops['an FFI call that reads from mmap:, and FFI::string()'] = $read;
    }

    public function apcu(): void
    {
        if (!\function_exists('apcu_enabled') || !apcu_enabled()) {
            return;
        }
        [$keys, $asked] = [$this->keys, $this->asked];
        foreach ($keys as $key) {
            apcu_store($key, $this->value);
        }
        $this->loops['apcu_fetch()'] = static function () use ($asked): int {
            $began = hrtime(true);
            foreach ($asked as $key) {
                \apcu_fetch($key);
            }
            return hrtime(true) - $began;
        };
    }

    /** Adds a cache with `get()`, after it got all keys. */
    public function cache(string $name, object $cache, string $get = 'get'): void
    {
        [$keys, $asked] = [$this->keys, $this->asked];
        foreach ($keys as $key) {
            if ($cache->$get($key) !== $this->value && $get === 'get') {
                throw new \LogicException("$name: $key has another value");
            }
        }
        // One closure for all: the call is the same for each.
        $this->loops[$name] = static function () use ($asked, $cache): int {
            $began = hrtime(true);
            foreach ($asked as $key) {
                $cache->get($key);
            }
            return hrtime(true) - $began;
        };
    }

    /** Adds a pool of PSR-6, whose value comes from an item. */
    public function pool(string $name, object $pool): void
    {
        [$keys, $asked] = [$this->keys, $this->asked];
        foreach ($keys as $key) {
            $pool->save($pool->getItem($key)->set($this->value));
        }
        $this->loops[$name] = static function () use ($asked, $pool): int {
            $began = hrtime(true);
            foreach ($asked as $key) {
                $pool->getItem($key)->get();
            }
            return hrtime(true) - $began;
        };
    }
}

$keys = array_map(static fn (int $n): string => "key.$n", range(1, KEYS));
$value = str_repeat('x', BYTES);
$asked = $keys;
if (($argv[1] ?? '') !== 'stored') {
    mt_srand(1);
    shuffle($asked);
}
$all = new Candidates($keys, $asked, $value);
$all->nothing();
$all->apcu();

$file = (is_dir('/dev/shm') ? '/dev/shm' : sys_get_temp_dir()) . '/larder-bench-' . getmypid();
register_shutdown_function(static fn () => @unlink($file));
$serializer = new SignedSerialize(random_bytes(32));
$stores = ['memory:' => 'memory:?size=' . SIZE, 'mmap:' => "mmap:$file?size=" . SIZE];
$port = memcached();
if ($port !== null) {
    $stores['memcached:'] = "memcached://127.0.0.1:$port";
    $stores['tiered:mmap:|memcached:'] = "tiered:mmap:$file-l1?size=" . SIZE . "|memcached://127.0.0.1:$port";
    register_shutdown_function(static fn () => @unlink("$file-l1"));
}
foreach ($stores as $name => $url) {
    $store = Larder::open($url, $serializer);
    $store->setMany(array_fill_keys($keys, $value));
    $all->cache("Larder, $name", $store);
}
$all->cheapest($stores['mmap:']);
$store = Larder::open($stores['mmap:'], $serializer);
if (@include_once 'Psr/SimpleCache/autoload.php') {
    $all->cache('Larder, mmap: by PSR-16', new \Larder\Psr\SimpleCache($store));
}
if (@include_once 'Symfony/Component/Cache/autoload.php') {
    if (isset($all->loops['apcu_fetch()'])) {
        $all->pool('Symfony ApcuAdapter', new \Symfony\Component\Cache\Adapter\ApcuAdapter('bench'));
    }
    $all->pool('Symfony LarderAdapter, mmap:', new \Larder\Symfony\LarderAdapter($store, 'bench'));
    $all->pool('Larder, mmap: by PSR-6', new \Larder\Psr\CacheItemPool($store));
}
if ($port !== null && \extension_loaded('memcached')) {
    $client = new \Memcached();
    $client->addServer('127.0.0.1', $port);
    foreach ($keys as $key) {
        $client->set($key, $value);
    }
    $all->cache('extension memcached', $client);
}

$took = [];
for ($round = 0; $round < ROUNDS; $round++) {
    foreach ($all->loops as $name => $loop) {
        // The cache before has left nothing of this one in the processor, so a first pass is not counted.
        $loop();
        $took[$name][] = $loop() / KEYS;
    }
}
printf("PHP %s, %d keys of %d bytes, %d rounds; nanoseconds of a hit\n", PHP_VERSION, KEYS, BYTES, ROUNDS);
printf("Larder reads by %s\n\n", \extension_loaded('larder') ? 'its extension' : 'FFI');
$base = null;
foreach ($took as $name => $rounds) {
    sort($rounds);
    $median = $rounds[intdiv(ROUNDS, 2)];
    $base = $name === 'apcu_fetch()' ? $median : $base;
    $ratio = $base === null ? '' : sprintf('%8.2f x APCu', $median / $base);
    [$low, $high] = [$rounds[intdiv(ROUNDS, 20)], $rounds[ROUNDS - 1 - intdiv(ROUNDS, 20)]];
    printf("%-52s %9.0f  (%.0f to %.0f)%s\n", $name, $median, $low, $high, $ratio);
}
