<?php

declare(strict_types=1);

namespace Larder;

/** What PHP and its extensions complain of, and what they print. */
final class Complaints
{
    /**
     * Makes a warning of any kind an exception, which is the error of the operation that it came from; and sends what is
     * printed to standard error, for standard output carries answers and nothing else.
     */
    public static function take(): void
    {
        set_error_handler(static function (int $level, string $message): bool {
            // `@` before a call leaves only fatal ones to be told.
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
