<?php

declare(strict_types=1);

namespace Larder\Tests\Suites;

use Cache\IntegrationTests\SimpleCacheTest as Suite;
use Larder\Psr\SimpleCache;
use Larder\Tests\Place;

/** The suite that the PHP-cache organisation publishes for caches of PSR-16. */
final class SimpleCacheTest extends Suite
{
    public function createSimpleCache(): SimpleCache
    {
        return new SimpleCache(Place::signed('mmap'));
    }
}
