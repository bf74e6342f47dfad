<?php

declare(strict_types=1);

namespace Larder;

use FFI\CData;

/**
 * What this process has opened: the store and the session of the library, and the place into which a session reads.
 *
 * A forked child opens its own at its first call, because the library refuses what the parent has opened. A server that
 * does not answer at first is asked again by each call.
 *
 * @internal
 */
final class Handles
{
    private const MESSAGE_BYTES = 1_024;
    private const FIRST_BYTES = 4_096;
    /** The place does not grow beyond this size. The session lends larger values, and each process has its own place. */
    private const MOST_BYTES = 1 << 20;

    /** The place of a read, which the library fills in; it stays at its address when the store is opened anew. */
    public readonly CData $place;
    /** The room for a value in the place. */
    public CData $buffer;
    /** The reads of the extension, which has the place then; `null` where PHP is without it (ext/larder.c). */
    public readonly ?Reader $reader;
    /**
     * The number of the last call of a session, for all stores, because kept stores of one URL share theirs.
     *
     * A signal handler or a destructor may call in the middle of another call, and the session has its answer from then on.
     * Who reads an answer looks at this number first, and calls again where it has grown. PHP runs handlers behind each call
     * and at each jump, so the copying stands right behind that look.
     */
    public static int $turn = 0;
    private ?CData $store = null;
    /** `null` where the server has not answered yet. */
    private ?CData $session = null;
    private bool $isClosed = false;

    public function __construct(
        public readonly \FFI $library,
        #[\SensitiveParameter] private readonly string $url,
        private readonly bool $isKept,
    ) {
        if (\str_contains($url, "\0")) {
            throw new UsageError('the URL has a NUL character; write it without one', 'invalid_url');
        }
        $this->reader = \class_exists(Reader::class, false) ? new Reader() : null;
        $this->place = $this->reader === null
            ? $library->new('larder_reader')
            : $library->cast('larder_reader *', $this->reader->address())[0];
        $this->makeRoom(self::FIRST_BYTES);
        if (!$isKept) {
            Shutdown::minds($this);
        }
        try {
            $this->open();
        } catch (UnavailableError $error) {
            // A server that is away when a program begins keeps the program from nothing. The first call tells.
            if (!\in_array($error->kind, ['unavailable', 'timeout'], true)) {
                throw $error;
            }
        }
    }

    public function __destruct()
    {
        try {
            $this->close();
        } catch (Error) {
            // A destructor has nobody to tell.
        }
    }

    /**
     * Calls a function of a session, and returns its outcome. An error of the library is an exception. The turn grows by one.
     */
    public function call(string $function, mixed ...$arguments): int
    {
        ++self::$turn;
        $code = $this->library->$function($this->session(), ...$arguments);
        if ($code === Code::E_FORKED) {
            $this->reopen();
            $code = $this->library->$function($this->session(), ...$arguments);
        }
        return $code >= 0 ? $code : throw $this->error($code);
    }

    /**
     * Calls a function of the store, which writes its message to a buffer.
     */
    public function callStore(string $function, mixed ...$arguments): void
    {
        $this->session();
        $message = $this->library->new('char[' . self::MESSAGE_BYTES . ']');
        $code = $this->library->$function($this->store, ...[...$arguments, $message, self::MESSAGE_BYTES]);
        if ($code === Code::E_FORKED) {
            $this->reopen();
            $code = $this->library->$function($this->store, ...[...$arguments, $message, self::MESSAGE_BYTES]);
        }
        self::check($code, $message);
    }

    /**
     * The stored form of a value with its flags, its version, and 1 where it is out of date; `null` where the key is absent.
     * A read that another call has come into is made again.
     *
     * @param ?int $code The outcome of a read with this turn, where the caller has made one
     * @return array{string, int, int, int}|null
     */
    public function read(string $key, int $turn = 0, ?int $code = null): ?array
    {
        [$place, $meta] = [$this->place, $this->place->meta];
        for (;; $code = null) {
            if ($code === null) {
                $turn = ++self::$turn;
                $code = $this->library->larder_read(\FFI::addr($place), $key, \strlen($key));
            }
            if ($code === Code::NOT_FOUND) {
                return null;
            }
            if ($code < 0) {
                if (!$this->isUnopened($code)) {
                    throw $this->error($code);
                }
                $this->reopen();
                continue;
            }
            $length = $place->value_len;
            [$flags, $version, $stale] = [$meta->flags, $meta->version, $meta->stale];
            if ($code === Code::OK) {
                if ($turn === self::$turn) {
                    return [\FFI::string($this->buffer, $length), $flags, $version, $stale];
                }
                continue;
            }
            $lent = $this->library->larder_value($place->session, null);
            if ($turn === self::$turn) {
                $bytes = \FFI::string($lent, $length);
                $this->grow($length);
                return [$bytes, $flags, $version, $stale];
            }
        }
    }

    public function isClosed(): bool
    {
        return $this->isClosed;
    }

    /** Ends the use of the store. What is kept for later requests stays open. */
    public function close(): void
    {
        $this->isClosed = true;
        $this->settle();
    }

    /** Ends in order what is open, with what a stack holds back. Another call would open the store again. */
    public function settle(): void
    {
        ++self::$turn;
        [$store, $session] = [$this->store, $this->session];
        $this->store = $this->session = $this->place->session = null;
        if ($this->isKept || $store === null) {
            return;
        }
        $this->library->larder_session_close($session);
        $message = $this->library->new('char[' . self::MESSAGE_BYTES . ']');
        $code = $this->library->larder_close($store, $message, self::MESSAGE_BYTES);
        if ($code !== Code::E_FORKED) {
            self::check($code, $message);
        }
    }

    /** Makes room for the next value of this length. */
    private function grow(int $length): void
    {
        if ($length > $this->place->capacity && $length <= self::MOST_BYTES) {
            $this->makeRoom(2 ** (int) \ceil(\log($length, 2)));
        }
    }

    /** Opens what a call needs: in the child of a fork, and where the server has not answered yet. */
    private function reopen(): void
    {
        // To close what the parent has opened would end nothing but the handles: the parent goes on with them.
        $this->store = $this->session = $this->place->session = null;
        $this->session();
    }

    /** Whether a call with this code is to be made again, after reopen(). */
    private function isUnopened(int $code): bool
    {
        return $code === Code::E_FORKED || $code === Code::E_ARGUMENT && $this->session === null;
    }

    /** The error of the session's last call. */
    private function error(int $code): Error
    {
        return Error::of($code, $this->library->larder_message($this->session()));
    }

    private function session(): CData
    {
        if ($this->isClosed) {
            throw new UsageError('the store is closed; open it again', 'closed');
        }
        if ($this->session === null) {
            $this->open();
        }
        return $this->session;
    }

    private function open(): void
    {
        $message = $this->library->new('char[' . self::MESSAGE_BYTES . ']');
        $session = $this->library->new('larder_session *');
        $store = $this->store ?? $this->library->new('larder_store *');
        [$toStore, $toSession] = [\FFI::addr($store), \FFI::addr($session)];
        if ($this->isKept) {
            $code = $this->library->larder_open_kept($this->url, $toStore, $toSession, $message, self::MESSAGE_BYTES);
            self::check($code, $message);
            $this->store = $store;
        } else {
            if ($this->store === null) {
                self::check($this->library->larder_open($this->url, $toStore, $message, self::MESSAGE_BYTES), $message);
                $this->store = $store;
            }
            self::check($this->library->larder_session_open($store, $toSession, $message, self::MESSAGE_BYTES), $message);
        }
        $this->session = $this->place->session = $session;
    }

    private function makeRoom(int $bytes): void
    {
        $buffer = $this->library->new("char[$bytes]");
        $address = \FFI::addr($buffer[0]);
        // No call is between these lines, so a signal handler sees either all of the old room or all of the new.
        $this->buffer = $buffer;
        $this->place->value = $address;
        $this->place->capacity = $bytes;
    }

    private static function check(int $code, CData $message): void
    {
        if ($code !== Code::OK) {
            throw Error::of($code, \FFI::string($message));
        }
    }
}
