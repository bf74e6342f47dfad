<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;
use MongoDB\BSON\Binary;
use MongoDB\BSON\UTCDateTime;
use MongoDB\Driver\BulkWrite;
use MongoDB\Driver\Command;
use MongoDB\Driver\Exception\ConnectionException;
use MongoDB\Driver\Exception\ExecutionTimeoutException;
use MongoDB\Driver\Exception\RuntimeException;
use MongoDB\Driver\Manager;
use MongoDB\Driver\Query;
use MongoDB\Driver\WriteConcern;
use MongoDB\Driver\WriteResult;

/**
 * The extension mongodb by its own classes, without the library on top of them. A value is a document in the collection
 * that Larder has opened. It has the form that Larder's own engine stores, so that it is cleared and expires there.
 */
final class Mongodb extends Cache
{
    private const ONE = ['limit' => 1, 'singleBatch' => true, 'projection' => ['value' => 1, 'expires' => 1]];
    /** Room for all but the value, as Larder's own engine leaves it. */
    private const OVERHEAD_BYTES = 8_192;
    private const LARGEST_DOCUMENT = 16 << 20;
    private const TYPES = ['root' => 'array', 'document' => 'array', 'array' => 'array'];

    private readonly Manager $manager;
    private readonly string $namespace;
    private readonly bool $waits;
    /** The size of the largest value that a document has room for. */
    private readonly int $largest;
    /** @var array{writeConcern: WriteConcern} */
    private readonly array $sets;
    /** @var array{writeConcern: WriteConcern} */
    private readonly array $others;
    /** Whether sets were sent whose completion was not awaited. */
    private bool $isUnderWay = false;
    private readonly int $timeoutNs;
    /** The time at which the last operation began. */
    private int $began = 0;

    private function __construct(private readonly Order $order)
    {
        $told = $order->server;
        $timeoutMs = $order->option('socketTimeoutMS', 5_000);
        // The driver waits in whole milliseconds, and may leave out the last of them.
        $this->timeoutNs = ($timeoutMs - intdiv($timeoutMs, 10)) * 1_000_000;
        $options = array_filter([
            'replicaSet' => $told['replica_set'] ?? null,
            'readPreference' => $told['read_preference'] ?? null,
            'directConnection' => count($order->servers) === 1 && !isset($told['replica_set']) ? true : null,
            'socketTimeoutMS' => $timeoutMs,
            'connectTimeoutMS' => 5_000,
            'serverSelectionTimeoutMS' => 5_000,
            // An operation that the driver silently retries would show as one slow operation.
            'retryWrites' => false,
            'retryReads' => false,
        ], static fn (mixed $setting): bool => $setting !== null);
        $this->manager = new Manager('mongodb://' . implode(',', $order->servers), $options);
        $this->namespace = ($told['database'] ?? 'larder') . '.' . ($told['collection'] ?? 'larder');
        $this->waits = $order->option('w', '1') !== '0';
        $journal = $order->option('journal');
        $this->sets = ['writeConcern' => new WriteConcern($this->waits ? 1 : 0, 0, $journal)];
        $this->others = ['writeConcern' => new WriteConcern(1)];
        $this->ping();
        $server = $this->manager->getServers()[0] ?? null;
        $document = $server?->getInfo()['maxBsonObjectSize'] ?? self::LARGEST_DOCUMENT;
        $this->largest = $document - self::OVERHEAD_BYTES;
    }

    public static function opened(Order $order): Cache
    {
        self::need('mongodb');
        if (($order->server['tls'] ?? 'off') === 'on') {
            throw new Failure('unavailable', 'this guest has no TLS; use mongodb: for servers with TLS');
        }
        return new self($order);
    }

    public function title(): string
    {
        return 'mongodb extension ' . phpversion('mongodb');
    }

    public function settings(): array
    {
        return [
            'w' => $this->waits ? '1' : '0',
            'journal' => self::text($this->order->option('journal') ?? 'unsaid'),
            'namespace' => $this->namespace,
            'servers' => implode(', ', $this->order->servers),
        ];
    }

    public function get(string $key): string|false
    {
        $this->began = hrtime(true);
        try {
            $cursor = $this->manager->executeQuery($this->namespace, new Query(['_id' => self::id($key)], self::ONE));
            $cursor->setTypeMap(self::TYPES);
            foreach ($cursor as $document) {
                return self::isLive($document) ? $document['value']->getData() : false;
            }
        } catch (RuntimeException $caught) {
            throw $this->failure($caught);
        }
        return false;
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        // With w=0 the server would not report it.
        if (strlen($value) > $this->largest) {
            return false;
        }
        $id = self::id($key);
        $document = ['_id' => $id, 'value' => new Binary($value, Binary::TYPE_GENERIC)];
        if ($ttl !== null) {
            $document['expires'] = self::end($ttl);
        }
        $write = new BulkWrite();
        $write->update(['_id' => $id], $document, ['upsert' => true]);
        $this->isUnderWay = true;
        $this->began = hrtime(true);
        try {
            $done = $this->manager->executeBulkWrite($this->namespace, $write, $this->sets);
        } catch (RuntimeException $caught) {
            throw $this->failure($caught);
        }
        return !$this->waits || $done->getMatchedCount() + $done->getUpsertedCount() > 0;
    }

    public function delete(string $key): ?bool
    {
        $write = new BulkWrite();
        $write->delete(self::live($key), ['limit' => 1]);
        return $this->write($write)->getDeletedCount() > 0;
    }

    public function touch(string $key, mixed $ttl): ?bool
    {
        $write = new BulkWrite();
        $change = $ttl === null ? ['$unset' => ['expires' => '']] : ['$set' => ['expires' => self::end($ttl)]];
        $write->update(self::live($key), $change);
        return $this->write($write)->getMatchedCount() > 0;
    }

    public function getMany(array $keys): array
    {
        $byId = [];
        foreach ($keys as $key) {
            $byId[self::id($key)] = $key;
        }
        $wanted = ['_id' => ['$in' => array_map(strval(...), array_keys($byId))]];
        $found = [];
        $this->began = hrtime(true);
        try {
            $cursor = $this->manager->executeQuery($this->namespace, new Query($wanted));
            $cursor->setTypeMap(self::TYPES);
            foreach ($cursor as $document) {
                if (self::isLive($document)) {
                    $found[$byId[$document['_id']]] = $document['value']->getData();
                }
            }
        } catch (RuntimeException $caught) {
            throw $this->failure($caught);
        }
        return $found;
    }

    /** A TTL in milliseconds. */
    public function ttlArgument(int|float|null $seconds): mixed
    {
        return $seconds === null ? null : (int) ceil($seconds * 1_000);
    }

    /** Connects before anything is timed. */
    public function afterFork(): Cache
    {
        return new self($this->order);
    }

    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        $bytes = strlen($value);
        return $bytes > $this->largest
            ? new Failure('too_large', "the value of $bytes bytes is larger than a document has room for, $this->largest bytes")
            : new Failure('other', 'the server did not store the value');
    }

    public function acknowledges(): bool
    {
        return $this->waits;
    }

    /** Waits for the answer to a `ping`: the sets sent before it on the same connection are done then. */
    public function finish(): bool
    {
        if ($this->waits || !$this->isUnderWay) {
            return false;
        }
        $this->isUnderWay = false;
        $this->ping();
        return true;
    }

    /** The client does not tell the number of its connections. */
    public function connections(): ?int
    {
        return null;
    }

    private function ping(): void
    {
        $this->began = hrtime(true);
        try {
            $this->manager->executeCommand('admin', new Command(['ping' => 1]));
        } catch (RuntimeException $caught) {
            throw $this->failure($caught);
        }
    }

    private function write(BulkWrite $write): WriteResult
    {
        $this->began = hrtime(true);
        try {
            return $this->manager->executeBulkWrite($this->namespace, $write, $this->others);
        } catch (RuntimeException $caught) {
            throw $this->failure($caught);
        }
    }

    /**
     * The failure of a driver's exception, by its class; of a failed write, by the class of its previous exception. The
     * driver calls any broken connection `socket error or timeout`, so the time that it took decides.
     */
    private function failure(RuntimeException $caught): Failure
    {
        $cause = $caught->getPrevious() ?? $caught;
        $words = $cause->getMessage();
        if ($cause instanceof ExecutionTimeoutException) {
            return new Failure('timeout', $words);
        }
        // The driver checks by the command `hello` whether a server is there.
        if (!$cause instanceof ConnectionException && !str_contains($words, ' calling hello')) {
            return Failure::inWords($words);
        }
        $isTimeout = hrtime(true) - $this->began >= $this->timeoutNs || str_contains($words, 'timeout calling');
        return new Failure($isTimeout ? 'timeout' : 'io', $words);
    }

    /** A text with one character for each byte, so that a key may have any bytes; a key of ASCII stays as it is. */
    private static function id(string $key): string
    {
        return preg_match('/[\x80-\xff]/', $key) === 1 ? iconv('ISO-8859-1', 'UTF-8', $key) : $key;
    }

    /** @return array<string, mixed> A filter for the document of a key, unless it has expired. */
    private static function live(string $key): array
    {
        return ['_id' => self::id($key), 'expires' => ['$not' => ['$lte' => new UTCDateTime()]]];
    }

    private static function end(int $milliseconds): UTCDateTime
    {
        return new UTCDateTime((int) (microtime(true) * 1_000) + $milliseconds);
    }

    /** @param array<string, mixed> $document */
    private static function isLive(array $document): bool
    {
        return !isset($document['expires']) || (int) (string) $document['expires'] > microtime(true) * 1_000;
    }
}
