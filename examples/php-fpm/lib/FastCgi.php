<?php

declare(strict_types=1);

namespace Larder\Example;

/** One request to php-fpm, as a web server in front of it makes it. */
final class FastCgi
{
    private const VERSION = 1;
    private const BEGIN_REQUEST = 1;
    private const END_REQUEST = 3;
    private const PARAMS = 4;
    private const STDIN = 5;
    private const STDOUT = 6;
    private const TIMEOUT_S = 20;

    /**
     * The body of the answer; an exception where there is none.
     *
     * @param array<string, string> $parameters
     */
    public static function get(string $socket, array $parameters): string
    {
        $connected = @stream_socket_client("unix://$socket", $number, $said, self::TIMEOUT_S);
        if ($connected === false) {
            throw new \RuntimeException("no connection: $said");
        }
        stream_set_timeout($connected, self::TIMEOUT_S);
        $pairs = '';
        foreach ($parameters as $name => $value) {
            $pairs .= pack('NN', strlen($name) | 1 << 31, strlen($value) | 1 << 31) . $name . $value;
        }
        fwrite($connected, self::record(self::BEGIN_REQUEST, pack('nCx5', 1, 0))
            . self::record(self::PARAMS, $pairs) . self::record(self::PARAMS, '') . self::record(self::STDIN, ''));
        return self::answer($connected);
    }

    private static function record(int $type, string $content): string
    {
        return pack('CCnnCx', self::VERSION, $type, 1, strlen($content), 0) . $content;
    }

    /** @param resource $connected */
    private static function answer($connected): string
    {
        $said = '';
        while (true) {
            $header = unpack('Cversion/Ctype/nid/nlength/Cpadding', self::bytes($connected, 8));
            $content = self::bytes($connected, $header['length']);
            self::bytes($connected, $header['padding']);
            if ($header['type'] === self::STDOUT) {
                $said .= $content;
            } elseif ($header['type'] === self::END_REQUEST) {
                break;
            }
        }
        [$headers, $body] = explode("\r\n\r\n", $said, 2) + [1 => ''];
        return preg_match('/^Status: (?!200)/m', $headers) === 1 ? throw new \RuntimeException("$headers: $body") : $body;
    }

    /** @param resource $connected */
    private static function bytes($connected, int $count): string
    {
        $bytes = $count === 0 ? '' : (string) stream_get_contents($connected, $count);
        return strlen($bytes) === $count ? $bytes : throw new \RuntimeException('the answer ends before its end');
    }
}
