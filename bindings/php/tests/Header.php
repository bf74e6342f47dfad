<?php

declare(strict_types=1);

namespace Larder\Tests;

/** Makes src/larder.h of the header for C: PHP reads neither its comments' place nor its preprocessor. */
final class Header
{
    public const OF_C = __DIR__ . '/../../../cache/capi/include/larder.h';
    public const OF_PHP = __DIR__ . '/../src/larder.h';

    private const FIRST = <<<'E'
        #define FFI_SCOPE "larder"
        #define FFI_LIB "liblarder.so.0.2"


        E;

    /** The declarations of the header, behind the lines that tell PHP a scope and the library's name. */
    public static function derived(): string
    {
        $text = preg_replace('~/\*.*?\*/~s', '', self::ofC());
        $text = preg_replace('~^extern "C" \{$|^\}$|^#.*$~m', '', $text);
        $text = preg_replace(['~[ \t]+$~m', '~\n{2,}~'], ['', "\n"], $text);
        return self::FIRST . trim($text) . "\n";
    }

    /** @return array<string, string> The constants of the header, without LARDER_ before their names. */
    public static function constants(): array
    {
        preg_match_all('~^#define LARDER_(\w+)\s+(\S+)~m', self::ofC(), $found);
        return array_combine($found[1], $found[2]);
    }

    private static function ofC(): string
    {
        return file_get_contents(self::OF_C);
    }
}
