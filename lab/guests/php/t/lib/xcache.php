<?php

declare(strict_types=1);

// XCache's functions over APCu, for a PHP without XCache, so that the guest's calls are tested.
if (!function_exists('xcache_set') && function_exists('apcu_store')) {
    function xcache_get(string $key): mixed
    {
        $value = apcu_fetch($key, $isThere);
        return $isThere ? $value : null;
    }

    function xcache_set(string $key, mixed $value, int $ttl = 0): bool
    {
        return apcu_store($key, $value, $ttl);
    }

    function xcache_unset(string $key): bool
    {
        return apcu_delete($key);
    }
}
