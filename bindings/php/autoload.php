<?php

declare(strict_types=1);

// The loader of the package's classes where Composer's is not used: Larder\Psr\SimpleCache is src/Psr/SimpleCache.php.
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Larder\\')) {
        $path = __DIR__ . '/src/' . strtr(substr($class, 7), '\\', '/') . '.php';
        if (is_file($path)) {
            require $path;
        }
    }
});
