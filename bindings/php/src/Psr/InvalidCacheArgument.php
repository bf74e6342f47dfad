<?php

declare(strict_types=1);

namespace Larder\Psr;

/** A key or a TTL against the rules of PSR-6. */
final class InvalidCacheArgument extends \InvalidArgumentException implements \Psr\Cache\InvalidArgumentException
{
}
