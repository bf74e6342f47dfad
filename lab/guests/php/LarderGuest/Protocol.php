<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * Commands in, answers out. The input is read without PHP's own buffer: a length counts bytes, and the system tells
 * whether a command waits.
 */
final class Protocol
{
    private const PIECE = 65_536;

    private string $buffer = '';
    private bool $hasEnded = false;

    /**
     * @param resource $input
     * @param resource $output
     */
    public function __construct(private $input, private $output)
    {
        stream_set_read_buffer($input, 0);
    }

    /** The next line without its line feed; `null` once the input has ended. */
    public function line(): ?string
    {
        while (($at = strpos($this->buffer, "\n")) === false) {
            if (!$this->more()) {
                return null;
            }
        }
        $line = substr($this->buffer, 0, $at);
        $this->buffer = substr($this->buffer, $at + 1);
        return $line;
    }

    /** The `$length` bytes that follow a line. */
    public function bytes(int $length): string
    {
        while (strlen($this->buffer) < $length) {
            if (!$this->more()) {
                throw new Failure('protocol', "the input ended within $length announced bytes");
            }
        }
        $bytes = substr($this->buffer, 0, $length);
        $this->buffer = substr($this->buffer, $length);
        return $bytes;
    }

    /**
     * Writes one answer, and the bytes that belong to it.
     *
     * @param array<string, mixed> $answer
     */
    public function answer(array $answer, string $bytes = ''): void
    {
        $text = json_encode($answer, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE) . "\n" . $bytes;
        while ($text !== '') {
            $written = fwrite($this->output, $text);
            if ($written === false || $written === 0) {
                // The program that gave the commands is gone.
                exit(1);
            }
            $text = substr($text, $written);
        }
    }

    /** Whether the input has ended, found out without waiting: the program that gave the commands is gone. */
    public function hasEnded(): bool
    {
        while (!$this->hasEnded) {
            $ready = [$this->input];
            $none = null;
            if ((int) @stream_select($ready, $none, $none, 0) === 0) {
                break;
            }
            $this->more();
        }
        return $this->hasEnded;
    }

    /** @return resource The stream that commands come from. */
    public function input()
    {
        return $this->input;
    }

    /**
     * Leaves both streams to the parent process. The input is not merely closed: the next file that is opened would get
     * the number of standard input.
     */
    public function release(): void
    {
        fclose($this->input);
        $this->input = fopen('/dev/null', 'r');
        fclose($this->output);
    }

    private function more(): bool
    {
        if ($this->hasEnded) {
            return false;
        }
        $read = fread($this->input, self::PIECE);
        if ($read === false || $read === '') {
            $this->hasEnded = true;
            return false;
        }
        $this->buffer .= $read;
        return true;
    }
}
