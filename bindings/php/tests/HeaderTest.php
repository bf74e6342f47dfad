<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Code;
use PHPUnit\Framework\TestCase;

/** The package against larder.h. `LARDER_BLESS=1` writes src/larder.h anew. */
final class HeaderTest extends TestCase
{
    public function testTheHeaderIsThatOfTheLibrary(): void
    {
        if (getenv('LARDER_BLESS') === '1') {
            file_put_contents(Header::OF_PHP, Header::derived());
        }
        self::assertSame(Header::derived(), file_get_contents(Header::OF_PHP), 'run the tests with LARDER_BLESS=1');
    }

    public function testTheNumbersAreThoseOfTheHeader(): void
    {
        $numbers = array_map(static fn (string $text): int => match (true) {
            $text === 'UINT64_MAX' => -1,
            preg_match('/-?\d+(?=\)?$)/', $text, $found) === 1 => (int) $found[0],
        }, array_diff_key(Header::constants(), ['H' => '']));
        $own = (new \ReflectionClass(Code::class))->getConstants();
        unset($own['KINDS']);
        ksort($numbers);
        ksort($own);
        self::assertSame($numbers, $own);
        $store = (new \ReflectionClass(\Larder\Store::class))->getConstants();
        $here = [$store['OK'], $store['NOT_FOUND'], $store['TEXT']];
        self::assertSame([Code::OK, Code::NOT_FOUND, \Larder\Values::TEXT], $here);
        $errors = array_filter($own, static fn (string $name): bool => str_starts_with($name, 'E_'), ARRAY_FILTER_USE_KEY);
        self::assertEqualsCanonicalizing(array_values($errors), array_keys(Code::KINDS), 'each error has a kind');
    }
}
