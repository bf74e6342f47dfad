"""Operations made ready for the loop: a list for each field, composed values, and places for the loop's notes.

A process alone makes them ready while its clock stands still. Each of several processes does so before its clock
starts, unless there are too many operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from larder_guest.failure import Failure
from larder_guest.plan import GET, GET_OR_SET, HEADER_BYTES, NOTHING, SET, Plan

# The outcomes of an operation; the loop notes an outcome only where it is not `RIGHT`.
RIGHT: Final = 0
MISS: Final = 1
ERROR: Final = 2
FILLED: Final = 3
UNFILLED: Final = 4
# Another value than the expected one.
OTHER: Final = 5

# The bytes of unknown values that a block keeps whole. Of the values after these it keeps the beginning.
_UNKNOWN_BYTES: Final = 16 << 20
_BEGINNING: Final = 64

# The expectation of a get where no value is right: bytes that are no value of any plan.
NONE: Final = b"nothing is stored under this key, so no value of it is right"

# The kinds of notes. The detail of a miss is the trace of each operation, of a refused value the answer of `set`, of a
# failure the exception. A failure that showed only at the end also has the operations that it took with it.
MISSED: Final = 0
REFUSED: Final = 1
FAILED: Final = 2
LOST: Final = 3


@dataclass(frozen=True, slots=True)
class Note:
    """A note on the operations from `first` to `last`, to be explained later."""

    first: int
    last: int
    what: int
    said: Any
    # For a miss that was filled, the time at which the get ended and the fill began.
    between: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a block."""

    operations: int
    value_bytes: int


class Block:
    """The operations of a plan that are made ready at once."""

    __slots__ = (
        "plan", "multiget", "count", "only_kind", "kind", "key", "under", "want", "end", "outcome", "known", "unknown",
        "errors", "notes", "segments", "request_to", "request_keys", "_key_index", "_limits", "_meets_newer", "_held",
        "_composed", "_read", "_stored", "_unknown_bytes",
    )  # fmt: skip

    def __init__(self, plan: Plan, limits: Limits, *, multiget: int, meets_newer: bool, held: int) -> None:
        self.plan = plan
        self.multiget = multiget
        self.count = 0
        self._limits = limits
        # Gets may meet newer values than they expect, so the numbers of their keys' values are made ready too.
        self._meets_newer = meets_newer and not plan.replays
        self._held = held
        self._forget()

    def fill(self, first: int, count: int) -> int:
        """Makes ready as many of the `count` operations from `first` on as fit, and returns their number."""
        if self._composed >= self._limits.value_bytes:
            self._forget()
        kinds, keys, values, unders = self.plan.operations(first, min(count, self._limits.operations))
        self.want = self._wanted(kinds, keys, values)
        self.count = len(self.want)
        self.kind, self._key_index = kinds[: self.count], keys[: self.count]
        names = self.plan.keys
        self.key = [names[index] for index in self._key_index]
        self.under = [names[index] for index in unders[: self.count]]
        self.only_kind = self.kind[0] if len(set(self.kind)) == 1 else None
        self._places()
        if self.multiget > 1:
            self._requests()
        return self.count

    def note_other(self, n: int, got: bytes) -> None:
        """Notes that operation `n` got `got` in place of the expected value.

        A hot key has thousands of values, and the clock runs. So the first bytes of `got` give the number of the one
        value to compare it with.
        """
        self.outcome[n] = OTHER
        # The null cache is right only with the value that was set last.
        numbers = {} if self.plan.replays else self.plan.numbers_of(self._key_index[n])
        number = numbers.get(got[:HEADER_BYTES])
        if number is not None and self._is_value(number, got):
            self.known[n] = number
            return
        self._unknown_bytes += len(got)
        self.unknown[n] = (len(got), got if self._unknown_bytes <= _UNKNOWN_BYTES else got[:_BEGINNING])

    def _is_value(self, number: int, got: bytes) -> bool:
        """Whether `got` is this value. The composed value is kept for later gets, while there is room."""
        text = self._read.get(number)
        if text is None:
            if self._composed >= self._limits.value_bytes:
                return got == self.plan.value(number)
            text = self._compose(self._read, number)
        return got == text

    def _wanted(self, kinds: list[int], keys: list[int], values: list[int]) -> list[bytes]:
        """The value that each operation stores or expects."""
        read, stored, newest, replays = self._read, self._stored, self.plan.newest, self.plan.replays
        want: list[bytes] = []
        for n, kind in enumerate(kinds):
            if kind == SET:
                self._held = number = values[n]
                text = stored.get(number)
                want.append(self._compose(stored, number) if text is None else text)
            elif kind in (GET, GET_OR_SET):
                if replays:
                    if kind == GET_OR_SET and not self._held:
                        self._held = values[n]
                    number = self._held
                else:
                    number = values[n] or newest[keys[n]]
                if number in (0, NOTHING):
                    want.append(NONE)
                else:
                    text = read.get(number)
                    want.append(self._compose(read, number) if text is None else text)
                if self._meets_newer:
                    self.plan.numbers_of(keys[n])
            else:
                want.append(b"")
            if self._composed >= self._limits.value_bytes:
                break
        return want

    def _compose(self, texts: dict[int, bytes], number: int) -> bytes:
        """A value, which later blocks share while there is room.

        Gets and sets have separate objects, even of the same value. A cache in memory returns the very object that it
        was given, and comparing an object with itself would cost nothing.
        """
        text = texts[number] = self.plan.value(number)
        self._composed += len(text)
        return text

    def _forget(self) -> None:
        self._composed = 0
        self._read: dict[int, bytes] = {}
        self._stored: dict[int, bytes] = {}

    def _places(self) -> None:
        """Makes room for the loop's notes."""
        self.end = [0] * self.count
        self.outcome = [RIGHT] * self.count
        # Of operations that got another value of their key, its number.
        self.known: dict[int, int] = {}
        # Of operations that got a value that is none of their key, its length and its bytes.
        self.unknown: dict[int, tuple[int, bytes]] = {}
        self._unknown_bytes = 0
        self.errors: dict[int, Failure] = {}
        self.notes: list[Note] = []
        # The first operation of each segment, and when that began.
        self.segments: list[tuple[int, int]] = []

    def _requests(self) -> None:
        """Joins successive gets into requests of up to `multiget` keys: the end of each request, and its keys."""
        kind, count, multiget = self.kind, self.count, self.multiget
        self.request_to = [0] * count
        self.request_keys: list[list[bytes]] = [[]] * count
        first = 0
        while first < count:
            last = first
            if kind[first] == GET:
                while last - first + 1 < multiget and last + 1 < count and kind[last + 1] == GET:
                    last += 1
            self.request_to[first] = last
            self.request_keys[first] = self.key[first : last + 1]
            first = last + 1
