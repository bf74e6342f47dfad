<?php

// Uses a shared cache until its input ends; run.py says what each worker does.

declare(strict_types=1);

require getenv('LARDER_PHP') . '/autoload.php';

[, $url, $seed] = $argv;
mt_srand((int) $seed);
stream_set_blocking(STDIN, false);
$cache = Larder\Larder::open($url);
[$calls, $hits, $busy, $slowest, $told] = [0, 0, 0, 0, hrtime(true)];
while (true) {
    [$key, $part, $began] = ['key:' . mt_rand(0, 999), mt_rand(0, 99), hrtime(true)];
    try {
        if ($part < 60) {
            $value = $cache->get($key);
            if ($value !== null) {
                $hits++;
                $at = strrpos($value, ':');
                if (substr($value, $at + 1) !== hash('crc32b', $key . substr($value, 0, $at))) {
                    fwrite(STDERR, "wrong value of $key: " . substr($value, 0, 60) . "\n");
                    exit(1);
                }
            }
        } elseif ($part < 90) {
            $payload = str_repeat(chr(97 + mt_rand(0, 9)), mt_rand(0, 1999));
            $cache->set($key, $payload . ':' . hash('crc32b', $key . $payload));
        } elseif ($part < 95) {
            $cache->delete($key);
        } elseif ($cache->incr('number:' . mt_rand(0, 9), 1, 1) < 1) {
            exit(2);
        }
    } catch (Larder\UnavailableError $error) {
        if ($error->kind !== 'busy') {
            throw $error;
        }
        $busy++;
    }
    $now = hrtime(true);
    $slowest = max($slowest, $now - $began);
    $calls++;
    if ($now - $told > 200_000_000) {
        echo "$calls $hits ", intdiv($slowest, 1_000_000), " $busy\n";
        if (fread(STDIN, 1) === '' && feof(STDIN)) {
            break;
        }
        $told = $now;
    }
}
$cache->close();
