<?php

declare(strict_types=1);

namespace LarderGuest;

/** Opens the cache, and carries out the commands. */
final class Guest
{
    private const PROTOCOL = 3;
    private const ALIVE_NS = 1_000_000_000;

    private ?Plan $plan = null;
    /** A killed process may have left the cache's memory locked for ever, so that any call would hang. */
    private bool $isLocked = false;

    private function __construct(private readonly Protocol $protocol, private Cache $cache)
    {
    }

    /** Opens the cache of open.json in this folder and greets; `null` if the cache is unavailable. */
    public static function open(Protocol $protocol, string $folder): ?self
    {
        try {
            $order = Plan::readJson("$folder/open.json");
            if ($order['protocol'] !== self::PROTOCOL) {
                throw new Failure('protocol', sprintf('this guest speaks protocol %d, not %d', self::PROTOCOL, $order['protocol']));
            }
            $cache = Cache::open(Order::of($order));
            $settings = $cache->settings();
        } catch (\Throwable $caught) {
            $protocol->answer(['unavailable' => Failure::from($caught)->getMessage()]);
            return null;
        }
        $protocol->answer([
            'protocol' => self::PROTOCOL,
            'language' => 'php ' . PHP_VERSION,
            'cache' => $cache->title(),
            'settings' => (object) ($settings + self::ownSettings()),
        ]);
        return new self($protocol, $cache);
    }

    /** Answers commands until there are no more, or the cache can no longer be asked. */
    public function serve(): void
    {
        while (!$this->isLocked && ($line = $this->protocol->line()) !== null && $line !== 'end') {
            $words = explode(' ', $line, 2);
            $arguments = $words[1] ?? '';
            try {
                match ($words[0]) {
                    'set' => $this->set(...explode(' ', $arguments)),
                    'get' => $this->get((int) $arguments),
                    'delete' => $this->found($this->cache->delete($this->protocol->bytes((int) $arguments))),
                    'touch' => $this->touch(...explode(' ', $arguments)),
                    'load' => $this->load($arguments),
                    'run' => $this->run((int) $arguments),
                    default => throw new Failure('protocol', "unknown command: $line"),
                };
            } catch (\Throwable $caught) {
                $this->protocol->answer(Failure::from($caught)->answer());
            }
        }
    }

    /**
     * The settings of PHP itself that change its times.
     *
     * @return array<string, string>
     */
    private static function ownSettings(): array
    {
        $status = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
        return [
            'opcache' => is_array($status) && $status['opcache_enabled'] ? 'on' : 'off',
            'jit' => is_array($status) && ($status['jit']['on'] ?? false) ? (string) ini_get('opcache.jit') : 'off',
        ];
    }

    private function set(string $keyLength, string $valueLength, string $ttl): void
    {
        $key = $this->protocol->bytes((int) $keyLength);
        $value = $this->protocol->bytes((int) $valueLength);
        $seconds = self::seconds($ttl);
        $this->cache->expectTtl($seconds);
        $stored = $this->cache->set($key, $value, $this->cache->ttlArgument($seconds));
        // The reader of the answer may look for the value by another client.
        $this->cache->finish();
        $this->protocol->answer($stored ? ['stored' => true] : $this->refused($key, $value));
    }

    /** @return array<string, mixed> */
    private function refused(string $key, string $value): array
    {
        $failure = $this->cache->refusal($key, $value, $this->cache->trace());
        // A failure that is not about this value is an error.
        return match ($failure->kind) {
            'too_large', 'other' => ['stored' => false, 'why' => $failure->getMessage()],
            default => $failure->answer(),
        };
    }

    private function get(int $keyLength): void
    {
        $value = $this->cache->get($this->protocol->bytes($keyLength));
        if ($value !== false) {
            $this->protocol->answer(['found' => strlen($value)], $value);
            return;
        }
        $trace = $this->cache->trace();
        if ($trace !== null) {
            throw $this->cache->failureOfMiss($trace);
        }
        $this->protocol->answer(['found' => null]);
    }

    private function touch(string $keyLength, string $ttl): void
    {
        $key = $this->protocol->bytes((int) $keyLength);
        $this->found($this->cache->touch($key, $this->cache->ttlArgument(self::seconds($ttl))));
    }

    private function found(?bool $found): void
    {
        if ($found === null) {
            $trace = $this->cache->trace();
            throw $trace === null ? Failure::unexplained() : $this->cache->failureOfMiss($trace);
        }
        $this->protocol->answer(['found' => $found]);
    }

    private static function seconds(string $ttl): int|float|null
    {
        return $ttl === '-' ? null : $ttl + 0;
    }

    private function load(string $folder): void
    {
        $this->plan = Plan::read($folder);
        $this->cache->expectTtl($this->plan->ttl);
        $this->protocol->answer(['loaded' => true] + $this->evictions());
    }

    private function run(int $number): void
    {
        if ($this->plan === null) {
            throw new Failure('protocol', 'no plan has been loaded');
        }
        if (!isset($this->plan->phases[$number])) {
            throw new Failure('protocol', "the plan has no phase $number");
        }
        $told = hrtime(true);
        $last = 0;
        $tell = function (int $operations) use (&$told, &$last): void {
            if ($this->protocol->hasEnded()) {
                exit(0);
            }
            // A guest that waits for idle processes does not count as alive.
            if ($operations !== $last && hrtime(true) - $told >= self::ALIVE_NS) {
                $told = hrtime(true);
                $last = $operations;
                $this->protocol->answer(['alive' => $operations]);
            }
        };
        if ($this->plan->processes > 1) {
            $processes = new Processes($this->protocol, $this->plan, $this->cache, $number);
            try {
                $stored = $processes->run($tell);
            } finally {
                $this->isLocked = $processes->wereKilled() && $this->cache->sharesMemory();
            }
        } else {
            $stored = (new Phase($this->plan, $this->cache, $number, 0))->run($tell);
        }
        $this->protocol->answer(['ran' => $number] + $this->evictions($number, $stored));
    }

    /**
     * The entries that the cache dropped to make room in a phase that stored this many values; 0 before the first
     * phase, empty where they are unknown.
     *
     * @return array<string, int>
     */
    private function evictions(?int $phase = null, int $stored = 0): array
    {
        $added = fn (): ?int => $phase === null || $this->plan->storesOnlyNewKeys($phase) ? $stored : null;
        $evictions = $this->cache->evictions($added);
        return $evictions === null ? [] : ['evictions' => $phase === null ? 0 : $evictions];
    }
}
