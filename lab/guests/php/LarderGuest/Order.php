<?php

declare(strict_types=1);

namespace LarderGuest;

/** The description of a cache, or of a tier of it, in open.json. */
final class Order
{
    /**
     * @param array<string, mixed> $options
     * @param list<string> $servers
     * @param array<string, string> $server The settings of the servers that a client must know
     * @param array<string, string> $access The settings to follow on the servers, and the credentials
     * @param list<self> $tiers
     */
    private function __construct(
        public readonly string $cache,
        public readonly array $options,
        public readonly ?string $folder,
        public readonly ?string $library,
        public readonly array $servers,
        public readonly array $server,
        public readonly array $access,
        public readonly bool $fresh,
        public readonly array $tiers,
    ) {
    }

    /** @param array<string, mixed> $order */
    public static function of(array $order): self
    {
        $fresh = $order['fresh'] ?? true;
        $tiers = array_map(
            static fn (array $tier): self => self::of(['fresh' => $fresh] + $tier),
            $order['tiers'] ?? [],
        );
        return new self(
            $order['cache'],
            $order['options'] ?? [],
            $order['folder'] ?? null,
            $order['library'] ?? null,
            $order['servers'] ?? [],
            $order['server'] ?? [],
            $order['access'] ?? [],
            $fresh,
            $tiers,
        );
    }

    /** An option, or `$otherwise` where it is not set. */
    public function option(string $name, mixed $otherwise = null): mixed
    {
        return $this->options[$name] ?? $otherwise;
    }

    /** The folder of a cache that keeps files. */
    public function files(): string
    {
        return $this->folder ?? throw new Failure('protocol', "{$this->cache} needs a folder");
    }
}
