<?php

declare(strict_types=1);

namespace Larder\Tests;

use PHPUnit\Framework\TestCase;

/** The programs of docs/php.md, on stores of these tests. */
final class DocsTest extends TestCase
{
    private const OUTPUTS = ['Tea', 'Ada', 'Ada'];

    public function testTheProgramsOfThePageRun(): void
    {
        preg_match_all('/^```php\n(.*?)^```/ms', file_get_contents(__DIR__ . '/../../../docs/php.md'), $programs);
        self::assertCount(count(self::OUTPUTS), $programs[1]);
        foreach ($programs[1] as $n => $program) {
            $program = strtr($program, [
                '/run/shop/cache' => Place::folder() . "/page$n",
                'h1,h2' => Place::memcached(),
                '//h1' => '//' . Place::memcached(),
                'size=256m' => 'size=8m',
            ]);
            $file = Place::folder() . "/page$n.php";
            file_put_contents($file, "<?php\nrequire '" . __DIR__ . "/bootstrap.php';\n$program");
            exec(escapeshellarg(PHP_BINARY) . " -d display_errors=stderr $file 2>&1", $lines, $code);
            self::assertSame([self::OUTPUTS[$n], 0], [implode("\n", $lines), $code], $program);
            $lines = [];
        }
    }
}
