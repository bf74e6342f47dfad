<?php

declare(strict_types=1);

namespace Larder;

use FFI\CData;

/** An open cache. A forked child opens it anew by itself. */
final class Store
{
    // The numbers of Code and Values that a hit needs. PHP looks up a constant of another class at each use.
    private const OK = 0;
    private const NOT_FOUND = 1;
    private const TEXT = 16;

    private readonly \FFI $library;
    private readonly Values $values;
    private readonly Batches $batches;
    private readonly Leases $leases;
    private readonly Numbers $numbers;
    // What a read needs, each in a variable of its own: a hit costs less than the way to them.
    private readonly ?Reader $reader;
    private readonly CData $place;
    private readonly CData $address;
    private readonly CData $meta;

    /** @internal Larder::open() makes it. */
    public function __construct(private readonly Handles $handles, private readonly Serializer $serializer)
    {
        $this->library = $handles->library;
        $this->reader = $handles->reader;
        $this->place = $handles->place;
        $this->address = \FFI::addr($handles->place);
        $this->meta = $handles->place->meta;
        $this->values = new Values($serializer);
        $this->batches = new Batches($handles, $this->values);
        $this->leases = new Leases($handles, $this->values);
        $this->numbers = new Numbers($handles);
    }

    /** The value of a key, or `$default`. */
    public function get(string $key, mixed $default = null): mixed
    {
        // The way of a hit is written out: each call of a function of PHP would cost a twentieth of it.
        $turn = ++Handles::$turn;
        $read = $this->reader?->read($key) ?? $this->library->larder_read($this->address, $key, \strlen($key));
        if (\is_string($read)) {
            return $read;
        }
        if (\is_array($read)) {
            return $this->values->decode($read[0], $read[1]);
        }
        if ($read === self::OK && $turn === Handles::$turn) {
            $flags = $this->meta->flags;
            $value = \FFI::string($this->handles->buffer, $this->place->value_len);
            return $flags === self::TEXT ? $value : $this->values->decode($value, $flags);
        }
        if ($read === self::NOT_FOUND) {
            return $default;
        }
        $found = $this->handles->read($key, $turn, $read);
        return $found === null ? $default : $this->values->decode($found[0], $found[1]);
    }

    /**
     * The value of a key and its version for cas(); `[null, null]` where it is absent. The version is `null` where the store
     * has none.
     *
     * @return array{mixed, ?int}
     */
    public function gets(string $key): array
    {
        $found = $this->handles->read($key);
        if ($found === null) {
            return [null, null];
        }
        [$bytes, $flags, $version] = $found;
        return [$this->values->decode($bytes, $flags), $version === Code::UNKNOWN ? null : $version];
    }

    /** Whether a key is there. */
    public function has(string $key): bool
    {
        // Without room for a value, the library tells of a hit and copies nothing.
        return $this->handles->call('larder_get', $key, \strlen($key), null, 0, null, null) !== Code::NOT_FOUND;
    }

    /** Stores a value, for `$ttl` seconds or for ever. */
    public function set(string $key, mixed $value, int|float|\DateInterval|null $ttl = null): void
    {
        [$bytes, $flags] = $this->values->encode($value);
        $this->handles->call('larder_set', $key, \strlen($key), $bytes, \strlen($bytes), Ttl::ms($ttl), $flags, null);
    }

    /** Stores a value where the key is absent; whether it was. */
    public function add(string $key, mixed $value, int|float|\DateInterval|null $ttl = null): bool
    {
        return $this->put('larder_add', $key, $value, $ttl);
    }

    /** Stores a value where the key is present; whether it was. */
    public function replace(string $key, mixed $value, int|float|\DateInterval|null $ttl = null): bool
    {
        return $this->put('larder_replace', $key, $value, $ttl);
    }

    /** Stores a value where the key still has the version of gets(); whether it had. */
    public function cas(string $key, mixed $value, int $version, int|float|\DateInterval|null $ttl = null): bool
    {
        return $this->put('larder_cas', $key, $value, $ttl, $version);
    }

    /**
     * Adds to a whole number, and returns the new one. An absent key becomes `$initial`, or stays absent: `null`. A number
     * beyond PHP's integers is text.
     */
    public function incr(
        string $key,
        int $delta = 1,
        ?int $initial = null,
        int|float|\DateInterval|null $ttl = null,
    ): int|string|null {
        return $this->numbers->change('larder_incr', $key, $delta, $initial, $ttl);
    }

    /** Takes from a whole number, which stops at 0. */
    public function decr(
        string $key,
        int $delta = 1,
        ?int $initial = null,
        int|float|\DateInterval|null $ttl = null,
    ): int|string|null {
        return $this->numbers->change('larder_decr', $key, $delta, $initial, $ttl);
    }

    /** Gives a key a new TTL; whether it was there. */
    public function touch(string $key, int|float|\DateInterval|null $ttl = null): bool
    {
        return $this->handles->call('larder_touch', $key, \strlen($key), Ttl::ms($ttl)) === Code::OK;
    }

    /** Removes a key; whether it was there. */
    public function delete(string $key): bool
    {
        return $this->handles->call('larder_delete', $key, \strlen($key)) === Code::OK;
    }

    /**
     * Marks a value as out of date and keeps it for `$keep` seconds, or for the rest of its TTL; whether it was there. The next
     * getOrLoad() loads it anew, and the others have the older value meanwhile.
     */
    public function expire(string $key, int|float|\DateInterval|null $keep = null): bool
    {
        return $this->handles->call('larder_expire', $key, \strlen($key), Ttl::ms($keep)) === Code::OK;
    }

    /**
     * The values of the keys that are there.
     *
     * @param iterable<string|int> $keys
     * @return array<array-key, mixed>
     */
    public function getMany(iterable $keys): array
    {
        if (!\is_array($keys) || \count($keys) !== 1) {
            return $this->batches->get($keys);
        }
        // Frameworks ask so for single keys, and the arrays of a batch cost ten times as much as a hit.
        $key = (string) \reset($keys);
        $value = $this->get($key, $this);
        return $value === $this ? [] : [$key => $value];
    }

    /**
     * Stores values by their keys; the list of keys that were not stored.
     *
     * @param iterable<array-key, mixed> $values
     * @return list<string>
     */
    public function setMany(iterable $values, int|float|\DateInterval|null $ttl = null): array
    {
        return $this->batches->set($values, $ttl);
    }

    /**
     * Removes keys; the number of those that were there.
     *
     * @param iterable<string|int> $keys
     */
    public function deleteMany(iterable $keys): int
    {
        return $this->batches->delete($keys);
    }

    /**
     * The value of a key. Where it is absent, `$loader()` makes it, and it is stored for `$ttl` seconds.
     *
     * Of all callers that share the store, in all processes and on all hosts, one loads. The others wait for it, for `$wait`
     * seconds at most, or have an older value meanwhile. A value with no more than `$early` seconds of its TTL left is loaded
     * anew by one caller.
     *
     * @template T
     * @param callable(): T $loader
     * @return T|mixed
     */
    public function getOrLoad(
        string $key,
        callable $loader,
        int|float|\DateInterval|null $ttl = null,
        float $wait = 5.0,
        float $early = 0.0,
    ): mixed {
        try {
            // A read costs less than a lease. It does not tell how much of the TTL is left in every store, though.
            if ($early <= 0.0) {
                $turn = ++Handles::$turn;
                $read = $this->reader?->read($key);
                if (\is_string($read)) {
                    return $read;
                }
                $found = \is_array($read) ? $read : $this->handles->read($key, $turn, $read);
                if ($found !== null && $found[3] === 0) {
                    return $this->values->decode($found[0], $found[1]);
                }
            }
        } catch (UnavailableError) {
            return $loader();
        }
        return $this->leases->load($key, $loader, $ttl, $wait, $early);
    }

    /**
     * The values of keys. `$loader($missing)` gets a list of the absent ones, and returns those that it can make by their keys.
     *
     * @param iterable<string|int> $keys
     * @param callable(list<string>): array<array-key, mixed> $loader
     * @return array<array-key, mixed>
     */
    public function getOrLoadMany(iterable $keys, callable $loader, int|float|\DateInterval|null $ttl = null): array
    {
        return $this->batches->load($keys, $loader, $ttl);
    }

    /**
     * The value of a key, or the right to load it: with Lease::mustLoad() this caller loads the value, and calls fill() or
     * release(). After `$time` seconds another caller has the right.
     */
    public function lease(string $key, float $time = 10.0, float $early = 0.0): Lease
    {
        return $this->leases->lease($key, $time, $early);
    }

    /** Stores a loaded value; whether it was stored. It is not where somebody has changed the key since. */
    public function fill(Lease $lease, mixed $value, int|float|\DateInterval|null $ttl = null): bool
    {
        return $this->leases->fill($lease, $value, $ttl);
    }

    /** Ends a lease without a value, so that the next caller loads; whether the lease still was. */
    public function release(Lease $lease): bool
    {
        return $this->leases->release($lease);
    }

    /** Removes every entry of the store, or of the namespace in its URL. */
    public function clear(): void
    {
        $this->handles->call('larder_clear');
    }

    /**
     * Counters of the store: `hits`, `misses`, `items` and others, as far as it knows them.
     *
     * @return array<string, int>
     */
    public function stats(): array
    {
        $told = $this->library->new('larder_stats');
        $this->handles->callStore('larder_store_stats', \FFI::addr($told), \FFI::sizeof($told));
        $stats = [];
        foreach (\FFI::typeof($told)->getStructFieldNames() as $name) {
            if ($told->$name !== Code::UNKNOWN) {
                $stats[$name] = $told->$name;
            }
        }
        return $stats;
    }

    /** The form of values that are neither text nor bytes nor whole numbers. */
    public function serializer(): Serializer
    {
        return $this->serializer;
    }

    /** Ends the use of the store. A second call does nothing; every other call fails from then on. */
    public function close(): void
    {
        $this->handles->close();
    }

    /** A copy would read from a place that the other one moves. */
    private function __clone()
    {
    }

    /** A URL may have a password, so dumps show none. */
    public function __debugInfo(): array
    {
        return ['open' => !$this->handles->isClosed()];
    }

    private function put(
        string $function,
        string $key,
        mixed $value,
        int|float|\DateInterval|null $ttl,
        int ...$expected,
    ): bool {
        [$bytes, $flags] = $this->values->encode($value);
        $arguments = [$key, \strlen($key), $bytes, \strlen($bytes), Ttl::ms($ttl), $flags, ...$expected, null];
        return $this->handles->call($function, ...$arguments) === Code::OK;
    }
}
