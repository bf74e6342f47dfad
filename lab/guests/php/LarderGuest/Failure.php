<?php

declare(strict_types=1);

namespace LarderGuest;

/** A failure, with a kind that is counted and a text of one line. */
final class Failure extends \RuntimeException
{
    /** Words by which a warning tells the kind of a failure, where it has no other way to tell it. */
    private const KINDS = [
        'timeout' => '/tim(?:ed|e)[ -]?out|ExceededTimeLimit/i',
        'full' => '/No space left|out of memory|OOM command|Disk quota/i',
        'too_large' => '/too (?:large|big|long)|does not fit|do not fit|exceeds maximum/i',
        'io' => '/No such file|Permission denied|not permitted|Is a directory|Input\/output|Read-only|Connection|went away|refused|Broken pipe|No suitable servers|socket|failed with/i',
    ];

    public function __construct(public readonly string $kind, string $text)
    {
        parent::__construct(self::oneLine($text));
    }

    /** The failure of a caught exception: a failure as it is, any other exception by its words. */
    public static function from(\Throwable $caught): self
    {
        return $caught instanceof self ? $caught : self::inWords($caught->getMessage());
    }

    /** A failure whose kind its words tell. */
    public static function inWords(string $text): self
    {
        foreach (self::KINDS as $kind => $words) {
            if (preg_match($words, $text) === 1) {
                return new self($kind, $text);
            }
        }
        return new self('other', $text);
    }

    /** A failure of which the client tells no more than that it happened. */
    public static function unexplained(): self
    {
        return new self('other', 'the client failed without a reason');
    }

    /** @return array{error: string, kind: string} */
    public function answer(): array
    {
        return ['error' => $this->getMessage(), 'kind' => $this->kind];
    }

    private static function oneLine(string $text): string
    {
        $text = trim((string) preg_replace('/\s+/', ' ', $text));
        return $text === '' ? 'an error without a message' : $text;
    }
}
