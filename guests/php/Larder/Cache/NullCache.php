<?php

declare(strict_types=1);

namespace Larder\Cache;

use Larder\Cache;
use Larder\Order;

/** Keeps nothing and returns what was set last: what is measured on it is the floor of this language. */
final class NullCache extends Cache
{
    private string|false $value = false;

    public static function opened(Order $order): Cache
    {
        return new self();
    }

    public function title(): string
    {
        return 'null';
    }

    public function settings(): array
    {
        return [];
    }

    public function get(string $key): string|false
    {
        return $this->value;
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        $this->value = $value;
        return true;
    }

    /** Every key is there, for what is measured is the way to one. */
    public function delete(string $key): ?bool
    {
        return true;
    }

    public function touch(string $key, mixed $ttl): ?bool
    {
        return true;
    }
}
