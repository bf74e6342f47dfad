<?php

/*
 * php-fpm with four workers that share one file of Larder before a memcached, under load, while the workers are restarted:
 *
 *   php examples/php-fpm/run.php [SECONDS [PICTURE.svg]]
 *
 * It needs memcached, php-fpm and the extensions pcntl and posix. The exit code is 1 where a request failed, or where
 * the cache was cold after a restart.
 */

declare(strict_types=1);

namespace Larder\Example;

foreach (['FastCgi', 'Servers', 'Load', 'Picture'] as $class) {
    require __DIR__ . "/lib/$class.php";
}

/** Replaces each worker in turn: a worker ends its request before it goes, and php-fpm starts another. */
function restartEach(Servers $servers): void
{
    foreach ($servers->workers() as $worker) {
        posix_kill($worker, SIGQUIT);
        Servers::waitFor('a new worker', static fn (): bool => !in_array($worker, $servers->workers(), true)
            && count($servers->workers()) === 4);
    }
}

/** Replaces the whole of php-fpm, which keeps its socket. */
function reload(Servers $servers): void
{
    $before = $servers->workers();
    posix_kill($servers->master(), SIGUSR2);
    Servers::waitFor('other workers', static fn (): bool => array_intersect($before, $servers->workers()) === []
        && count($servers->workers()) === 4);
}

/** @param list<array<string, mixed>> $visits */
function share(array $visits, string $level): float
{
    $of = array_filter($visits, static fn (array $visit): bool => $visit['level'] === $level);
    return count($of) / max(1, count($visits));
}

/**
 * What is wrong with a run; an empty list is a run without a fault.
 *
 * @param list<array<string, mixed>> $visits
 * @param array<string, float> $marks
 * @param int $connections What memcached has accepted
 * @return list<string>
 */
function faults(array $visits, array $marks, int $connections): array
{
    $faults = [];
    // A worker keeps its store over its requests. Its opening takes a connection or two.
    $workers = count(array_unique(array_column($visits, 'worker')));
    if ($connections > 4 * $workers) {
        $faults[] = "$workers workers have opened $connections connections to memcached";
    }
    $failed = array_filter(array_column($visits, 'failed'));
    if ($failed !== []) {
        $faults[] = count($failed) . ' requests failed, the first: ' . reset($failed);
    }
    // Of all workers and all restarts, one loads a row.
    $loaded = array_filter($visits, static fn (array $visit): bool => $visit['level'] === 'database');
    $twice = count($loaded) - count(array_unique(array_column($loaded, 'row')));
    if ($twice > 0) {
        $faults[] = "$twice rows were loaded from the database once more";
    }
    foreach ($marks as $name => $at) {
        [$before, $after] = [[], []];
        foreach ($visits as $visit) {
            $visit['at'] <= $at ? $before[] = $visit : $after[] = $visit;
        }
        // Workers that no visitor has met before are the new ones, and the rows that were visited before are in the file.
        [$old, $rows] = [array_column($before, 'worker', 'worker'), array_column($before, 'row', 'row')];
        $warm = array_filter(
            $after,
            static fn (array $visit): bool => isset($rows[$visit['row']]) && !isset($old[$visit['worker']]),
        );
        if (count($warm) < 30) {
            $faults[] = "after `$name` new workers have answered only " . count($warm) . ' requests';
        } elseif (share($warm, 'file') < 0.9) {
            $faults[] = sprintf('after `%s` the cache was cold: %.1f %% from the file', $name, 100 * share($warm, 'file'));
        }
    }
    return $faults;
}

$seconds = max(3.0, (float) ($argv[1] ?? 20));
$servers = new Servers();
register_shutdown_function($servers->end(...));
$began = microtime(true);
$load = new Load($servers);
// A part of the run ends once its time is over, and has so many answers: on a busy machine that takes longer.
$until = static function (float $part, int $answers) use ($load, $began, $seconds): void {
    $answers += $load->count();
    Servers::waitFor("$answers answers", static fn (): bool => microtime(true) >= $began + $part * $seconds
        && $load->count() >= $answers);
};
$until(0.35, 200);
$marks = ['worker by worker' => microtime(true)];
restartEach($servers);
$until(0.7, 120);
$marks['reload'] = microtime(true);
reload($servers);
$until(1.0, 120);
$visits = $load->end();
$connections = $servers->connections();
$workers = count(array_unique(array_column($visits, 'worker')));
printf("%d requests in %.1f s, %d workers, %d connections to memcached\n", count($visits), microtime(true) - $began, $workers, $connections);
foreach (['file', 'memcached', 'database', 'failed'] as $level) {
    printf("  %-10s %5.1f %%\n", $level, 100 * share($visits, $level));
}
foreach (['took_ms' => 'a request, ms', 'cache_us' => 'the cache alone, µs'] as $field => $name) {
    $times = array_column($visits, $field);
    sort($times);
    printf("  %-20s p50 %.2f, p99 %.2f\n", $name, $times[intdiv(count($times), 2)], $times[(int) (0.99 * (count($times) - 1))]);
}
if (isset($argv[2])) {
    file_put_contents($argv[2], Picture::of($visits, $marks));
}
$faults = faults($visits, $marks, $connections);
foreach ($faults as $fault) {
    fwrite(STDERR, "$fault\n");
}
if ($faults !== []) {
    fwrite(STDERR, $servers->log());
}
exit($faults === [] ? 0 : 1);
