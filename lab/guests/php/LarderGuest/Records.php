<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * The records of a process in a phase: blocks of what came of its operations, and at the end what the process knows of
 * itself. They go over a pipe to Larder, which counts them. After each block the process waits for a byte, so that
 * Larder does not count while the clock runs.
 */
final class Records
{
    /** The kinds of parts. */
    private const OF_BLOCK = 1;
    private const OF_END = 2;
    /** The kinds of notes. */
    private const VALUE = 1;
    private const BYTES = 2;
    private const ERROR = 3;

    /** @var resource */
    private $records;
    /** @var resource */
    private $next;
    private bool $hasError = false;
    private bool $isCounting = false;

    /** Opens the pipes of a process. */
    public function __construct(string $folder, int $process)
    {
        $this->records = fopen("$folder/records-$process", 'wb');
        $this->next = fopen("$folder/next-$process", 'rb');
        stream_set_read_buffer($this->next, 0);
    }

    /** Sends what came of the first `$count` operations of a block. */
    public function sendBlock(Block $block, int $count): void
    {
        $segments = '';
        foreach ($block->segments as [$first, $began]) {
            $segments .= pack('VVP', $first, 0, $began);
        }
        $ends = pack('P*', ...array_slice($block->end, 0, $count));
        $outcomes = str_repeat("\0", $count);
        foreach ($block->outcome as $n => $what) {
            $outcomes[$n] = chr($what);
        }
        $notes = $this->notes($block);
        $head = pack('V4', $count, count($block->segments), count($notes), 0);
        $this->send(self::OF_BLOCK, $head . $segments . $ends . $outcomes . implode('', $notes));
        $this->isCounting = true;
    }

    /** Waits until Larder has counted the block that was sent. */
    public function awaitCount(): void
    {
        if ($this->isCounting && (string) fread($this->next, 1) === '') {
            throw new Failure('protocol', 'Larder has ended');
        }
        $this->isCounting = false;
    }

    /**
     * Sends the end of the phase.
     *
     * @param array<string, mixed> $end
     */
    public function sendEnd(array $end): void
    {
        $this->awaitCount();
        $this->send(self::OF_END, json_encode($end, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE));
        fclose($this->records);
        fclose($this->next);
    }

    private function send(int $kind, string $part): void
    {
        $bytes = pack('V2', $kind, strlen($part)) . $part;
        while ($bytes !== '') {
            $sent = fwrite($this->records, $bytes);
            if ($sent === false || $sent === 0) {
                throw new Failure('protocol', 'Larder has ended');
            }
            $bytes = substr($bytes, $sent);
        }
    }

    /** @return list<string> The notes of a block, in the order of its operations. */
    private function notes(Block $block): array
    {
        $noted = $block->others + $block->errors;
        ksort($noted);
        $notes = [];
        foreach ($noted as $n => $what) {
            $notes[] = match (true) {
                is_int($what) => self::note($n, self::VALUE, $what, ''),
                is_array($what) => self::note($n, self::BYTES, ...$what),
                default => self::note($n, self::ERROR, 0, $this->error($what)),
            };
        }
        return $notes;
    }

    private static function note(int $n, int $kind, int $number, string $bytes): string
    {
        return pack('V4', $n, $kind, $number, strlen($bytes)) . $bytes;
    }

    /** The kind of a failure, and the text of the first one, in which JSON replaces what is not UTF-8. */
    private function error(Failure $failure): string
    {
        if ($this->hasError) {
            return $failure->kind;
        }
        $this->hasError = true;
        return "$failure->kind\n" . json_decode(json_encode($failure->getMessage(), JSON_INVALID_UTF8_SUBSTITUTE));
    }
}
