<?php

declare(strict_types=1);

namespace Larder;

use FFI\CData;

/**
 * Calls for many keys at once. Their arrays for C have copies of keys and values, which stand one behind the other in one
 * piece of memory.
 *
 * @internal
 */
final class Batches
{
    public function __construct(private readonly Handles $handles, private readonly Values $values)
    {
    }

    /**
     * @param iterable<string|int> $keys
     * @return array<array-key, mixed>
     */
    public function get(iterable $keys): array
    {
        $keys = self::keysOf($keys);
        if ($keys === []) {
            return [];
        }
        $count = \count($keys);
        [$places, $memory] = $this->bytes($keys);
        $entries = $this->handles->library->new("larder_entry[$count]");
        while (true) {
            $turn = Handles::$turn + 1;
            $this->handles->call('larder_get_many', $places, $count, $entries);
            $values = [];
            foreach ($keys as $n => $key) {
                $entry = $entries[$n];
                if ($entry->code === Code::OK) {
                    [$from, $length] = [$entry->value->data, $entry->value->len];
                    if ($length === 0) {
                        $copy = '';
                    } elseif ($turn === Handles::$turn) {
                        // The values stay in the session until its next call, which a serializer or a signal handler may make.
                        $copy = \FFI::string($from, $length);
                    } else {
                        continue 2;
                    }
                    $values[$key] = [$copy, $entry->meta->flags];
                }
            }
            return \array_map(fn (array $stored): mixed => $this->values->decode(...$stored), $values);
        }
    }

    /**
     * @param iterable<array-key, mixed> $values
     * @return list<string>
     */
    public function set(iterable $values, int|float|\DateInterval|null $ttl): array
    {
        $ttlMs = Ttl::ms($ttl);
        [$keys, $stored, $flags] = [[], [], []];
        foreach ($values as $key => $value) {
            $keys[] = (string) $key;
            [$stored[], $flags[]] = $this->values->encode($value);
        }
        if ($keys === []) {
            return [];
        }
        $count = \count($keys);
        [$places, $memory] = $this->bytes([...$keys, ...$stored]);
        $puts = $this->handles->library->new("larder_put[$count]");
        $outcomes = $this->handles->library->new("larder_outcome[$count]");
        for ($n = 0; $n < $count; $n++) {
            $put = $puts[$n];
            [$put->key, $put->value, $put->ttl_ms, $put->flags] = [$places[$n], $places[$count + $n], $ttlMs, $flags[$n]];
            // A call that never reaches the library leaves this.
            $outcomes[$n]->code = Code::E_NO_ANSWER;
        }
        try {
            $this->handles->call('larder_set_many', $puts, $count, $outcomes);
        } catch (Error $error) {
            // An entry that is refused keeps no other out. Only a call that failed has entries without an answer.
            for ($n = 0; $n < $count; $n++) {
                if ($outcomes[$n]->code === Code::E_NO_ANSWER) {
                    throw $error;
                }
            }
        }
        $refused = [];
        foreach ($keys as $n => $key) {
            if ($outcomes[$n]->code !== Code::OK) {
                $refused[] = $key;
            }
        }
        return $refused;
    }

    /**
     * @param iterable<string|int> $keys
     * @param callable(list<string>): array<array-key, mixed> $loader
     * @return array<array-key, mixed>
     */
    public function load(iterable $keys, callable $loader, int|float|\DateInterval|null $ttl): array
    {
        $keys = \is_array($keys) ? $keys : \iterator_to_array($keys, false);
        // A wrong TTL is told before the loader works.
        Ttl::ms($ttl);
        try {
            $values = $this->get($keys);
        } catch (UnavailableError) {
            // A store that does not answer keeps nobody from the values.
            $values = [];
        }
        $missing = [];
        foreach ($keys as $key) {
            if (!\array_key_exists($key, $values)) {
                $missing[$key] = (string) $key;
            }
        }
        if ($missing === []) {
            return $values;
        }
        $made = $loader(\array_values($missing));
        try {
            $this->set($made, $ttl);
        } catch (UnavailableError | RefusedError) {
            // The caller has its values, also where the store does not take them.
        }
        return $made + $values;
    }

    /** @param iterable<string|int> $keys */
    public function delete(iterable $keys): int
    {
        $keys = self::keysOf($keys);
        if ($keys === []) {
            return 0;
        }
        $count = \count($keys);
        [$places, $memory] = $this->bytes($keys);
        $codes = $this->handles->library->new("int32_t[$count]");
        $this->handles->call('larder_delete_many', $places, $count, $codes);
        $there = 0;
        for ($n = 0; $n < $count; $n++) {
            $there += $codes[$n] === Code::OK ? 1 : 0;
        }
        return $there;
    }

    /**
     * An array of larder_bytes for these strings, and the memory that it points to, which must outlive it.
     *
     * @param list<string> $strings
     * @return array{CData, CData}
     */
    private function bytes(array $strings): array
    {
        $library = $this->handles->library;
        $joined = \implode('', $strings);
        // An array of C has one element at least.
        $memory = $library->new('char[' . \max(1, \strlen($joined)) . ']');
        \FFI::memcpy($memory, $joined, \strlen($joined));
        $places = $library->new('larder_bytes[' . \count($strings) . ']');
        $at = 0;
        foreach ($strings as $n => $string) {
            $place = $places[$n];
            $place->data = $memory + $at;
            $place->len = \strlen($string);
            $at += $place->len;
        }
        return [$places, $memory];
    }

    /**
     * The keys as text: PHP makes numbers of keys such as "17" in arrays.
     *
     * @param iterable<string|int> $keys
     * @return list<string>
     */
    private static function keysOf(iterable $keys): array
    {
        $list = [];
        foreach ($keys as $key) {
            $list[] = (string) $key;
        }
        return $list;
    }
}
