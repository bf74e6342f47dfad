<?php

declare(strict_types=1);

namespace Larder;

/** The answer to Store::lease(): a value, the right to load it, or the advice to wait for another caller's. */
final class Lease
{
    /** @internal Store::lease() makes it. */
    public function __construct(
        public readonly string $key,
        private readonly int $code,
        /** The value; with isStale() an older one, and `null` where there is none. */
        public readonly mixed $value,
        private readonly bool $isStale,
        /** The bytes of the right, which any process that shares the store can use. */
        public readonly ?string $token,
    ) {
    }

    /** Whether the value is there, and up to date. */
    public function isHit(): bool
    {
        return $this->code === Code::OK;
    }

    /** Whether this caller is to load the value. */
    public function mustLoad(): bool
    {
        return $this->code === Code::LOAD;
    }

    /** Whether there is an older value, for all to use until the newer one is loaded. */
    public function isStale(): bool
    {
        return $this->isStale;
    }
}
