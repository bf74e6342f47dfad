<?php

declare(strict_types=1);

namespace Larder;

/** The store cannot do this. */
final class UnsupportedError extends Error
{
}
