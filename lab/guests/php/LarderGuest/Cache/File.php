<?php

declare(strict_types=1);

namespace LarderGuest\Cache;

use LarderGuest\Cache;
use LarderGuest\Failure;
use LarderGuest\Order;

/**
 * A file for each key, by PHP's own functions. By default a value is written beside its place and renamed. So no reader
 * gets half a value, and the rest of a failed write is no value.
 *
 * With `writes=unchecked` a value is written under its own name, and the result of `file_put_contents` is ignored. A
 * full file system then leaves an empty file, or a file with a part of the value, and the set counts as done. An empty
 * file is read as no value, because a script has no use for an empty string.
 */
final class File extends Cache
{
    private const DEEPEST = 4;
    /**
     * The mark at the end of a value with a TTL, behind the milliseconds since 1970 at which it expires. A value that
     * itself ends with the mark gets `NEVER` and the mark.
     */
    private const MARK = "\x1f\x8c\xe2larder ends\xb7\x03";
    private const MARK_BYTES = 16;
    private const ALL_BYTES = 32;
    private const NEVER = 'ffffffffffffffff';

    private readonly string $folder;
    private readonly int $depth;
    private readonly bool $checks;
    private int $written = 0;
    /** PHP's message about the last file that could not be read. */
    private string $said = '';

    private function __construct(Order $order)
    {
        $this->folder = $order->files();
        $this->depth = $order->option('depth', 0);
        if ($this->depth > self::DEEPEST) {
            throw new Failure('other', "option `depth`: {$this->depth} is more than " . self::DEEPEST);
        }
        $this->checks = $order->option('writes', 'checked') === 'checked';
    }

    public static function opened(Order $order): Cache
    {
        $self = new self($order);
        if ($order->fresh) {
            self::empty($self->folder);
        }
        return $self;
    }

    public function title(): string
    {
        return 'files by PHP ' . PHP_VERSION;
    }

    public function settings(): array
    {
        return [
            'depth' => (string) $this->depth,
            'writes' => $this->checks ? 'checked' : 'unchecked',
            'folder' => $this->folder,
        ];
    }

    public function get(string $key): string|false
    {
        $value = @file_get_contents($this->path($key));
        if ($value === false) {
            $this->said = error_get_last()['message'] ?? '';
            return false;
        }
        $this->said = '';
        if (!str_ends_with($value, self::MARK)) {
            return $value !== '' || $this->checks ? $value : false;
        }
        return self::hasTime(substr($value, -self::ALL_BYTES)) ? substr($value, 0, -self::ALL_BYTES) : false;
    }

    public function set(string $key, string $value, mixed $ttl): bool
    {
        if ($ttl !== null) {
            $value .= sprintf('%016x', (int) (microtime(true) * 1_000) + $ttl) . self::MARK;
        } elseif (str_ends_with($value, self::MARK) || ($value === '' && !$this->checks)) {
            // An empty value is stored with a mark, to differ from a file that a failed write left empty.
            $value .= self::NEVER . self::MARK;
        }
        $path = $this->path($key);
        if ($this->depth > 0 && !is_dir(dirname($path))) {
            // Another process may be first.
            @mkdir(dirname($path), 0777, true);
        }
        if (!$this->checks) {
            @file_put_contents($path, $value);
            return true;
        }
        $new = $path . '.' . getmypid() . '.' . $this->written++;
        try {
            file_put_contents($new, $value);
            return rename($new, $path);
        } catch (Failure $failure) {
            @unlink($new);
            throw new Failure($failure->kind, (string) preg_replace('/^\w+\(.*\): /U', '', $failure->getMessage()));
        }
    }

    /** An expired entry counts as absent. A file that exists and cannot be deleted is a failure. */
    public function delete(string $key): ?bool
    {
        $path = $this->path($key);
        $isLive = $this->isLive($path);
        if (@unlink($path)) {
            return $isLive;
        }
        $said = error_get_last()['message'] ?? '';
        return self::isOfNoFile($said) ? false : throw Failure::inWords((string) preg_replace('/^unlink\(.*\): /U', '', $said));
    }

    /** A TTL in milliseconds. */
    public function ttlArgument(int|float|null $seconds): mixed
    {
        return $seconds === null ? null : (int) ceil($seconds * 1_000);
    }

    public function doubts(): bool
    {
        return true;
    }

    /** It drops nothing to make room. */
    public function evictions(\Closure $added): ?int
    {
        return 0;
    }

    /** PHP's message about the file, unless the message is that the file is missing. */
    public function trace(): mixed
    {
        return $this->said === '' || self::isOfNoFile($this->said) ? null : $this->said;
    }

    public function failureOfMiss(mixed $trace): Failure
    {
        return Failure::inWords($trace);
    }

    /** Whether a file is there and has not expired, by its last bytes alone; an unreadable file is there. */
    private function isLive(string $path): bool
    {
        $file = @fopen($path, 'r');
        if ($file === false) {
            return !self::isOfNoFile(error_get_last()['message'] ?? '');
        }
        $isLong = fseek($file, -self::ALL_BYTES, SEEK_END) === 0;
        $last = $isLong ? (string) @fread($file, self::ALL_BYTES) : '';
        fclose($file);
        return !str_ends_with($last, self::MARK) || self::hasTime($last);
    }

    /** Whether a value with these last bytes has not expired. */
    private static function hasTime(string $last): bool
    {
        $ends = substr($last, 0, self::ALL_BYTES - self::MARK_BYTES);
        return $ends === self::NEVER || hexdec($ends) > microtime(true) * 1_000;
    }

    private static function isOfNoFile(string $said): bool
    {
        return str_contains($said, 'No such file or directory');
    }

    private static function empty(string $folder): void
    {
        $files = new \RecursiveDirectoryIterator($folder, \FilesystemIterator::SKIP_DOTS);
        foreach (new \RecursiveIteratorIterator($files, \RecursiveIteratorIterator::CHILD_FIRST) as $path => $file) {
            $file->isDir() && !$file->isLink() ? rmdir($path) : unlink($path);
        }
    }

    private function path(string $key): string
    {
        $name = sha1($key);
        $path = $this->folder . '/';
        for ($level = 0; $level < $this->depth; $level++) {
            $path .= substr($name, 2 * $level, 2) . '/';
        }
        return $path . $name;
    }
}
