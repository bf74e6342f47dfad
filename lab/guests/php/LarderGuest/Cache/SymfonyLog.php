<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use Psr\Log\AbstractLogger;

/** Keeps the last message of Symfony's cache, which reports its failures in no other way. */
final class SymfonyLog extends AbstractLogger
{
    public ?string $said = null;

    /** The words of the exception say more than those around it, in which the key stands for the reason. */
    public function log($level, $message, array $context = []): void
    {
        $caught = $context['exception'] ?? null;
        $this->said = $caught instanceof \Throwable ? $caught->getMessage() : (string) $message;
    }
}
