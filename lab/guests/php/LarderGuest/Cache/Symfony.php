<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;
use Symfony\Component\Cache\Adapter\AbstractAdapter;
use Symfony\Component\Cache\Adapter\ApcuAdapter;
use Symfony\Component\Cache\Adapter\ChainAdapter;
use Symfony\Component\Cache\Adapter\FilesystemAdapter;
use Symfony\Component\Cache\Psr16Cache;

/**
 * Symfony's component Cache, by its interface of PSR-16. Its interface of PSR-6 would need a read before every set. The
 * component reports a failure as a miss or as a value that was not stored, and writes the reason to a log.
 */
final class Symfony extends Cache
{
    private const PACKAGES = [
        'symfony/cache' => 'Symfony/Component/Cache/autoload.php',
        'psr/simple-cache' => 'Psr/SimpleCache/autoload.php',
    ];
    private const NAMESPACE = 'larder';

    private Psr16Cache $pool;
    private int|float|null $shortest = null;

    /**
     * @param ?Apcu $memory The memory of the nearest adapter, where it is APCu
     * @param list<AbstractAdapter> $adapters From the nearest on
     */
    private function __construct(
        private readonly string $name,
        private readonly ?string $folder,
        private readonly ?Apcu $memory,
        private readonly array $adapters,
        private readonly SymfonyLog $log,
    ) {
        foreach ($adapters as $adapter) {
            $adapter->setLogger($log);
        }
        $this->expectTtl(null);
    }

    public static function opened(Order $order): Cache
    {
        foreach (self::PACKAGES as $package => $autoload) {
            if (stream_resolve_include_path($autoload) === false) {
                throw new Failure('unavailable', "the PHP package $package is not installed");
            }
            require_once $autoload;
        }
        $name = $order->option('adapter', 'apcu');
        $memory = $name === 'file' ? null : Apcu::opened($order);
        $folder = $name === 'apcu' ? null : $order->files();
        $adapters = [];
        if ($memory !== null) {
            $adapters[] = new ApcuAdapter(self::NAMESPACE);
        }
        if ($folder !== null) {
            $adapters[] = new FilesystemAdapter(self::NAMESPACE, 0, $folder);
        }
        $self = new self($name, $folder, $memory, $adapters, new SymfonyLog());
        if ($order->fresh) {
            $self->pool->clear();
        }
        return $self;
    }

    public function title(): string
    {
        return 'symfony/cache ' . self::version();
    }

    public function settings(): array
    {
        $settings = ['adapter' => $this->name, 'interface' => 'PSR-16'];
        if ($this->folder !== null) {
            $settings['folder'] = $this->folder;
            // The component's own choice.
            $settings['file_serializer'] = extension_loaded('igbinary') ? 'igbinary' : 'serialize()';
        }
        return $settings + ($this->memory?->settings() ?? []);
    }

    public function get(string $key): string|false
    {
        $this->log->said = null;
        return $this->pool->get($key) ?? false;
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        $this->log->said = null;
        return $this->pool->set($key, $value, $ttl);
    }

    /** The component deletes without a word about whether there was an entry, so it is asked before. */
    public function delete(string $key): ?bool
    {
        $this->log->said = null;
        $found = $this->pool->has($key);
        return $this->pool->delete($key) ? $found : null;
    }

    public function getMany(array $keys): array
    {
        $this->log->said = null;
        return array_filter([...$this->pool->getMultiple($keys)], is_string(...));
    }

    /** Whole seconds, rounded up. */
    public function ttlArgument(int|float|null $seconds): mixed
    {
        return $seconds === null ? null : max(1, (int) ceil($seconds));
    }

    /**
     * The chain does not know the time left of an entry in the files, so the entry gets the chain's own time to live in
     * the memory: here the shortest of all so far. Without it, an entry could stay in the memory for ever.
     */
    public function expectTtl(int|float|null $seconds): void
    {
        $this->shortest = $seconds === null ? $this->shortest : min($seconds, $this->shortest ?? $seconds);
        $this->pool = new Psr16Cache(count($this->adapters) === 1
            ? $this->adapters[0]
            : new ChainAdapter($this->adapters, $this->ttlArgument($this->shortest) ?? 0));
    }

    public function sharesMemory(): bool
    {
        return $this->memory !== null;
    }

    public function doubts(): bool
    {
        return true;
    }

    public function trace(): mixed
    {
        return $this->log->said;
    }

    public function failureOfMiss(mixed $trace): Failure
    {
        return Failure::inWords($trace);
    }

    public function refusal(string $key, string $value, mixed $trace): Failure
    {
        $failure = $trace === null ? Failure::unexplained() : Failure::inWords($trace);
        return $failure->kind === 'other' && $this->memory !== null ? $this->memory->refusal($key, $value, $trace) : $failure;
    }

    /** The files have every entry. Entries that a chain's memory drops are not lost. */
    public function evictions(\Closure $added): ?int
    {
        return $this->folder === null ? $this->memory?->evictions($added) : 0;
    }

    /** The version of the Debian package, because the component does not tell its own. */
    private static function version(): string
    {
        $told = shell_exec("dpkg-query --show --showformat='\${source:Upstream-Version}' php-symfony-cache 2>/dev/null");
        return trim((string) $told) ?: 'of an unknown version';
    }
}
