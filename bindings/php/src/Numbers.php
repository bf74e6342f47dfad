<?php

declare(strict_types=1);

namespace Larder;

/**
 * Changes of numbers, as memcached makes them.
 *
 * @internal
 */
final class Numbers
{
    public function __construct(private readonly Handles $handles)
    {
    }

    /** The number after `$function`; `null` where the key is absent and gets no first number. */
    public function change(
        string $function,
        string $key,
        int $delta,
        ?int $initial,
        int|float|\DateInterval|null $ttl,
    ): int|string|null {
        foreach (['delta' => $delta, 'initial' => $initial ?? 0] as $name => $given) {
            if ($given < 0) {
                throw new UsageError("$name is $given; write 0 or more", 'argument');
            }
        }
        $absent = null;
        if ($initial !== null) {
            $absent = $this->handles->library->new('larder_initial');
            [$absent->number, $absent->ttl_ms] = [$initial, Ttl::ms($ttl)];
        }
        $number = $this->handles->library->new('uint64_t');
        $given = $absent === null ? null : \FFI::addr($absent);
        if ($this->handles->call($function, $key, \strlen($key), $delta, $given, \FFI::addr($number)) === Code::NOT_FOUND) {
            return null;
        }
        return $number->cdata >= 0 ? $number->cdata : \sprintf('%u', $number->cdata);
    }
}
