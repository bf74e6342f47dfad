<?php

declare(strict_types=1);

namespace Larder;

/** A URL, an option, a key or a value that must be written differently. */
final class UsageError extends Error
{
}
