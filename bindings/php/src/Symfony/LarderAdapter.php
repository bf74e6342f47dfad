<?php

declare(strict_types=1);

namespace Larder\Symfony;

use Larder\Error;
use Larder\Json;
use Larder\Store;
use Larder\UnsupportedError;
use Larder\UsageError;
use Symfony\Component\Cache\Adapter\AbstractAdapter;
use Symfony\Component\Cache\Marshaller\MarshallerInterface;

/**
 * Any store as an adapter of Symfony's component Cache, and so as a cache of its contracts. `new TagAwareAdapter(...)` of
 * the component adds tags.
 *
 * Without a marshaller, the store's own serializer keeps the values, as `ApcuAdapter` does it.
 */
final class LarderAdapter extends AbstractAdapter
{
    /** The longest id, which is that of memcached. */
    private const LONGEST_ID = 250;

    public function __construct(
        private readonly Store $store,
        string $namespace = '',
        int $defaultLifetime = 0,
        private readonly ?MarshallerInterface $marshaller = null,
    ) {
        if ($marshaller === null && $store->serializer() instanceof Json) {
            $message = 'Symfony stores every value of PHP, which JSON cannot; open the store with a SignedSerialize';
            throw new UsageError($message, 'argument');
        }
        // The component's property has a type since version 7, so it cannot be declared here.
        $this->maxIdLength = self::LONGEST_ID;
        parent::__construct($namespace, $defaultLifetime);
        // The store cannot remove the ids that begin with a word. With versions a clear makes them unreachable.
        $this->enableVersioning();
    }

    protected function doFetch(array $ids): iterable
    {
        $values = [];
        foreach ($this->read($ids) as $id => $value) {
            $values[$id] = $this->marshaller === null ? $value : $this->marshaller->unmarshall($value);
        }
        return $values;
    }

    protected function doHave(string $id): bool
    {
        return $this->store->has(self::stored($id));
    }

    protected function doClear(string $namespace): bool
    {
        if ($namespace !== '') {
            return false;
        }
        try {
            $this->store->clear();
            return true;
        } catch (UnsupportedError) {
            return false;
        }
    }

    protected function doDelete(array $ids): bool
    {
        $this->store->deleteMany(\array_map(self::stored(...), $ids));
        return true;
    }

    protected function doSave(array $values, int $lifetime): array|bool
    {
        $failed = [];
        if ($this->marshaller !== null) {
            $values = $this->marshaller->marshall($values, $failed);
        }
        $made = $ids = [];
        foreach ($values as $id => $value) {
            $stored = self::stored((string) $id);
            [$made[$stored], $ids[$stored]] = [$value, (string) $id];
        }
        $refused = $this->store->setMany($made, $lifetime > 0 ? $lifetime : null);
        return \array_merge($failed ?? [], \array_map(static fn (string $stored): string => $ids[$stored], $refused));
    }

    /**
     * The values of ids. One that cannot be read, such as one with another signature, counts as absent.
     *
     * @param list<string> $ids
     * @return array<array-key, mixed>
     */
    private function read(array $ids): array
    {
        if (\count($ids) === 1) {
            $id = \reset($ids);
            $value = $this->store->get(self::stored($id), $this);
            return $value === $this ? [] : [$id => $value];
        }
        $stored = \array_map(self::stored(...), $ids);
        $original = \array_combine($stored, $ids);
        try {
            $found = $this->store->getMany($stored);
        } catch (Error $error) {
            if ($error->kind !== 'signature' && $error->kind !== 'value') {
                throw $error;
            }
            $found = [];
            foreach ($stored as $one) {
                try {
                    $found += $this->store->getMany([$one]);
                } catch (Error $error) {
                    $this->logger?->warning('{error}', ['error' => $error->getMessage(), 'exception' => $error]);
                }
            }
        }
        $values = [];
        foreach ($found as $key => $value) {
            $values[$original[$key]] = $value;
        }
        return $values;
    }

    /** An id as memcached takes it: Symfony's own characters stand for spaces, as in its MemcachedAdapter. */
    private static function stored(string $id): string
    {
        return \strtr($id, " \n\r\t\v\f\0", '@()\{}/');
    }
}
