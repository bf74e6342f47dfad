<?php

declare(strict_types=1);

namespace Larder;

/** The base of all errors of Larder; `kind` names each. */
class Error extends \RuntimeException
{
    final public function __construct(string $message, public readonly string $kind, ?\Throwable $previous = null)
    {
        parent::__construct($message, 0, $previous);
    }

    /**
     * The exception of a code that the library returned. Codes that name no fault of the caller, no limit and no missing
     * ability are faults of the store, of its server or of this process: the store is unavailable.
     */
    public static function of(int $code, string $message): self
    {
        $kind = Code::KINDS[$code] ?? 'other';
        return match ($kind) {
            'argument', 'key_too_long', 'invalid_key', 'not_a_number', 'unknown_scheme', 'invalid_url',
            'invalid_options' => new UsageError($message, $kind),
            'value_too_large', 'full' => new RefusedError($message, $kind),
            'unsupported' => new UnsupportedError($message, $kind),
            default => new UnavailableError($message, $kind),
        };
    }
}
