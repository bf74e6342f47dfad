<?php

declare(strict_types=1);

namespace Larder\Psr;

/** A key or a TTL against the rules of PSR-16. */
final class InvalidSimpleCacheArgument extends \InvalidArgumentException implements \Psr\SimpleCache\InvalidArgumentException
{
}
