<?php

declare(strict_types=1);

namespace Larder;

/** JSON: arrays, numbers, text in UTF-8, booleans and `null`. It runs no code, and every language reads it. */
final class Json implements Serializer
{
    private const FLAGS = 32;

    public function flags(): int
    {
        return self::FLAGS;
    }

    public function dump(mixed $value): string
    {
        self::check($value);
        try {
            return \json_encode($value, \JSON_THROW_ON_ERROR | \JSON_PRESERVE_ZERO_FRACTION | \JSON_UNESCAPED_SLASHES
                | \JSON_UNESCAPED_UNICODE);
        } catch (\JsonException $caught) {
            $message = "JSON cannot hold a value: {$caught->getMessage()}; take SignedSerialize for it";
            throw new UsageError($message, 'value', $caught);
        }
    }

    public function load(string $data, int $flags): mixed
    {
        if ($flags !== self::FLAGS) {
            throw new UsageError("a stored value has the flags $flags, which JSON does not read", 'value');
        }
        try {
            return \json_decode($data, true, 512, \JSON_THROW_ON_ERROR);
        } catch (\JsonException $caught) {
            throw new Error("a stored value is no JSON: {$caught->getMessage()}", 'corrupted', $caught);
        }
    }

    /** An object would come back as an array, so it is refused. */
    private static function check(mixed $value): void
    {
        if (\is_object($value)) {
            $class = $value::class;
            throw new UsageError("JSON cannot hold an object of $class; take SignedSerialize for it", 'value');
        }
        if (\is_array($value)) {
            \array_walk_recursive($value, self::check(...));
        }
    }
}
