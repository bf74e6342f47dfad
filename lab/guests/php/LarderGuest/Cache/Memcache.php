<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;

/**
 * The extension memcache, which needs no library and which PHP had in 2011. It reports a failed server by a notice, and
 * then does not ask that server for a while. The keys of that server then miss without another notice.
 */
final class Memcache extends Cache
{
    /** Beyond this limit the protocol takes a TTL for a point in time. */
    private const LONGEST_TTL_S = 30 * 24 * 60 * 60;
    private const TIMEOUT_S = 1;

    /** @var string|list<string> The key asked for last, or the keys that the last request missed. */
    private string|array $asked = [];

    /** @param list<array{string, int}> $addresses */
    private function __construct(
        private readonly Order $order,
        private readonly array $addresses,
        private readonly \Memcache $client,
    ) {
    }

    public function __destruct()
    {
        $this->client->close();
    }

    public static function opened(Order $order): Cache
    {
        self::need('memcache');
        self::configure('chunk_size', $order->option('chunk_size'));
        self::configure('hash_strategy', $order->option('hash_strategy'));
        // With it, the extension would look for a failed server's keys on other servers, which lack them, and store
        // them there.
        self::configure('allow_failover', 0);
        // The extension's default compresses from 20000 bytes on.
        self::configure('compress_threshold', $order->option('compress_threshold', 0));
        $self = self::client($order);
        foreach ($self->versions() as $server => $version) {
            if ($version === false) {
                throw new Failure('unavailable', "no answer from $server");
            }
        }
        $isOwn = $order->option('connect') === 'operation';
        return $isOwn ? new PerOperation($self, count($order->servers), static fn (): Cache => self::client($order)) : $self;
    }

    public function title(): string
    {
        return 'memcache extension ' . phpversion('memcache');
    }

    public function settings(): array
    {
        $settings = [];
        foreach (['chunk_size', 'compress_threshold', 'hash_strategy', 'hash_function', 'allow_failover'] as $name) {
            $settings[$name] = (string) ini_get("memcache.$name");
        }
        return $settings + [
            'connect' => 'session',
            'timeout' => self::timeout($this->order) . ' s',
            'servers' => implode(', ', $this->order->servers),
            'server_version' => implode(', ', $this->versions()),
        ];
    }

    public function get(string $key): string|false
    {
        $this->asked = $key;
        return $this->client->get($key);
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        $this->asked = $key;
        return $this->client->set($key, $value, 0, $ttl);
    }

    public function delete(string $key): ?bool
    {
        $this->asked = $key;
        return $this->client->delete($key) ?: ($this->trace() === null ? false : null);
    }

    public function getMany(array $keys): array
    {
        $found = $this->client->get($keys) ?: [];
        $this->asked = array_values(array_filter($keys, static fn (string $key): bool => !isset($found[$key])));
        return $found;
    }

    public function ttlArgument(int|float|null $seconds): mixed
    {
        $whole = (int) ceil($seconds ?? 0);
        return $whole > self::LONGEST_TTL_S ? time() + $whole : $whole;
    }

    /** Connects before anything is timed, as the parent's client did when it was opened. */
    public function afterFork(): Cache
    {
        $client = self::client($this->order);
        $client->versions();
        return $client;
    }

    public function doubts(): bool
    {
        return true;
    }

    /** The server of a key asked for last, if the extension does not ask that server now. */
    public function trace(): mixed
    {
        foreach ($this->addresses as $n => [$host, $port]) {
            if ($this->client->getServerStatus($host, $port) !== 0) {
                continue;
            }
            foreach ((array) $this->asked as $key) {
                if ($this->client->findServer($key) === "$host:$port") {
                    return $this->order->servers[$n];
                }
            }
        }
        return null;
    }

    public function failureOfMiss(mixed $trace): Failure
    {
        return new Failure('io', "$trace has failed, and the client asks it again only after a while");
    }

    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        return $trace === null
            ? new Failure('other', sprintf('the server did not store the value of %d bytes', strlen($value)))
            : $this->failureOfMiss($trace);
    }

    /** The client does not tell the number of its connections. */
    public function connections(): ?int
    {
        return null;
    }

    private static function client(Order $order): self
    {
        // The extension gives the object a dynamic property, of which PHP 8.2 warns.
        $client = @new \Memcache();
        $addresses = [];
        foreach ($order->servers as $server) {
            [$host, $port] = $addresses[] = Address::of($server);
            if ($port === 0) {
                $host = "unix://$host";
                $addresses[count($addresses) - 1][0] = $host;
            }
            @$client->addServer($host, $port, false, 1, self::timeout($order));
        }
        return new self($order, $addresses, $client);
    }

    /** @return array<string, string|false> The version of each server; the call connects to all. */
    private function versions(): array
    {
        $versions = [];
        foreach (@$this->client->getExtendedStats() ?: [] as $server => $told) {
            $versions[$server] = is_array($told) ? $told['version'] : false;
        }
        return $versions;
    }

    private static function timeout(Order $order): int
    {
        return (int) ceil($order->option('timeout', self::TIMEOUT_S));
    }

    private static function configure(string $name, mixed $setting): void
    {
        if ($setting !== null && ini_set("memcache.$name", (string) $setting) === false) {
            throw new Failure('other', "memcache.$name cannot be $setting");
        }
    }
}
