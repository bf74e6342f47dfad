<?php

declare(strict_types=1);

namespace Larder;

/**
 * The numbers of larder.h, which a test holds against the header.
 *
 * @internal
 */
final class Code
{
    public const OK = 0;
    public const NOT_FOUND = 1;
    public const NOT_STORED = 2;
    public const EXISTS = 3;
    public const TOO_SMALL = 4;
    public const LOAD = 5;
    public const WAIT = 6;

    public const E_ARGUMENT = -1;
    public const E_PANIC = -2;
    public const E_KEY_TOO_LONG = -3;
    public const E_INVALID_KEY = -4;
    public const E_VALUE_TOO_LARGE = -5;
    public const E_FULL = -6;
    public const E_CORRUPTED = -7;
    public const E_BUSY = -8;
    public const E_TIMEOUT = -9;
    public const E_UNAVAILABLE = -10;
    public const E_FORKED = -11;
    public const E_UNSUPPORTED = -12;
    public const E_NOT_A_NUMBER = -13;
    public const E_UNKNOWN_SCHEME = -14;
    public const E_INVALID_URL = -15;
    public const E_INVALID_OPTIONS = -16;
    public const E_PROTOCOL = -17;
    public const E_IO = -18;
    public const E_NO_ANSWER = -19;
    public const E_OTHER = -20;

    public const FOREVER = -1;
    public const TTL_UNKNOWN = -2;
    /** UINT64_MAX, as an integer of PHP has its bits. */
    public const UNKNOWN = -1;

    public const SET = 0;
    public const ADD = 1;
    public const REPLACE = 2;
    public const CAS = 3;
    public const APPEND = 4;
    public const PREPEND = 5;

    /** The kinds of errors, as Error has them. */
    public const KINDS = [
        self::E_ARGUMENT => 'argument',
        self::E_PANIC => 'fault',
        self::E_KEY_TOO_LONG => 'key_too_long',
        self::E_INVALID_KEY => 'invalid_key',
        self::E_VALUE_TOO_LARGE => 'value_too_large',
        self::E_FULL => 'full',
        self::E_CORRUPTED => 'corrupted',
        self::E_BUSY => 'busy',
        self::E_TIMEOUT => 'timeout',
        self::E_UNAVAILABLE => 'unavailable',
        self::E_FORKED => 'forked',
        self::E_UNSUPPORTED => 'unsupported',
        self::E_NOT_A_NUMBER => 'not_a_number',
        self::E_UNKNOWN_SCHEME => 'unknown_scheme',
        self::E_INVALID_URL => 'invalid_url',
        self::E_INVALID_OPTIONS => 'invalid_options',
        self::E_PROTOCOL => 'protocol',
        self::E_IO => 'io',
        self::E_NO_ANSWER => 'no_answer',
        self::E_OTHER => 'other',
    ];
}
