<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;

/**
 * A new client object and connection for every operation, as in every request of a web server. Scripts that open their
 * cache in the function that uses it work like this. A get and the fill of its miss are one operation.
 */
final class PerOperation extends Cache
{
    private int $connections = 0;
    private bool $isTold = true;
    private mixed $trace = null;

    /**
     * @param Cache $sample A client that stays open, for its title and settings
     * @param \Closure(): Cache $open
     */
    public function __construct(
        private readonly Cache $sample,
        private readonly int $servers,
        private readonly \Closure $open,
    ) {
    }

    /** The cache named in open.json opens this one itself. */
    public static function opened(\LarderGuest\Order $order): Cache
    {
        return Cache::open($order);
    }

    public function title(): string
    {
        return $this->sample->title();
    }

    public function settings(): array
    {
        return ['connect' => 'operation'] + $this->sample->settings();
    }

    public function operation(): Cache
    {
        $this->connections++;
        return ($this->open)();
    }

    public function get(string $key): string|false
    {
        $client = $this->operation();
        $value = $client->get($key);
        if ($value === false) {
            $this->trace = $client->trace();
        }
        return $value;
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        $client = $this->operation();
        $stored = $client->set($key, $value, $ttl);
        if (!$stored) {
            $this->trace = $client->trace();
        }
        return $stored;
    }

    public function delete(string $key): ?bool
    {
        $client = $this->operation();
        $found = $client->delete($key);
        $this->trace = $found === null ? $client->trace() : null;
        return $found;
    }

    public function touch(string $key, mixed $ttl): ?bool
    {
        $client = $this->operation();
        $found = $client->touch($key, $ttl);
        $this->trace = $found === null ? $client->trace() : null;
        return $found;
    }

    public function getMany(array $keys): array
    {
        // The number of servers of a request of many keys is unknown.
        $this->isTold = $this->servers === 1;
        $client = $this->operation();
        $found = $client->getMany($keys);
        $this->trace = count($found) < count($keys) ? $client->trace() : null;
        return $found;
    }

    public function ttlArgument(int|float|null $seconds): mixed
    {
        return $this->sample->ttlArgument($seconds);
    }

    public function doubts(): bool
    {
        return $this->sample->doubts();
    }

    public function trace(): mixed
    {
        return $this->trace;
    }

    public function failureOfMiss(mixed $trace): Failure
    {
        return $this->sample->failureOfMiss($trace);
    }

    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        return $this->sample->refusal($key, $value, $trace);
    }

    public function connections(): ?int
    {
        $opened = $this->isTold ? $this->connections : null;
        $this->connections = 0;
        $this->isTold = true;
        return $opened;
    }
}
