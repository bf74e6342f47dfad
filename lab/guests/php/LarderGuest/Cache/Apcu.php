<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;

/**
 * APCu: a table in memory that this process shares with the processes that it forks. Its settings are PHP's settings
 * apc.*, given on the command line. A full APCu drops all its entries at once.
 */
final class Apcu extends Cache
{
    private const SETTINGS = ['ttl', 'gc_ttl', 'entries_hint', 'slam_defense', 'use_request_time', 'serializer'];

    /** @var array{int, int} The numbers of entries and expunges at the last look. */
    private array $seen = [0, 0];

    public static function opened(Order $order): Cache
    {
        self::need('apcu');
        if (!apcu_enabled()) {
            throw new Failure(
                'unavailable',
                'APCu is loaded but off, and would silently store nothing; set apc.enabled=1 and apc.enable_cli=1',
            );
        }
        $self = new self();
        $self->seen = self::look();
        return $self;
    }

    public function title(): string
    {
        return 'APCu ' . phpversion('apcu');
    }

    public function settings(): array
    {
        $memory = apcu_sma_info(true);
        $settings = [
            'shm_size' => (string) self::sharedBytes(),
            'free_bytes' => (string) (int) $memory['avail_mem'],
            'when_full' => (int) ini_get('apc.ttl') === 0 ? 'drops everything' : 'drops entries past ttl, then all',
        ];
        foreach (self::SETTINGS as $name) {
            $settings[$name] = (string) ini_get("apc.$name");
        }
        return $settings;
    }

    public function getter(): \Closure
    {
        return apcu_fetch(...);
    }

    public function setter(): \Closure
    {
        return apcu_store(...);
    }

    public function get(string $key): string|false
    {
        return apcu_fetch($key);
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        return apcu_store($key, $value, $ttl);
    }

    public function getMany(array $keys): array
    {
        return apcu_fetch($keys) ?: [];
    }

    public function sharesMemory(): bool
    {
        return true;
    }

    public function delete(string $key): ?bool
    {
        return apcu_delete($key);
    }

    /** APCu answers `false` and nothing more, so the sizes tell the reason. */
    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        $bytes = strlen($key) + strlen($value);
        $all = self::sharedBytes();
        $free = (int) apcu_sma_info(true)['avail_mem'];
        $why = "apcu_store() did not take key and value of $bytes bytes: shm_size is $all bytes, $free of them free";
        return new Failure($bytes > $all - (1 << 16) ? 'too_large' : 'full', $why);
    }

    /**
     * APCu does not tell the number of dropped entries, only how often it dropped all entries. So evictions are entries
     * before, plus entries added, minus entries after. With `ttl` APCu also drops single entries, of which it tells
     * nothing.
     */
    public function evictions(\Closure $added): ?int
    {
        [$had, $before] = $this->seen;
        [$has, $now] = $this->seen = self::look();
        if ((int) ini_get('apc.ttl') !== 0) {
            return null;
        }
        if ($now === $before) {
            return 0;
        }
        $came = $added();
        return $came === null ? null : max(0, $had + $came - $has);
    }

    /** @return array{int, int} */
    private static function look(): array
    {
        $info = apcu_cache_info(true);
        return [(int) $info['num_entries'], (int) $info['expunges']];
    }

    /** The size that APCu took from `shm_size`: a bare number is in bytes, or in MiB where that is too little. */
    private static function sharedBytes(): int
    {
        $memory = apcu_sma_info(true);
        return (int) ($memory['num_seg'] * $memory['seg_size']);
    }
}
