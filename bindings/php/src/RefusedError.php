<?php

declare(strict_types=1);

namespace Larder;

/** The store took no value: too large, or no room. */
final class RefusedError extends Error
{
}
