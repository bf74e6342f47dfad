<?php

/*
 * A guest of Larder: opens one of PHP's caches, runs a plan on it, times itself. docs/guests.md describes the commands
 * and answers.
 */

declare(strict_types=1);

namespace LarderGuest;

require __DIR__ . '/autoload.php';

if ($argc !== 2) {
    fwrite(STDERR, "usage: php guest.php FOLDER, with commands on standard input\n");
    exit(2);
}
Complaints::take();
$protocol = new Protocol(STDIN, STDOUT);
Guest::open($protocol, $argv[1])?->serve();
