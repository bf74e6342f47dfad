<?php

declare(strict_types=1);

namespace Larder;

/** The form of values that are neither text nor bytes nor whole numbers. */
interface Serializer
{
    /** The number that marks values of this form: 32 is JSON, and 256 signed values of PHP. 0, 2, 16 and 128 are taken. */
    public function flags(): int;

    /** The stored form of a value. */
    public function dump(mixed $value): string;

    /** The value of a stored form, which may have another mark. */
    public function load(string $data, int $flags): mixed;
}
