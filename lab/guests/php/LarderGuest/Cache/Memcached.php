<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;

/** The extension memcached, which uses libmemcached. */
final class Memcached extends Cache
{
    /** Beyond this limit the protocol takes a TTL for a point in time. */
    private const LONGEST_TTL_S = 30 * 24 * 60 * 60;
    private const TIMEOUT = \Memcached::RES_TIMEOUT;
    /** A refused value above this size is taken to be too large: servers limit nothing else. */
    private const LARGE_BYTES = 512 * 1024;

    private function __construct(private readonly Order $order, private readonly \Memcached $client)
    {
    }

    public static function opened(Order $order): Cache
    {
        self::need('memcached');
        $self = self::client($order);
        $self->needAnswers();
        $isOwn = $order->option('connect') === 'operation';
        return $isOwn ? new PerOperation($self, count($order->servers), static fn (): Cache => self::client($order)) : $self;
    }

    public function title(): string
    {
        return 'memcached extension ' . phpversion('memcached');
    }

    public function settings(): array
    {
        $client = $this->client;
        $switches = [
            'binary_protocol' => \Memcached::OPT_BINARY_PROTOCOL,
            'tcp_nodelay' => \Memcached::OPT_TCP_NODELAY,
            'no_block' => \Memcached::OPT_NO_BLOCK,
            'compression' => \Memcached::OPT_COMPRESSION,
        ];
        $settings = array_map(static fn (int $option): string => self::text((bool) $client->getOption($option)), $switches);
        if ($settings['compression'] === 'on') {
            $settings['compression'] = ini_get('memcached.compression_type') . ' from '
                . ini_get('memcached.compression_threshold') . ' bytes on';
        }
        return $settings + [
            'connect' => 'session',
            'distribution' => (string) $this->order->option('distribution', 'modula'),
            'connect_timeout' => $client->getOption(\Memcached::OPT_CONNECT_TIMEOUT) . ' ms',
            'poll_timeout' => $client->getOption(\Memcached::OPT_POLL_TIMEOUT) . ' ms',
            'libmemcached' => self::libraryVersion(),
            'servers' => implode(', ', $this->order->servers),
            'server_version' => implode(', ', $client->getVersion() ?: []),
        ];
    }

    public function getter(): \Closure
    {
        return $this->client->get(...);
    }

    public function setter(): \Closure
    {
        return $this->client->set(...);
    }

    public function get(string $key): string|false
    {
        return $this->client->get($key);
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        return $this->client->set($key, $value, $ttl);
    }

    public function delete(string $key): ?bool
    {
        return $this->client->delete($key) ?: $this->orFailed();
    }

    public function touch(string $key, mixed $ttl): ?bool
    {
        return $this->client->touch($key, $ttl) ?: $this->orFailed();
    }

    public function getMany(array $keys): array
    {
        return $this->client->getMulti($keys) ?: [];
    }

    public function ttlArgument(int|float|null $seconds): mixed
    {
        $whole = (int) ceil($seconds ?? 0);
        return $whole > self::LONGEST_TTL_S ? time() + $whole : $whole;
    }

    /** Connects before anything is timed, as the parent's client did when it was opened. */
    public function afterFork(): Cache
    {
        $client = self::client($this->order);
        $client->client->getVersion();
        return $client;
    }

    public function doubts(): bool
    {
        return true;
    }

    /** @return array{int, string}|null */
    public function trace(): mixed
    {
        return match ($code = $this->client->getResultCode()) {
            \Memcached::RES_SUCCESS, \Memcached::RES_NOTFOUND, \Memcached::RES_END => null,
            default => [$code, $this->client->getResultMessage() . self::at($this->client->getLastErrorMessage())],
        };
    }

    public function failureOfMiss(mixed $trace): Failure
    {
        [$code, $words] = $trace;
        return match ($code) {
            \Memcached::RES_BAD_KEY_PROVIDED, \Memcached::RES_KEY_TOO_BIG => new Failure('key', $words),
            self::TIMEOUT => new Failure('timeout', 'no answer within poll_timeout: ' . $words),
            \Memcached::RES_CLIENT_ERROR, \Memcached::RES_SERVER_ERROR, \Memcached::RES_PROTOCOL_ERROR
                => new Failure('other', $words),
            default => new Failure('io', $words),
        };
    }

    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        $bytes = strlen($value);
        if ($trace === null) {
            return new Failure('other', 'the server did not store the value');
        }
        return match ($trace[0]) {
            \Memcached::RES_E2BIG => new Failure('too_large', "the server refused the value of $bytes bytes: {$trace[1]}"),
            \Memcached::RES_SERVER_MEMORY_ALLOCATION_FAILURE, \Memcached::RES_SERVER_ERROR
                => new Failure($bytes > self::LARGE_BYTES ? 'too_large' : 'full', "the server refused the value of $bytes bytes: {$trace[1]}"),
            default => $this->failureOfMiss($trace),
        };
    }

    /** The client does not tell the number of its connections. */
    public function connections(): ?int
    {
        return null;
    }

    private static function client(Order $order): self
    {
        $client = new \Memcached();
        $options = [
            \Memcached::OPT_BINARY_PROTOCOL => $order->option('binary_protocol'),
            \Memcached::OPT_TCP_NODELAY => $order->option('tcp_nodelay'),
            \Memcached::OPT_COMPRESSION => $order->option('compression', false),
            \Memcached::OPT_CONNECT_TIMEOUT => self::milliseconds($order->option('connect_timeout')),
            \Memcached::OPT_POLL_TIMEOUT => self::milliseconds($order->option('poll_timeout')),
        ];
        $options += match ($order->option('distribution')) {
            'consistent' => [\Memcached::OPT_DISTRIBUTION => \Memcached::DISTRIBUTION_CONSISTENT],
            'ketama' => [\Memcached::OPT_LIBKETAMA_COMPATIBLE => true],
            default => [],
        };
        foreach (array_filter($options, static fn (mixed $setting): bool => $setting !== null) as $option => $setting) {
            if (!$client->setOption($option, $setting)) {
                throw new Failure('other', "option $option of the client: {$client->getResultMessage()}");
            }
        }
        foreach ($order->servers as $server) {
            [$host, $port] = Address::of($server);
            $client->addServer($host, $port);
        }
        return new self($order, $client);
    }

    /** Connects, and throws unless every server answers. */
    private function needAnswers(): void
    {
        $versions = $this->client->getVersion() ?: [];
        foreach ($this->order->servers as $server) {
            [$host, $port] = Address::of($server);
            // A server that does not answer has the version 255.255.255. A socket appears with the usual port, too.
            $version = $versions["$host:$port"] ?? $versions["$host:11211"] ?? '255.255.255';
            if ($version === '255.255.255') {
                throw new Failure('unavailable', "no answer from $server: {$this->client->getResultMessage()}");
            }
        }
    }

    /** `false` where the key was merely absent, `null` where the call failed. */
    private function orFailed(): ?bool
    {
        return $this->client->getResultCode() === \Memcached::RES_NOTFOUND ? false : null;
    }

    private static function milliseconds(int|float|null $seconds): ?int
    {
        return $seconds === null ? null : (int) ceil($seconds * 1_000);
    }

    /** The server that an error message of the library names. */
    private static function at(string $message): string
    {
        return preg_match('/host: (\S+)/', $message, $found) === 1 ? " ({$found[1]})" : '';
    }

    private static function libraryVersion(): string
    {
        ob_start();
        (new \ReflectionExtension('memcached'))->info();
        $told = (string) ob_get_clean();
        return preg_match('/libmemcached library version => (\S+)/', $told, $found) === 1 ? $found[1] : 'unknown';
    }
}
