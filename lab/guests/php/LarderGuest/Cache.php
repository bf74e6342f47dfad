<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * The interface of a cache. A cache answers `false` for an absent key, as PHP's own caches do. An exception of the
 * cache is an error of the operation.
 */
abstract class Cache
{
    private const CACHES = [
        'null' => Cache\NullCache::class,
        'apcu' => Cache\Apcu::class,
        'xcache' => Cache\Xcache::class,
        'memcached' => Cache\Memcached::class,
        'memcache' => Cache\Memcache::class,
        'redis' => Cache\Redis::class,
        'mongodb' => Cache\Mongodb::class,
        'file' => Cache\File::class,
        'symfony' => Cache\Symfony::class,
        'larder' => Cache\Larder::class,
        'tiered' => Cache\Tiered::class,
    ];

    /** Opens the cache that open.json, or a tier in it, describes. */
    public static function open(Order $order): self
    {
        $class = self::CACHES[$order->cache] ?? throw new Failure(
            'protocol',
            "unknown cache: {$order->cache}; known: " . implode(', ', array_keys(self::CACHES)),
        );
        return $class::opened($order);
    }

    abstract public static function opened(Order $order): self;

    /** Name and version. */
    abstract public function title(): string;

    /** @return array<string, string> The effective settings. */
    abstract public function settings(): array;

    abstract public function get(string $key): string|false;

    /** Whether the value was stored. `$ttl` is a result of ttlArgument(). */
    abstract public function set(string $key, string $value, mixed $ttl): bool;

    /** `true`; `false` when the key was absent, `null` when the call failed. */
    abstract public function delete(string $key): ?bool;

    /** As delete(). */
    public function touch(string $key, mixed $ttl): ?bool
    {
        throw new Failure('other', "{$this->title()} cannot renew a time to live");
    }

    /**
     * get() as the loop calls it. A cache whose extension has a function of this form gives that function. A method
     * that only passes calls on would cost as much as the rest of the loop.
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
     * The values of these keys, by key, as one request.
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

    /** A TTL in the form that set() and touch() take: whole seconds, rounded up, for 0 means no TTL. */
    public function ttlArgument(int|float|null $seconds): mixed
    {
        return (int) ceil($seconds ?? 0);
    }

    /** Every value is stored with this TTL from now on. */
    public function expectTtl(int|float|null $seconds): void
    {
    }

    /** The cache to use in a child of this process. */
    public function afterFork(): self
    {
        return $this;
    }

    /** Whether forked processes share the cache's entries, under a lock. */
    public function sharesMemory(): bool
    {
        return false;
    }

    /** The client for one operation, where each has its own; a get and the fill of its miss are one operation. */
    public function operation(): self
    {
        return $this;
    }

    /** Whether a miss may have been a failure, which trace() then shows. */
    public function doubts(): bool
    {
        return false;
    }

    /** The trace of the last operation, by which it can be explained later; `null` where it was a mere miss. */
    public function trace(): mixed
    {
        return null;
    }

    /** The failure that a miss with this trace was. */
    public function failureOfMiss(mixed $trace): Failure
    {
        return Failure::unexplained();
    }

    /** The reason why set() did not take a value. */
    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        return new Failure('other', "{$this->title()} refused the value without a reason");
    }

    /** Whether a successful set was answered; otherwise it was merely sent, and finish() waits for it. */
    public function acknowledges(): bool
    {
        return true;
    }

    /** Waits for operations still under way, while the clock runs. Returns whether there may have been any. */
    public function finish(): bool
    {
        return false;
    }

    /**
     * The number of entries dropped to make room since the last call; `null` where it is unknown. `$added` gives the
     * number of keys added since then, or `null`.
     *
     * @param \Closure(): ?int $added
     */
    public function evictions(\Closure $added): ?int
    {
        return null;
    }

    /** Connections opened since the last call; `null` where their number is unknown. */
    public function connections(): ?int
    {
        return 0;
    }

    /** @return list<array<string, int|string>> The counts of each tier since the last call. */
    public function tierCounts(): array
    {
        return [];
    }

    /** Throws unless the extension is loaded. */
    final protected static function need(string $extension, string $more = ''): void
    {
        if (!extension_loaded($extension)) {
            throw new Failure('unavailable', "the PHP extension $extension is not loaded$more");
        }
    }

    /** The text of a setting; a switch is `on` or `off`, as in PHP's own settings. */
    final protected static function text(mixed $setting): string
    {
        return is_bool($setting) ? ($setting ? 'on' : 'off') : (string) $setting;
    }
}
