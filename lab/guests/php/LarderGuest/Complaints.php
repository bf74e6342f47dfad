<?php

declare(strict_types=1);

namespace LarderGuest;

/** The warnings and the output of PHP and its extensions. */
final class Complaints
{
    /**
     * Turns a warning of any kind into an exception, which becomes the error of its operation. Sends all output to
     * standard error, for standard output carries answers and nothing else.
     */
    public static function take(): void
    {
        set_error_handler(static function (int $level, string $message): bool {
            // `@` before a call lets only fatal errors through.
            if ((error_reporting() & $level) === 0) {
                return false;
            }
            throw Failure::inWords($message);
        });
        ob_start(static function (string $printed): string {
            fwrite(STDERR, $printed);
            return '';
        }, 1);
    }
}
