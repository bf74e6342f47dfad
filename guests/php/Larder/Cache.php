<?php

declare(strict_types=1);

namespace Larder;

/**
 * What a cache is to a guest. It answers `false` for a key that is not there, as PHP's own caches do, and what it throws is an
 * error of the operation.
 */
abstract class Cache
{
    private const CACHES = [
        'null' => Cache\NullCache::class,
        'apcu' => Cache\Apcu::class,
        'xcache' => Cache\Xcache::class,
        'memcached' => Cache\Memcached::class,
        'memcache' => Cache\Memcache::class,
        'mongodb' => Cache\Mongodb::class,
        'file' => Cache\File::class,
        'tiered' => Cache\Tiered::class,
    ];

    /** Opens what open.json, or a tier in it, describes. */
    public static function open(Order $order): self
    {
        $class = self::CACHES[$order->cache] ?? throw new Failure(
            'protocol',
            "no cache of this guest: {$order->cache}; it has " . implode(', ', array_keys(self::CACHES)),
        );
        return $class::opened($order);
    }

    abstract public static function opened(Order $order): self;

    /** Name and version. */
    abstract public function title(): string;

    /** @return array<string, string> The effective settings. */
    abstract public function settings(): array;

    abstract public function get(string $key): string|false;

    /** Whether it was stored. `$ttl` is what ttlArgument() made of seconds. */
    abstract public function set(string $key, string $value, mixed $ttl): bool;

    /** `false` when there was no such key, `null` when it failed. */
    abstract public function delete(string $key): ?bool;

    /** As delete(). */
    public function touch(string $key, mixed $ttl): ?bool
    {
        throw new Failure('other', "{$this->title()} cannot renew a time to live");
    }

    /**
     * get() as the loop calls it. A cache whose extension has a function of that form gives that one, for a method that only
     * passes on would cost as much as the rest of the loop.
     */
    public function getter(): \Closure
    {
        return $this->get(...);
    }

    /** set() as the loop calls it. */
    public function setter(): \Closure
    {
        return $this->set(...);
    }

    /**
     * What these keys have, by key, as one request.
     *
     * @param list<string> $keys
     * @return array<array-key, string>
     */
    public function getMany(array $keys): array
    {
        $found = [];
        foreach ($keys as $key) {
            $value = $this->get($key);
            if ($value !== false) {
                $found[$key] = $value;
            }
        }
        return $found;
    }

    /** What set() and touch() take for so many seconds: whole ones, rounded up, for a fraction would be none; 0 is none. */
    public function ttlArgument(int|float|null $seconds): mixed
    {
        return (int) ceil($seconds ?? 0);
    }

    /** Everything is stored with this TTL from now on. */
    public function expectTtl(int|float|null $seconds): void
    {
    }

    /** The cache as a child of this process has it. */
    public function afterFork(): self
    {
        return $this;
    }

    /** Whether processes that are forked have its entries in common, under a lock. */
    public function sharesMemory(): bool
    {
        return false;
    }

    /** The client for one operation, where each has one of its own; a get and the fill of its miss are one. */
    public function operation(): self
    {
        return $this;
    }

    /** Whether a miss may have been a failure, of which trace() tells. */
    public function doubts(): bool
    {
        return false;
    }

    /** What the last operation left behind, by which it can be explained later; `null` where it was a miss and nothing else. */
    public function trace(): mixed
    {
        return null;
    }

    /** The failure that a miss with this trace was. */
    public function failureOfMiss(mixed $trace): Failure
    {
        return Failure::unexplained();
    }

    /** Why set() did not take a value. */
    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        return new Failure('other', "{$this->title()} did not take the value, and does not say why");
    }

    /** Whether a set that succeeded is one that was answered; otherwise it was sent, and finish() waits for it. */
    public function acknowledges(): bool
    {
        return true;
    }

    /** Waits for what is still under way, while the clock runs. Returns whether there may have been anything. */
    public function finish(): bool
    {
        return false;
    }

    /**
     * How many entries it dropped to make room since it was last asked; `null` where nobody knows. `$added` tells how many keys
     * have come since, or `null`.
     *
     * @param \Closure(): ?int $added
     */
    public function evictions(\Closure $added): ?int
    {
        return null;
    }

    /** Connections opened since the last time this was asked; `null` when nobody knows. */
    public function connections(): ?int
    {
        return 0;
    }

    /** @return list<array<string, int|string>> What each tier did since the last time this was asked. */
    public function tierCounts(): array
    {
        return [];
    }

    /** Says that an extension is missing, unless it is there. */
    final protected static function need(string $extension, string $more = ''): void
    {
        if (!extension_loaded($extension)) {
            throw new Failure('unavailable', "the PHP extension $extension is not loaded$more");
        }
    }

    /** A switch as PHP's own settings have it. */
    final protected static function text(mixed $setting): string
    {
        return is_bool($setting) ? ($setting ? 'on' : 'off') : (string) $setting;
    }
}
