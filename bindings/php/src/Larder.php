<?php

declare(strict_types=1);

namespace Larder;

/** The door: opens caches by their URLs. */
final class Larder
{
    /** The kinds of PHP in which a process is one program, and not a worker for many requests. */
    private const PROGRAMS = ['cli', 'phpdbg', 'embed'];

    /**
     * Opens the cache of a URL, such as `mmap:/run/app/cache?size=256m`.
     *
     * Text, bytes and whole numbers are stored as they are. `$serializer` stores every other value: JSON without one.
     *
     * A kept store stays open for the next requests of the same worker, with its connections. That is the default in a
     * web server; in a program a store is closed with its object.
     */
    public static function open(#[\SensitiveParameter] string $url, ?Serializer $serializer = null, ?bool $kept = null): Store
    {
        $kept ??= !\in_array(\PHP_SAPI, self::PROGRAMS, true);
        return new Store(new Handles(Library::get(), $url, $kept), $serializer ?? new Json());
    }

    /** The version of the library, such as `0.2.0`. */
    public static function version(): string
    {
        return Library::get()->larder_version();
    }
}
