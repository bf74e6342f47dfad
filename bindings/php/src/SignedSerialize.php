<?php

declare(strict_types=1);

namespace Larder;

/**
 * Any value that `serialize()` takes, signed: only a program with the key can store what another program unserializes.
 * `unserialize()` runs code of the classes that it meets, so a value without a valid signature is not unserialized.
 */
final class SignedSerialize implements Serializer
{
    private const FLAGS = 256;
    private const LENGTH = 32;
    private const SHORTEST_KEY = 16;

    /** @param bool|list<class-string> $allowedClasses As the option `allowed_classes` of `unserialize()` */
    public function __construct(
        #[\SensitiveParameter] private readonly string $key,
        private readonly bool|array $allowedClasses = true,
    ) {
        if (\strlen($key) < self::SHORTEST_KEY) {
            $length = \strlen($key);
            $shortest = self::SHORTEST_KEY;
            throw new UsageError("the key has $length bytes < $shortest; take $shortest random bytes or more", 'argument');
        }
    }

    public function flags(): int
    {
        return self::FLAGS;
    }

    public function dump(mixed $value): string
    {
        try {
            $data = \serialize($value);
        } catch (\Throwable $caught) {
            throw new UsageError("a value cannot be stored: {$caught->getMessage()}", 'value', $caught);
        }
        return $this->sign($data) . $data;
    }

    public function load(string $data, int $flags): mixed
    {
        if ($flags !== self::FLAGS) {
            throw new UsageError("a stored value has the flags $flags, which SignedSerialize does not read", 'value');
        }
        $signature = \substr($data, 0, self::LENGTH);
        $data = \substr($data, self::LENGTH);
        if (!\hash_equals($this->sign($data), $signature)) {
            $message = 'a stored value has no valid signature: it was stored with another key, or by another program';
            throw new Error($message, 'signature');
        }
        try {
            return \unserialize($data, ['allowed_classes' => $this->allowedClasses]);
        } catch (\Throwable $caught) {
            // A class may have changed since.
            throw new Error("a stored value cannot be read: {$caught->getMessage()}", 'value', $caught);
        }
    }

    /** The key stays out of dumps. */
    public function __debugInfo(): array
    {
        return ['allowedClasses' => $this->allowedClasses];
    }

    private function sign(string $data): string
    {
        return \hash_hmac('sha256', $data, $this->key, true);
    }
}
