<?php

declare(strict_types=1);

// The frame of the tests: named cases, comparisons that show the values they saw, folders that vanish. A test ends with
// exit code 1 if any comparison failed.

foreach (['TestPlan', 'TestRecords', 'TestGuest', 'TestServer'] as $class) {
    require __DIR__ . "/$class.php";
}
require dirname(__DIR__, 2) . '/autoload.php';

/** The results of a test. */
final class Results
{
    public static string $case = '';
    public static int $checks = 0;
    public static int $failed = 0;
    /** @var list<string> */
    public static array $folders = [];
}

function test(string $name, Closure $case): void
{
    Results::$case = $name;
    echo "$name\n";
    try {
        $case();
    } catch (Throwable $caught) {
        fail("threw $caught");
    }
}

function ok(bool $holds, string $what, mixed $seen = null): void
{
    Results::$checks++;
    if (!$holds) {
        fail($what . ($seen === null ? '' : ': ' . var_export($seen, true)));
    }
}

function same(mixed $seen, mixed $expected, string $what): void
{
    ok($seen === $expected, "$what\n  expected " . short($expected) . "\n  saw      " . short($seen));
}

function matches(?string $seen, string $pattern, string $what): void
{
    ok(preg_match($pattern, (string) $seen) === 1, "$what\n  expected $pattern\n  saw      " . short($seen));
}

function short(mixed $value): string
{
    return substr((string) json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_SLASHES), 0, 400);
}

function fail(string $what): void
{
    Results::$failed++;
    echo 'not ok: ', Results::$case, ': ', $what, "\n";
}

function skip(string $reason): void
{
    echo "# skip $reason\n";
}

/** The fields of a result with these names, in this order. */
function of(array $found, string ...$names): array
{
    return array_map(static fn (string $name): mixed => $found[$name], $names);
}

/** A folder that is gone when the test is over. */
function folder(): string
{
    $folder = sys_get_temp_dir() . '/larder-php-' . bin2hex(random_bytes(6));
    mkdir($folder);
    return Results::$folders[] = $folder;
}

$test = getmypid();
register_shutdown_function(static function () use ($test): void {
    if (getmypid() !== $test) {
        return;
    }
    foreach (Results::$folders as $folder) {
        exec('rm -rf ' . escapeshellarg($folder));
    }
    if (Results::$checks === 0) {
        fail('nothing was checked');
    }
    printf("%d checks, %d failed\n", Results::$checks, Results::$failed);
    if (Results::$failed > 0) {
        exit(1);
    }
});
