<?php

declare(strict_types=1);

namespace Larder;

/**
 * Ends the stores that a fatal error would leave as they are: PHP calls no destructors then, and a stack with `write=behind` would
 * lose what it holds back.
 *
 * @internal
 */
final class Shutdown
{
    private const FATAL = \E_ERROR | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;

    /** @var ?\WeakMap<Handles, true> The stores of this program that are not kept. */
    private static ?\WeakMap $stores = null;

    public static function minds(Handles $handles): void
    {
        if (self::$stores === null) {
            self::$stores = new \WeakMap();
            \register_shutdown_function(self::begins(...));
        }
        self::$stores[$handles] = true;
    }

    private static function begins(): void
    {
        $error = \error_get_last();
        if ($error !== null && ($error['type'] & self::FATAL) !== 0) {
            // The functions that the program has registered may use their stores, so they come first.
            \register_shutdown_function(self::ends(...));
        }
    }

    private static function ends(): void
    {
        foreach (self::$stores as $handles => $_) {
            try {
                $handles->settle();
            } catch (Error) {
                // The program has told its own error, and ends.
            }
        }
    }
}
