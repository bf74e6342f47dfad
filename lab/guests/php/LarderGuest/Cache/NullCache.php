<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Order;

/** Keeps nothing and returns the value that was set last: its figures are the floor of this language. */
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

    /** Every key counts as present, for the way to a key is measured. */
    public function delete(string $key): ?bool
    {
        return true;
    }

    public function touch(string $key, mixed $ttl): ?bool
    {
        return true;
    }
}
