<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\Error;
use Larder\Json;
use Larder\Store;
use Larder\UsageError;
use Psr\Log\LoggerInterface;

/**
 * Calls of a store whose errors are told to a log: by both standards, a cache that fails is no failure of the application.
 *
 * @internal
 */
trait Quiet
{
    private readonly Store $store;
    private readonly ?LoggerInterface $log;

    /** Takes a store whose serializer gives every value of PHP back, as both standards ask. */
    private function take(Store $store, ?LoggerInterface $log): void
    {
        if ($store->serializer() instanceof Json) {
            $message = 'PSR-6 and PSR-16 give every value of PHP back, which JSON cannot; '
                . 'open the store with a SignedSerialize';
            throw new UsageError($message, 'argument');
        }
        [$this->store, $this->log] = [$store, $log];
    }

    /**
     * The result of some work, or `$otherwise` where the store fails.
     *
     * @template T
     * @param \Closure(): T $work
     * @param T $otherwise
     * @return T
     */
    private function quietly(\Closure $work, mixed $otherwise): mixed
    {
        try {
            return $work();
        } catch (Error $error) {
            return $this->warned($error, $otherwise);
        }
    }

    /**
     * Tells the log of an error, and returns what stands for the result.
     *
     * @template T
     * @param T $otherwise
     * @return T
     */
    private function warned(Error $error, mixed $otherwise): mixed
    {
        $this->log?->warning('{error}', ['error' => $error->getMessage(), 'exception' => $error]);
        return $otherwise;
    }

    /**
     * The values of keys. A value that cannot be read, such as one with another signature, counts as absent, and keeps no
     * other out.
     *
     * @param list<string> $keys
     * @return array<array-key, mixed>
     */
    private function read(array $keys): array
    {
        $all = $this->quietly(fn (): array => $this->store->getMany($keys), null);
        if ($all !== null || \count($keys) === 1) {
            return $all ?? [];
        }
        $values = [];
        foreach ($keys as $key) {
            $values += $this->quietly(fn (): array => $this->store->getMany([$key]), []);
        }
        return $values;
    }
}
