<?php

/*
 * The tests run by Debian's packages: phpunit, php-cache-integration-tests, php-symfony-cache and php-psr-simple-cache.
 * With Composer's vendor/autoload.php they run by its packages.
 */

declare(strict_types=1);

$vendor = __DIR__ . '/../vendor/autoload.php';
if (is_file($vendor)) {
    require $vendor;
} else {
    foreach (['Psr/SimpleCache', 'Psr/Cache', 'Symfony/Component/Cache', 'Cache/IntegrationTests'] as $package) {
        require_once "$package/autoload.php";
    }
    require __DIR__ . '/../autoload.php';
    spl_autoload_register(static function (string $class): void {
        $path = __DIR__ . '/' . strtr(substr($class, strlen('Larder\\Tests\\')), '\\', '/') . '.php';
        if (str_starts_with($class, 'Larder\\Tests\\') && is_file($path)) {
            require $path;
        }
    });
}
