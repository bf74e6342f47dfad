<?php

declare(strict_types=1);

// Loads Larder\Cache\Apcu from Larder/Cache/Apcu.php beside this file.
spl_autoload_register(static function (string $class): void {
    $path = __DIR__ . '/' . strtr($class, '\\', '/') . '.php';
    if (str_starts_with($class, 'Larder\\') && is_file($path)) {
        require $path;
    }
});
