<?php

declare(strict_types=1);

namespace Larder\Tests\Suites;

use Cache\IntegrationTests\CachePoolTest as Suite;
use Larder\Larder;
use Larder\Symfony\LarderAdapter;
use Larder\Tests\Place;

/** The suite for pools of PSR-6, on the adapter of Symfony's component. */
final class AdapterTest extends Suite
{
    private ?string $url = null;

    public function createCachePool(): LarderAdapter
    {
        $this->url ??= Place::url('near');
        if (ini_get('zend.assertions') !== '1') {
            self::fail('the component checks keys in assertions; run the tests by php -d zend.assertions=1');
        }
        return new LarderAdapter(Larder::open($this->url, Place::serializer()), 'suite');
    }
}
