<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Larder;
use PHPUnit\Framework\TestCase;

/** The ends of programs: a stack with `write=behind` stores below what it still holds back. */
final class EndsTest extends TestCase
{
    private const VALUES = 1_000;

    /** @return iterable<string, array{string, string}> */
    public static function ends(): iterable
    {
        $handler = 'pcntl_async_signals(true); pcntl_signal(SIGTERM, static fn () => exit(143)); posix_kill(getmypid(), SIGTERM);';
        $error = 'trigger_error("told", E_USER_ERROR);';
        yield 'the last line' => ['false', ''];
        yield 'exit' => ['false', 'exit(1);'];
        yield 'an exception that nobody catches' => ['false', 'throw new Exception("thrown");'];
        yield 'no memory' => ['false', 'ini_set("memory_limit", "8M"); str_repeat("x", 1 << 30);'];
        yield 'an error of the program' => ['false', $error];
        yield 'SIGTERM with a handler' => ['false', $handler];
        yield 'the last line of a program that keeps the store' => ['true', ''];
        yield 'an error of such a program' => ['true', $error];
    }

    /** @dataProvider ends */
    public function testWhatIsHeldBackIsStored(string $kept, string $end): void
    {
        $server = Place::url('memcached');
        $late = 'register_shutdown_function(static function () use ($cache) { $cache->set("late", 1); });';
        self::runs($server, "$late store(\$cache); $end", $kept);
        $keys = array_map(static fn (int $n): string => "key$n", range(1, self::VALUES));
        self::assertCount(self::VALUES + 1, Larder::open($server)->getMany([...$keys, 'late']));
    }

    public function testDestructorsUseAStoreAfterAnExceptionThatNobodyCatches(): void
    {
        $server = Place::url('memcached');
        $last = 'final class Last { public function __construct(private Larder\Store $cache) {}'
            . ' public function __destruct() { $this->cache->set("last", $this->cache->get("key1")); } }';
        self::runs($server, "$last store(\$cache); \$last = new Last(\$cache); throw new Exception('thrown');", 'false');
        self::assertSame('value 1', Larder::open($server)->get('last'));
    }

    public function testAChildThatEndsByAnErrorLeavesItsParentsStoreOpen(): void
    {
        $server = Place::url('memcached');
        $program = 'if (pcntl_fork() === 0) { trigger_error("told", E_USER_ERROR); } pcntl_wait($status); store($cache);';
        self::runs($server, $program, 'false');
        self::assertSame('value 9', Larder::open($server)->get('key9'));
    }

    /**
     * Runs a program with a stack above this server, `$cache`, and with a function that stores values in it. The server stands still
     * meanwhile, and goes on when the program ends.
     */
    private static function runs(string $server, string $program, string $kept): void
    {
        $begin = 'require "' . __DIR__ . '/../autoload.php"; ini_set("display_errors", "0"); ini_set("log_errors", "0");'
            . 'function store($cache) { for ($n = 1; $n <= ' . self::VALUES . '; $n++) { $cache->set("key$n", "value $n"); }'
            . ' fwrite(STDOUT, "stored\n"); }'
            . "\$cache = Larder\\Larder::open('tiered:memory:?size=4m|$server|?write=behind', kept: $kept);"
            . '$cache->get("absent"); fwrite(STDOUT, "open\n"); fgets(STDIN);';
        $process = proc_open([PHP_BINARY, '-r', $begin . $program], [['pipe', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes);
        self::assertSame("open\n", fgets($pipes[1]));
        Place::signalMemcached(SIGSTOP);
        try {
            fwrite($pipes[0], "\n");
            self::assertSame("stored\n", fgets($pipes[1]));
            usleep(20_000);
        } finally {
            Place::signalMemcached(SIGCONT);
        }
        self::assertSame('', stream_get_contents($pipes[1]));
        proc_close($process);
    }
}
