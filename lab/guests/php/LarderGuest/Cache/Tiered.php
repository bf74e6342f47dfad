<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;

/**
 * Caches behind one another. A get asks the nearest tier, then the next, and fills the nearer tiers with its value. A
 * set goes through all tiers, the farthest first. A nearer tier loses the key of a value that it refuses, so that it
 * has no older value than the tiers behind it.
 */
final class Tiered extends Cache
{
    private const NOTHING = ['hits' => 0, 'misses' => 0, 'fills' => 0, 'refused' => 0];

    private readonly int $far;
    /** @var list<array<string, int>> */
    private array $counts;
    /**
     * @var list<mixed> The TTL of a back-fill for each tier: a full TTL, for the time left is unknown. It is the shortest TTL of
     * all sets so far: without one, a key that has a TTL could stay in the nearer tier for ever.
     */
    private array $fillTtl;
    private int|float|null $shortest = null;

    /**
     * @param list<string> $names
     * @param list<Cache> $caches
     */
    public function __construct(private readonly array $names, private readonly array $caches)
    {
        $this->far = count($caches) - 1;
        $this->counts = array_fill(0, count($caches), self::NOTHING);
        $this->expectTtl(null);
    }

    public static function opened(Order $order): Cache
    {
        if (count($order->tiers) < 2) {
            throw new Failure('protocol', 'a tiered cache has two tiers or more');
        }
        return new self(
            array_map(static fn (Order $tier): string => $tier->cache, $order->tiers),
            array_map(Cache::open(...), $order->tiers),
        );
    }

    public function title(): string
    {
        return implode(' before ', array_map(static fn (Cache $cache): string => $cache->title(), $this->caches));
    }

    public function settings(): array
    {
        $settings = [];
        foreach ($this->caches as $n => $cache) {
            foreach ($cache->settings() as $name => $setting) {
                $settings['l' . $n + 1 . ".$name"] = $setting;
            }
        }
        return $settings;
    }

    public function get(string $key): string|false
    {
        foreach ($this->caches as $n => $cache) {
            $value = $cache->get($key);
            if ($value !== false) {
                $this->counts[$n]['hits']++;
                $this->fill($n, $key, $value);
                return $value;
            }
            $this->counts[$n]['misses']++;
        }
        return false;
    }

    public function getMany(array $keys): array
    {
        $found = [];
        foreach ($this->caches as $n => $cache) {
            $here = $cache->getMany($keys);
            $left = [];
            foreach ($keys as $key) {
                if (!isset($here[$key])) {
                    $left[] = $key;
                } elseif (!isset($found[$key])) {
                    $found[$key] = $here[$key];
                    $this->fill($n, $key, $here[$key]);
                }
            }
            $this->counts[$n]['hits'] += count($keys) - count($left);
            $this->counts[$n]['misses'] += count($left);
            if ($left === []) {
                break;
            }
            $keys = $left;
        }
        return $found;
    }

    /**
     * The nearer tiers lose the key of a value that the farthest tier refused or threw at. Each tier is asked, even if
     * an earlier tier threw.
     */
    public function set(string $key, string $value, mixed $ttl): bool
    {
        $thrown = null;
        $isStored = false;
        try {
            $isStored = $this->caches[$this->far]->set($key, $value, $ttl[$this->far]);
        } catch (\Throwable $thrown) {
        }
        if (!$isStored) {
            $this->counts[$this->far]['refused']++;
        }
        for ($n = $this->far - 1; $n >= 0; $n--) {
            try {
                $isStored ? $this->keep($n, $key, $value, $ttl[$n]) : $this->caches[$n]->delete($key);
            } catch (\Throwable $caught) {
                $thrown ??= $caught;
            }
        }
        return $thrown === null ? $isStored : throw $thrown;
    }

    /** The key was there if any tier had it, and is gone if no tier failed. */
    public function delete(string $key): ?bool
    {
        $thrown = null;
        $found = [];
        for ($n = $this->far; $n >= 0; $n--) {
            try {
                $found[] = $this->caches[$n]->delete($key);
            } catch (\Throwable $caught) {
                $thrown ??= $caught;
            }
        }
        if ($thrown !== null) {
            throw $thrown;
        }
        return in_array(null, $found, true) ? null : in_array(true, $found, true);
    }

    public function touch(string $key, mixed $ttl): ?bool
    {
        $found = [];
        for ($n = $this->far; $n >= 0; $n--) {
            $found[] = $this->caches[$n]->touch($key, $ttl[$n]);
        }
        return $found[0];
    }

    /** Each tier has its own form of a TTL. */
    public function ttlArgument(int|float|null $seconds): mixed
    {
        return array_map(static fn (Cache $cache): mixed => $cache->ttlArgument($seconds), $this->caches);
    }

    public function afterFork(): Cache
    {
        $again = new self($this->names, array_map(static fn (Cache $cache): Cache => $cache->afterFork(), $this->caches));
        $again->fillTtl = $this->fillTtl;
        $again->shortest = $this->shortest;
        return $again;
    }

    public function sharesMemory(): bool
    {
        return in_array(true, array_map(static fn (Cache $cache): bool => $cache->sharesMemory(), $this->caches), true);
    }

    public function expectTtl(int|float|null $seconds): void
    {
        $this->shortest = $seconds === null ? $this->shortest : min($seconds, $this->shortest ?? $seconds);
        $this->fillTtl = $this->ttlArgument($this->shortest);
    }

    /** A miss in all tiers may be a failure of the farthest tier. */
    public function doubts(): bool
    {
        return $this->caches[$this->far]->doubts();
    }

    public function trace(): mixed
    {
        return $this->caches[$this->far]->trace();
    }

    public function failureOfMiss(mixed $trace): Failure
    {
        return $this->caches[$this->far]->failureOfMiss($trace);
    }

    /** The farthest tier decides whether a value is stored. */
    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        $failure = $this->caches[$this->far]->refusal($key, $value, $trace);
        return new Failure($failure->kind, "{$this->names[$this->far]}: {$failure->getMessage()}");
    }

    public function acknowledges(): bool
    {
        return !in_array(false, array_map(static fn (Cache $cache): bool => $cache->acknowledges(), $this->caches), true);
    }

    public function finish(): bool
    {
        return in_array(true, array_map(static fn (Cache $cache): bool => $cache->finish(), $this->caches), true);
    }

    /** The evictions of the farthest tier, which has all entries: an entry that a nearer tier drops is not lost. */
    public function evictions(\Closure $added): ?int
    {
        return $this->caches[$this->far]->evictions($added);
    }

    public function connections(): ?int
    {
        $opened = array_map(static fn (Cache $cache): ?int => $cache->connections(), $this->caches);
        return in_array(null, $opened, true) ? null : array_sum($opened);
    }

    public function tierCounts(): array
    {
        $counts = array_map(static fn (string $name, array $count): array => ['name' => $name] + $count, $this->names, $this->counts);
        $this->counts = array_fill(0, count($this->caches), self::NOTHING);
        return $counts;
    }

    /** Stores the value of tier `$behind` in the tiers before it. */
    private function fill(int $behind, string $key, string $value): void
    {
        for ($n = $behind - 1; $n >= 0; $n--) {
            if ($this->keep($n, $key, $value, $this->fillTtl[$n])) {
                $this->counts[$n]['fills']++;
            }
        }
    }

    /** A tier that threw at a value may still have the older value, so it deletes the key. */
    private function keep(int $n, string $key, string $value, mixed $ttl): bool
    {
        $cache = $this->caches[$n];
        $thrown = null;
        try {
            if ($cache->set($key, $value, $ttl)) {
                return true;
            }
        } catch (\Throwable $thrown) {
        }
        $this->counts[$n]['refused']++;
        $cache->delete($key);
        return $thrown === null ? false : throw $thrown;
    }
}
