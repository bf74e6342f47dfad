<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;

/**
 * The extension redis (phpredis): its `Redis` for one server, its `RedisCluster` for several. A failure is an exception.
 * Only an answer that is no value, such as that of a list, comes back as a miss and leaves an error message.
 */
final class Redis extends Cache
{
    private const TIMEOUT_S = 5;

    private function __construct(
        private readonly Order $order,
        private readonly \Redis|\RedisCluster $client,
    ) {
    }

    public static function opened(Order $order): Cache
    {
        self::need('redis');
        if (($order->server['tls'] ?? 'off') === 'on') {
            throw new Failure('unavailable', 'this guest has no TLS; use redis: for servers with TLS');
        }
        $isOwn = $order->option('connect') === 'operation';
        if (count($order->servers) > 1 && (isset($order->server['via']) || $isOwn)) {
            throw new Failure('unavailable', 'the client of a cluster finds its nodes itself: leave out via and connect=operation');
        }
        $self = self::client($order);
        return $isOwn ? new PerOperation($self, 1, static fn (): Cache => self::client($order)) : $self;
    }

    public function title(): string
    {
        return 'redis extension ' . phpversion('redis');
    }

    public function settings(): array
    {
        $client = $this->client;
        $told = $client instanceof \RedisCluster ? $client->info('larder', 'server') : $client->info('server');
        return [
            'connect' => 'session',
            'class' => $client::class,
            'connect_timeout' => self::timeout($this->order, 'connect_timeout') . ' s',
            'read_timeout' => $client->getOption(\Redis::OPT_READ_TIMEOUT) . ' s',
            'serializer' => $client->getOption(\Redis::OPT_SERIALIZER) === \Redis::SERIALIZER_NONE ? 'none' : 'other',
            'compression' => $client->getOption(\Redis::OPT_COMPRESSION) === \Redis::COMPRESSION_NONE ? 'off' : 'on',
            'servers' => implode(', ', $this->order->servers),
            'server_version' => (string) ($told['valkey_version'] ?? $told['redis_version'] ?? 'unknown'),
        ];
    }

    public function getter(): \Closure
    {
        return $this->client->get(...);
    }

    public function setter(): \Closure
    {
        return $this->client->set(...);
    }

    public function get(string $key): string|false
    {
        return $this->client->get($key);
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        return $this->client->set($key, $value, $ttl);
    }

    public function delete(string $key): ?bool
    {
        $deleted = $this->client->del($key);
        return $deleted === false ? null : $deleted > 0;
    }

    /** Without a TTL the key gets none; `PERSIST` alone does not tell a key without a TTL from an absent key. */
    public function touch(string $key, mixed $ttl): ?bool
    {
        return $ttl === null
            ? $this->client->persist($key) || (bool) $this->client->exists($key)
            : $this->client->pExpire($key, $ttl['px']);
    }

    public function getMany(array $keys): array
    {
        $found = [];
        foreach ($this->client->mGet($keys) ?: [] as $n => $value) {
            if ($value !== false) {
                $found[$keys[$n]] = $value;
            }
        }
        return $found;
    }

    /** Milliseconds, as an option of `set`. */
    public function ttlArgument(int|float|null $seconds): mixed
    {
        return $seconds === null ? null : ['px' => max(1, (int) ceil($seconds * 1_000))];
    }

    public function afterFork(): Cache
    {
        return self::client($this->order);
    }

    public function doubts(): bool
    {
        return true;
    }

    /** The server's error message about the last operation, which is forgotten then. */
    public function trace(): mixed
    {
        $said = $this->client->getLastError();
        if ($said !== null) {
            $this->client->clearLastError();
        }
        return $said;
    }

    public function failureOfMiss(mixed $trace): Failure
    {
        return Failure::inWords($trace);
    }

    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        return $trace === null ? new Failure('other', 'the server did not store the value') : Failure::inWords($trace);
    }

    /** The client connects again by itself, and does not tell how often. */
    public function connections(): ?int
    {
        return null;
    }

    private static function client(Order $order): self
    {
        $connect = self::timeout($order, 'connect_timeout');
        $read = self::timeout($order, 'read_timeout');
        [$user, $password] = [$order->access['user'] ?? null, $order->access['password'] ?? null];
        $login = $password === null ? null : ($user === null ? $password : [$user, $password]);
        if (count($order->servers) > 1) {
            return new self($order, new \RedisCluster(null, $order->servers, $connect, $read, false, $login));
        }
        $client = new \Redis();
        [$host, $port] = Address::of($order->servers[0]);
        $client->connect($host, $port, $connect, null, 0, $read);
        if ($login !== null) {
            $client->auth($login);
        }
        if (($order->access['db'] ?? '0') !== '0') {
            $client->select((int) $order->access['db']);
        }
        return new self($order, $client);
    }

    private static function timeout(Order $order, string $name): float
    {
        return (float) $order->option($name, self::TIMEOUT_S);
    }
}
