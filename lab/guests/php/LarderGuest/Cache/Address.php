<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

/** The address of a server. */
final class Address
{
    /** @return array{string, int} Host and port; of a socket in the file system, its path and 0 */
    public static function of(string $server): array
    {
        $at = strrpos($server, ':');
        return str_starts_with($server, '/') || $at === false
            ? [$server, 0]
            : [trim(substr($server, 0, $at), '[]'), (int) substr($server, $at + 1)];
    }
}
