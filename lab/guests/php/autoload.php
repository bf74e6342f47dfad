<?php

declare(strict_types=1);

// Loads LarderGuest\Cache\Apcu from LarderGuest/Cache/Apcu.php beside this file, and Larder's own package from `package`.
spl_autoload_register(static function (string $class): void {
    $path = __DIR__ . '/' . preg_replace('/^Larder\//', 'package/', strtr($class, '\\', '/')) . '.php';
    if (str_starts_with($class, 'Larder') && is_file($path)) {
        require $path;
    }
});
