<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;

/**
 * XCache: a table in memory that this process shares with the processes that it forks. Its settings are PHP's settings
 * xcache.*, given on the command line.
 */
final class Xcache extends Cache
{
    private const SETTINGS = ['var_size', 'var_count', 'var_slots', 'var_ttl', 'var_maxttl', 'var_gc_interval'];

    /** The memory that XCache needs for itself at least. */
    private const OVERHEAD_BYTES = 1 << 16;

    public static function opened(Order $order): Cache
    {
        if (!function_exists('xcache_set')) {
            self::need('xcache', '; its last release is for PHP 5.6, and this guest runs PHP '
                . PHP_VERSION);
        }
        if ((int) self::setting('var_size') === 0) {
            throw new Failure(
                'unavailable',
                'XCache has no memory for values: xcache.var_size is 0, its default; write var_size=64m',
            );
        }
        return new self();
    }

    public function title(): string
    {
        return 'XCache ' . (phpversion('xcache') ?: (defined('XCACHE_VERSION') ? XCACHE_VERSION : 'of no version'));
    }

    public function settings(): array
    {
        $settings = [];
        foreach (self::SETTINGS as $name) {
            $settings[$name] = self::setting($name);
        }
        return $settings;
    }

    /** XCache returns `null` for an absent key. */
    public function get(string $key): string|false
    {
        return xcache_get($key) ?? false;
    }

    public function setter(): \Closure
    {
        return xcache_set(...);
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        return xcache_set($key, $value, $ttl);
    }

    public function sharesMemory(): bool
    {
        return true;
    }

    public function delete(string $key): ?bool
    {
        return xcache_unset($key);
    }

    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        $bytes = strlen($key) + strlen($value);
        $all = self::setting('var_size');
        $why = "xcache_set() did not take key and value of $bytes bytes: xcache.var_size is $all";
        // An entry lies within one of the `var_count` parts of the memory.
        $part = intdiv(ini_parse_quantity($all), max(1, (int) self::setting('var_count')));
        return new Failure($bytes > $part - self::OVERHEAD_BYTES ? 'too_large' : 'full', $why);
    }

    private static function setting(string $name): string
    {
        return (string) (ini_get("xcache.$name") ?: get_cfg_var("xcache.$name"));
    }
}
