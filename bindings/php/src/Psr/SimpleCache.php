<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\Error;
use Larder\Store;
use Larder\Ttl;
use Psr\Log\LoggerInterface;
use Psr\SimpleCache\CacheInterface;

/**
 * Any store as a cache of PSR-16, in its versions 1 to 3.
 *
 * A failure of the store is a miss or a `false`, and a warning in the log.
 */
final class SimpleCache implements CacheInterface
{
    use Quiet;

    /** @param int|\DateInterval|null $ttl The TTL of values that are stored without one; `null` is for ever */
    public function __construct(
        Store $store,
        private readonly int|\DateInterval|null $ttl = null,
        ?LoggerInterface $log = null,
    ) {
        $this->take($store, $log);
    }

    public function get($key, $default = null): mixed
    {
        $key = $this->key($key);
        try {
            return $this->store->get($key, $default);
        } catch (Error $error) {
            return $this->warned($error, $default);
        }
    }

    public function set($key, $value, $ttl = null): bool
    {
        [$key, $seconds] = [$this->key($key), $this->seconds($ttl)];
        if ($seconds !== null && $seconds <= 0) {
            return $this->delete($key);
        }
        return $this->quietly(function () use ($key, $value, $seconds): bool {
            $this->store->set($key, $value, $seconds);
            return true;
        }, false);
    }

    public function delete($key): bool
    {
        $key = $this->key($key);
        return $this->quietly(function () use ($key): bool {
            $this->store->delete($key);
            return true;
        }, false);
    }

    public function clear(): bool
    {
        return $this->quietly(function (): bool {
            $this->store->clear();
            return true;
        }, false);
    }

    public function getMultiple($keys, $default = null): iterable
    {
        $made = $this->keys($keys);
        $found = $made === [] ? [] : $this->read(\array_values($made));
        $values = [];
        foreach ($made as $key => $stored) {
            $values[$key] = \array_key_exists($stored, $found) ? $found[$stored] : $default;
        }
        return $values;
    }

    public function setMultiple($values, $ttl = null): bool
    {
        $seconds = $this->seconds($ttl);
        if (!\is_iterable($values)) {
            throw new InvalidSimpleCacheArgument('values are an array or a Traversable, not ' . \get_debug_type($values));
        }
        $made = [];
        foreach ($values as $key => $value) {
            // PHP makes numbers of keys such as "17" in arrays.
            $made[$this->key(\is_int($key) ? (string) $key : $key)] = $value;
        }
        if ($seconds !== null && $seconds <= 0) {
            return $this->deleteAll(\array_keys($made));
        }
        return $this->quietly(fn (): bool => $this->store->setMany($made, $seconds) === [], false);
    }

    public function deleteMultiple($keys): bool
    {
        return $this->deleteAll($this->keys($keys));
    }

    public function has($key): bool
    {
        $key = $this->key($key);
        return $this->quietly(fn (): bool => $this->store->has($key), false);
    }

    /** @param array<array-key, string|int> $stored */
    private function deleteAll(array $stored): bool
    {
        return $this->quietly(function () use ($stored): bool {
            $this->store->deleteMany($stored);
            return true;
        }, false);
    }

    private function key(mixed $key): string
    {
        if (Keys::isUsual($key)) {
            return $key;
        }
        $fault = Keys::fault($key);
        return $fault === null ? Keys::stored($key) : throw new InvalidSimpleCacheArgument($fault);
    }

    /** @return array<array-key, string> The keys of the store by the caller's. */
    private function keys(mixed $keys): array
    {
        if (!\is_iterable($keys)) {
            throw new InvalidSimpleCacheArgument('keys are an array or a Traversable, not ' . \get_debug_type($keys));
        }
        $made = [];
        foreach ($keys as $key) {
            $stored = $this->key($key);
            $made[$key] = $stored;
        }
        return $made;
    }

    private function seconds(mixed $ttl): int|float|null
    {
        $ttl ??= $this->ttl;
        return match (true) {
            $ttl === null, \is_int($ttl) => $ttl,
            $ttl instanceof \DateInterval => Ttl::seconds($ttl),
            default => throw new InvalidSimpleCacheArgument(
                'a TTL is a number of seconds, a DateInterval or null, not ' . \get_debug_type($ttl),
            ),
        };
    }
}
