<?php

declare(strict_types=1);

namespace Larder\Tests;

use PHPUnit\Framework\TestCase;

/** The script for `opcache.preload`. examples/php-fpm runs it in a web server, and with `ffi.preload`. */
final class PreloadTest extends TestCase
{
    public function testPreloadedClassesUseThePreloadedLibrary(): void
    {
        // Without the package's own loader, only preloaded classes are there.
        $program = 'FFI::scope("larder"); $store = Larder\Larder::open("memory:?size=1m", kept: true); $store->set("key", [1]);'
            . ' echo json_encode([$store->get("key"), Larder\Larder::open("memory:?size=1m", kept: true)->get("key")]);';
        $settings = ['opcache.enable_cli=1', 'opcache.preload=' . realpath(__DIR__ . '/../preload.php')];
        if (posix_geteuid() === 0) {
            // PHP asks root for an account, and loads no library for it but by `ffi.preload`.
            $header = Place::folder() . '/larder.h';
            $library = getenv('LARDER_LIBRARY') ?: 'liblarder.so.0.2';
            file_put_contents($header, str_replace('liblarder.so.0.2', $library, file_get_contents(Header::OF_PHP)));
            array_push($settings, 'opcache.preload_user=root', "ffi.preload=$header");
        }
        self::assertSame('[[1],[1]]', self::output($settings, $program));
    }

    public function testAWebServerWithoutPreloadingIsToldTheFix(): void
    {
        // The command line may always use FFI, so the refusal of a web server is one of `ffi.enable=0` here.
        $program = 'require "' . __DIR__ . '/../autoload.php"; try { Larder\Larder::open("memory:"); }'
            . ' catch (Larder\UnavailableError $error) { echo $error->getMessage(); }';
        $told = self::output(['ffi.enable=0'], $program);
        self::assertStringContainsString('set opcache.preload to', $told);
        self::assertStringEndsWith('php/preload.php', $told);
    }

    /** @param list<string> $settings */
    private static function output(array $settings, string $program): string
    {
        $command = [PHP_BINARY, '-d', 'display_errors=stderr'];
        foreach ($settings as $setting) {
            array_push($command, '-d', $setting);
        }
        $process = proc_open([...$command, '-r', $program], [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
        $told = stream_get_contents($pipes[1]);
        proc_close($process);
        return $told;
    }
}
