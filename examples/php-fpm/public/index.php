<?php

/*
 * A page of a shop. Its rows come from a stack: a file that the workers of this host share, and a memcached behind it. What
 * neither has comes from a database, which takes 20 ms here.
 */

declare(strict_types=1);

use Larder\Larder;

// The classes are there already: php-fpm has preloaded them.
$stack = Larder::open($_SERVER['CACHE_URL']);
// Only this example looks into the file alone, to tell where a row came from.
$near = Larder::open($_SERVER['NEAR_URL']);

$key = "row:{$_GET['row']}";
$level = $near->has($key) ? 'file' : 'memcached';
$began = hrtime(true);
$row = $stack->getOrLoad($key, static function () use ($key, &$level): array {
    $level = 'database';
    usleep(20_000);
    return ['key' => $key, 'text' => str_repeat('text ', 200)];
}, 3_600);
$tookUs = (hrtime(true) - $began) / 1_000;

header('Content-Type: application/json');
echo json_encode(['level' => $level, 'cache_us' => $tookUs, 'worker' => getmypid(), 'right' => $row['key'] === $key]);
