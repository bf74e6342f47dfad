<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use Larder\RefusedError;
use Larder\Store;
use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;

/** Larder's own package: the segment cache in one file, which all processes share. */
final class Larder extends Cache
{
    private int $evicted;
    private ?RefusedError $refused = null;

    private function __construct(private readonly Store $store)
    {
        $this->evicted = $store->stats()['evictions'];
    }

    public static function opened(Order $order): Cache
    {
        self::need('ffi');
        putenv('LARDER_LIBRARY=' . $order->library);
        // A guest takes longer keys than the default of `mmap:`.
        $options = ['max_key' => '1k'];
        foreach (['size', 'item_size'] as $name) {
            if ($order->option($name) !== null) {
                $options[$name] = $order->option($name);
            }
        }
        $store = \Larder\Larder::open("mmap:{$order->files()}/cache?" . http_build_query($options));
        if ($order->fresh) {
            $store->clear();
        }
        return new self($store);
    }

    public function title(): string
    {
        return 'larder ' . \Larder\Larder::version();
    }

    public function settings(): array
    {
        return ['capacity_bytes' => (string) $this->store->stats()['capacity_bytes']];
    }

    public function get(string $key): string|false
    {
        return $this->store->get($key, false);
    }

    /** A refused value is an exception of the package, which refusal() explains. */
    public function set(string $key, string $value, mixed $ttl): bool
    {
        try {
            $this->store->set($key, $value, $ttl);
            return true;
        } catch (RefusedError $refused) {
            $this->refused = $refused;
            return false;
        }
    }

    public function delete(string $key): ?bool
    {
        return $this->store->delete($key);
    }

    public function touch(string $key, mixed $ttl): ?bool
    {
        return $this->store->touch($key, $ttl);
    }

    public function getMany(array $keys): array
    {
        return $this->store->getMany($keys);
    }

    /** Seconds with their parts. */
    public function ttlArgument(int|float|null $seconds): mixed
    {
        return $seconds;
    }

    public function trace(): mixed
    {
        [$refused, $this->refused] = [$this->refused, null];
        return $refused;
    }

    public function failureOfMiss(mixed $trace): Failure
    {
        return Failure::from($trace);
    }

    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        $kind = $trace->kind === 'value_too_large' ? 'too_large' : 'full';
        return new Failure($kind, $trace->getMessage());
    }

    public function evictions(\Closure $added): ?int
    {
        [$before, $this->evicted] = [$this->evicted, $this->store->stats()['evictions']];
        return $this->evicted - $before;
    }
}
