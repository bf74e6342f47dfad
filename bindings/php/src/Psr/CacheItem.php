<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\Ttl;
use Psr\Cache\CacheItemInterface;

/** An item of CacheItemPool. */
final class CacheItem implements CacheItemInterface
{
    /** The second since 1970 at which the item expires; `null` is for ever. */
    private ?float $expiry;

    /**
     * @internal CacheItemPool makes items.
     * @param ?int $ttl The TTL of an item without an expiry of its own
     */
    public function __construct(
        private readonly string $key,
        private mixed $value,
        private readonly bool $isHit,
        private readonly ?int $ttl,
    ) {
        $this->expiry = $ttl === null ? null : \microtime(true) + $ttl;
    }

    public function getKey(): string
    {
        return $this->key;
    }

    public function get(): mixed
    {
        return $this->isHit ? $this->value : null;
    }

    public function isHit(): bool
    {
        return $this->isHit;
    }

    public function set($value): static
    {
        $this->value = $value;
        return $this;
    }

    public function expiresAt($expiration): static
    {
        if ($expiration !== null && !$expiration instanceof \DateTimeInterface) {
            throw new InvalidCacheArgument('an expiry is a DateTimeInterface or null, not ' . \get_debug_type($expiration));
        }
        $this->expiry = $expiration === null ? $this->defaultExpiry() : (float) $expiration->format('U.u');
        return $this;
    }

    public function expiresAfter($time): static
    {
        $this->expiry = match (true) {
            $time === null => $this->defaultExpiry(),
            \is_int($time) => \microtime(true) + $time,
            $time instanceof \DateInterval => \microtime(true) + Ttl::seconds($time),
            default => throw new InvalidCacheArgument(
                'a TTL is a number of seconds, a DateInterval or null, not ' . \get_debug_type($time),
            ),
        };
        return $this;
    }

    /**
     * The value to store.
     *
     * @internal
     */
    public function toStore(): mixed
    {
        return $this->value;
    }

    /**
     * The rest of the item's TTL in seconds, which may have passed; `null` is for ever.
     *
     * @internal
     */
    public function rest(): ?float
    {
        return $this->expiry === null ? null : $this->expiry - \microtime(true);
    }

    private function defaultExpiry(): ?float
    {
        return $this->ttl === null ? null : \microtime(true) + $this->ttl;
    }
}
