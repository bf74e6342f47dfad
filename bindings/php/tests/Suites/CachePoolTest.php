<?php

declare(strict_types=1);

namespace Larder\Tests\Suites;

use Cache\IntegrationTests\CachePoolTest as Suite;
use Larder\Larder;
use Larder\Psr\CacheItemPool;
use Larder\Tests\Place;

/** The suite that the PHP-cache organisation publishes for pools of PSR-6. */
final class CachePoolTest extends Suite
{
    private ?string $url = null;

    /** A test may ask for several pools, which share what they have. */
    public function createCachePool(): CacheItemPool
    {
        $this->url ??= Place::url('mmap');
        return new CacheItemPool(Larder::open($this->url, Place::serializer()));
    }
}
