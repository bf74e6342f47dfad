<?php

declare(strict_types=1);

namespace Larder;

/**
 * Reads that load what is absent: of all callers in all processes and on all hosts, one loads.
 *
 * @internal
 */
final class Leases
{
    /** The time after which another caller is told to load. */
    private const LEASE_SECONDS = 10.0;
    /** The first pause between two looks at a key that another caller loads, and the longest. */
    private const FIRST_PAUSE_US = 500;
    private const LONGEST_PAUSE_US = 50_000;
    /** A longer wait counts as this one, so that its nanoseconds fit an integer. */
    private const LONGEST_WAIT_SECONDS = 1e9;
    private const TOKEN_BYTES = 32;

    public function __construct(private readonly Handles $handles, private readonly Values $values)
    {
    }

    public function load(
        string $key,
        callable $loader,
        int|float|\DateInterval|null $ttl,
        float $wait,
        float $early,
    ): mixed {
        // Not `$wait < 0.0`: NAN is refused, too.
        if (!($wait >= 0.0)) {
            throw new UsageError("wait is $wait; write seconds from 0", 'argument');
        }
        // A wrong TTL is told before the loader works.
        Ttl::ms($ttl);
        $deadline = \hrtime(true) + (int) (\min($wait, self::LONGEST_WAIT_SECONDS) * 1e9);
        $pause = self::FIRST_PAUSE_US;
        while (true) {
            try {
                $lease = $this->lease($key, self::LEASE_SECONDS, $early);
            } catch (UnsupportedError) {
                return $this->loadWithoutLeases($key, $loader, $ttl);
            } catch (UnavailableError | RefusedError) {
                // A store that is unavailable for any reason, or that has no room for a lease, keeps nobody from the value.
                return $loader();
            }
            if ($lease->isHit()) {
                return $lease->value;
            }
            if ($lease->mustLoad()) {
                return $this->loadUnder($lease, $loader, $ttl);
            }
            if ($lease->isStale()) {
                return $lease->value;
            }
            if (\hrtime(true) >= $deadline) {
                // The other caller will store its value, so this one stores nothing.
                return $loader();
            }
            \usleep($pause);
            $pause = \min(2 * $pause, self::LONGEST_PAUSE_US);
        }
    }

    public function lease(string $key, float $time, float $early): Lease
    {
        $leased = $this->handles->library->new('larder_leased');
        [$timeMs, $earlyMs] = [Ttl::ms($time, 'time'), Ttl::ms($early, 'early')];
        $arguments = [$key, \strlen($key), $timeMs, $earlyMs, \FFI::addr($leased)];
        while (true) {
            $turn = Handles::$turn + 1;
            $code = $this->handles->call('larder_get_or_lease', ...$arguments);
            $isStale = $leased->meta->stale === 1;
            $length = $leased->value->len;
            $bytes = null;
            if ($length === 0) {
                $bytes = '';
            } elseif ($turn === Handles::$turn) {
                // The value stays in the session until its next call, which a signal handler may make.
                $bytes = \FFI::string($leased->value->data, $length);
            }
            $token = $code === Code::LOAD ? \FFI::string($leased->token->bytes, self::TOKEN_BYTES) : null;
            $hasValue = $code === Code::OK || $isStale;
            if (!$hasValue) {
                return new Lease($key, $code, null, false, $token);
            }
            $lease = new Lease($key, $code, null, $isStale, $token);
            if ($bytes === null) {
                // The value is lost, so the lease is taken again.
                $token === null || $this->release($lease);
                continue;
            }
            try {
                return new Lease($key, $code, $this->values->decode($bytes, $leased->meta->flags), $isStale, $token);
            } catch (\Throwable $caught) {
                $token === null || $this->giveUp($lease);
                throw $caught;
            }
        }
    }

    public function fill(Lease $lease, mixed $value, int|float|\DateInterval|null $ttl): bool
    {
        $token = $this->tokenOf($lease);
        [$bytes, $flags] = $this->values->encode($value);
        $key = $lease->key;
        $arguments = [$key, \strlen($key), $bytes, \strlen($bytes), Ttl::ms($ttl), $flags, \FFI::addr($token), null];
        return $this->handles->call('larder_fill', ...$arguments) === Code::OK;
    }

    public function release(Lease $lease): bool
    {
        $token = $this->tokenOf($lease);
        $key = $lease->key;
        return $this->handles->call('larder_release', $key, \strlen($key), \FFI::addr($token)) === Code::OK;
    }

    /** Loads the value by the right of a lease. A loader that fails gives the older value, if there is one. */
    private function loadUnder(Lease $lease, callable $loader, int|float|\DateInterval|null $ttl): mixed
    {
        try {
            $value = $loader();
        } catch (\Throwable $caught) {
            $this->giveUp($lease);
            return $lease->isStale() ? $lease->value : throw $caught;
        }
        try {
            $this->fill($lease, $value, $ttl);
        } catch (UnavailableError | RefusedError) {
            // The caller has its value, also where the store does not take it.
            $this->giveUp($lease);
        } catch (\Throwable $caught) {
            // The serializer does not take the value, which is a fault of the program.
            $this->giveUp($lease);
            throw $caught;
        }
        return $value;
    }

    /** Lets the next caller load at once. */
    private function giveUp(Lease $lease): void
    {
        try {
            $this->release($lease);
        } catch (Error) {
            // The lease ends with its time.
        }
    }

    private function loadWithoutLeases(string $key, callable $loader, int|float|\DateInterval|null $ttl): mixed
    {
        $value = $loader();
        [$bytes, $flags] = $this->values->encode($value);
        try {
            $this->handles->call('larder_set', $key, \strlen($key), $bytes, \strlen($bytes), Ttl::ms($ttl), $flags, null);
        } catch (UnavailableError | RefusedError) {
            // The caller has its value, also where the store does not take it.
        }
        return $value;
    }

    private function tokenOf(Lease $lease): \FFI\CData
    {
        $bytes = $lease->token;
        if ($bytes === null) {
            $message = "the lease of `{$lease->key}` has no token: its value is there, or another caller loads it";
            throw new UsageError($message, 'argument');
        }
        $token = $this->handles->library->new('larder_token');
        \FFI::memcpy($token, $bytes, self::TOKEN_BYTES);
        return $token;
    }
}
