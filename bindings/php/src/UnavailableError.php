<?php

declare(strict_types=1);

namespace Larder;

/** The store does not answer, or failed on the way. */
final class UnavailableError extends Error
{
}
