<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\Error;
use Larder\Store;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\CacheItemPoolInterface;
use Psr\Log\LoggerInterface;

/**
 * Any store as a pool of PSR-6, in its versions 1 to 3.
 *
 * A failure of the store is a miss or a `false`, and a warning in the log.
 */
final class CacheItemPool implements CacheItemPoolInterface
{
    use Quiet;

    /** @var array<array-key, CacheItem> What saveDeferred() has taken, by the items' keys. */
    private array $deferred = [];

    /** @param ?int $ttl The TTL of items that are saved without one; `null` is for ever */
    public function __construct(Store $store, private readonly ?int $ttl = null, ?LoggerInterface $log = null)
    {
        $this->take($store, $log);
    }

    public function __destruct()
    {
        $this->commit();
    }

    public function getItem($key): CacheItemInterface
    {
        $stored = $this->key($key);
        if (isset($this->deferred[$key])) {
            return $this->getItems([$key])[$key];
        }
        try {
            $value = $this->store->get($stored, $this);
        } catch (Error $error) {
            $value = $this->warned($error, $this);
        }
        $isHit = $value !== $this;
        return new CacheItem($key, $isHit ? $value : null, $isHit, $this->ttl);
    }

    /** @return array<array-key, CacheItem> */
    public function getItems(array $keys = []): iterable
    {
        $stored = [];
        foreach ($keys as $key) {
            $stored[$key] = $this->key($key);
        }
        $items = $toRead = [];
        foreach ($stored as $key => $its) {
            $items[$key] = null;
            $deferred = $this->deferred[$key] ?? null;
            if ($deferred === null) {
                $toRead[] = $its;
            } elseif (($rest = $deferred->rest()) === null || $rest > 0) {
                $items[$key] = new CacheItem((string) $key, self::copied($deferred->toStore()), true, $this->ttl);
            }
        }
        $found = $toRead === [] ? [] : $this->read($toRead);
        foreach ($items as $key => $item) {
            $isHit = \array_key_exists($stored[$key], $found);
            $items[$key] = $item ?? new CacheItem((string) $key, $found[$stored[$key]] ?? null, $isHit, $this->ttl);
        }
        return $items;
    }

    public function hasItem($key): bool
    {
        $stored = $this->key($key);
        if (isset($this->deferred[$key])) {
            return $this->getItem($key)->isHit();
        }
        return $this->quietly(fn (): bool => $this->store->has($stored), false);
    }

    public function clear(): bool
    {
        $this->deferred = [];
        return $this->quietly(function (): bool {
            $this->store->clear();
            return true;
        }, false);
    }

    public function deleteItem($key): bool
    {
        return $this->deleteItems([$key]);
    }

    public function deleteItems(array $keys): bool
    {
        $stored = \array_map($this->key(...), $keys);
        $this->deferred = \array_diff_key($this->deferred, \array_flip($keys));
        return $this->quietly(function () use ($stored): bool {
            $this->store->deleteMany($stored);
            return true;
        }, false);
    }

    public function save(CacheItemInterface $item): bool
    {
        unset($this->deferred[$item->getKey()]);
        return $item instanceof CacheItem && $this->saveAll([$item]);
    }

    public function saveDeferred(CacheItemInterface $item): bool
    {
        if (!$item instanceof CacheItem) {
            return false;
        }
        // What becomes of the caller's item from now on is not saved.
        $this->deferred[$item->getKey()] = clone $item;
        return true;
    }

    public function commit(): bool
    {
        [$items, $this->deferred] = [$this->deferred, []];
        return $this->saveAll($items);
    }

    /** @param array<array-key, CacheItem> $items */
    private function saveAll(array $items): bool
    {
        $byTtl = [];
        $isDone = true;
        foreach ($items as $item) {
            $rest = $item->rest();
            if ($rest !== null && $rest <= 0) {
                $isDone = $this->deleteItem($item->getKey()) && $isDone;
                continue;
            }
            // Items that were made one after the other have almost one TTL: those of a tenth of a second are stored together.
            $ttl = $rest === null ? '' : (string) (\ceil($rest * 10) / 10);
            $byTtl[$ttl][Keys::stored($item->getKey())] = $item->toStore();
        }
        foreach ($byTtl as $ttl => $values) {
            $seconds = $ttl === '' ? null : (float) $ttl;
            $isDone = $this->quietly(fn (): bool => $this->store->setMany($values, $seconds) === [], false) && $isDone;
        }
        return $isDone;
    }

    private function key(mixed $key): string
    {
        if (Keys::isUsual($key)) {
            return $key;
        }
        $fault = Keys::fault($key);
        return $fault === null ? Keys::stored($key) : throw new InvalidCacheArgument($fault);
    }

    /** A deferred value as it would come back from the store: an object is another one. */
    private static function copied(mixed $value): mixed
    {
        return \is_object($value) ? clone $value : $value;
    }
}
