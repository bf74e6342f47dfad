<?php

declare(strict_types=1);

namespace Larder;

/**
 * Finds and loads liblarder: once for a program, or before the workers of a web server begin (preload.php).
 *
 * @internal
 */
final class Library
{
    private const HEADER = __DIR__ . '/larder.h';
    private const SCOPE = 'larder';
    private const NAME = 'liblarder.so.0.2';

    private static ?\FFI $loaded = null;

    /** The functions of larder.h. */
    public static function get(): \FFI
    {
        return self::$loaded ??= self::preloaded() ?? self::load();
    }

    /** Loads the library for all later requests of this server. */
    public static function preload(): void
    {
        // `ffi.preload` may have done it.
        if (self::preloaded() !== null) {
            return;
        }
        $path = self::path();
        if ($path === self::NAME) {
            self::loading(static fn (): ?\FFI => \FFI::load(self::HEADER));
            return;
        }
        // A header names its library, so another path needs a header of its own.
        $header = \tempnam(\sys_get_temp_dir(), 'larder');
        \file_put_contents($header, \str_replace('"' . self::NAME . '"', '"' . $path . '"', self::header()));
        try {
            self::loading(static fn (): ?\FFI => \FFI::load($header));
        } finally {
            \unlink($header);
        }
    }

    private static function preloaded(): ?\FFI
    {
        try {
            return \FFI::scope(self::SCOPE);
        } catch (\FFI\Exception) {
            return null;
        }
    }

    private static function load(): \FFI
    {
        // The lines that begin with # are for FFI::load().
        $declarations = \preg_replace('/^#.*\n/m', '', self::header());
        return self::loading(static fn (): \FFI => \FFI::cdef($declarations, self::path()));
    }

    /** @param \Closure(): ?\FFI $load */
    private static function loading(\Closure $load): \FFI
    {
        try {
            return $load() ?? throw new \FFI\Exception('the header has no scope');
        } catch (\FFI\Exception $caught) {
            throw new UnavailableError(self::remedy($caught->getMessage()), 'unavailable', $caught);
        }
    }

    /** The error of a library that was not loaded, with its fix. */
    private static function remedy(string $why): string
    {
        if (\str_contains($why, 'ffi.enable')) {
            return 'php allows FFI to preloaded code only (ffi.enable=preload); set opcache.preload to ' . \dirname(__DIR__)
                . '/preload.php';
        }
        if (\str_contains($why, 'preload_user')) {
            return 'php loads no library for opcache.preload_user; set ffi.preload to ' . self::HEADER;
        }
        return 'the library ' . self::path() . " cannot be loaded ($why); install it by packaging/capi, or write its path to "
            . 'LARDER_LIBRARY';
    }

    /** The path of the library, or its name for the loader's own search. */
    private static function path(): string
    {
        return \getenv('LARDER_LIBRARY') ?: self::NAME;
    }

    private static function header(): string
    {
        return (string) \file_get_contents(self::HEADER);
    }
}
