"""Operations made ready for the loop: a list for each thing that it needs, values that are composed already, places for
what it notes.

This happens while the clock stands still, or, of several processes, before it starts where there are not too many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from larder.failure import Failure
from larder.plan import GET, GET_OR_SET, NOTHING, SET, Plan

# Why an operation is not simply right; nothing is noted for one that is.
RIGHT: Final = 0
MISS: Final = 1
DAMAGED: Final = 2
TRUNCATED: Final = 3
ERROR: Final = 4
FILLED: Final = 5
UNFILLED: Final = 6
STALE: Final = 7
OTHER_KEY: Final = 8
# A miss where nothing may be there, which is right.
PLANNED: Final = 9

# What is expected where no value is right: no value of any plan.
NONE: Final = b"nothing is stored under this key, so no value of it is right"

# What a note tells. Of a miss, what there was to see of each operation; of a refused value, what `set` answered; of a
# failure, the exception; of one that only came to light at the end, the operations that it took with it, too.
MISSED: Final = 0
REFUSED: Final = 1
FAILED: Final = 2
LOST: Final = 3


@dataclass(frozen=True, slots=True)
class Note:
    """What has to be explained of the operations from `first` to `last`."""

    first: int
    last: int
    what: int
    said: Any
    # Of a get whose miss was filled, when the get ended and the fill began.
    between: int | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """Operations that were timed in one go: when they began, and how long the phase had lasted then."""

    first: int
    last: int
    began: int
    elapsed: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is made ready at once at most."""

    operations: int
    value_bytes: int


class Block:
    """So many operations of a plan as are made ready at once."""

    __slots__ = (
        "plan", "multiget", "count", "only_kind", "kind", "key", "key_index", "value", "under", "under_index", "want",
        "end", "outcome", "bytes_of", "errors", "notes", "segments", "wrong", "_nothing", "request_to", "request_keys", "_limits",
        "_meets_newer", "_held", "_composed", "_read", "_stored",
    )  # fmt: skip

    def __init__(self, plan: Plan, limits: Limits, *, multiget: int, meets_newer: bool, held: int) -> None:
        self.plan = plan
        self.multiget = multiget
        self.count = 0
        self._limits = limits
        # Gets may meet newer values than they expect, so what tells those apart is made ready too.
        self._meets_newer = meets_newer and not plan.replays
        self._held = held
        self._forget()

    def fill(self, first: int, count: int) -> int:
        """Makes as many of `count` operations from `first` on ready as fit; returns how many."""
        if self._composed >= self._limits.value_bytes:
            self._forget()
        lists = self.plan.operations(first, min(count, self._limits.operations))
        self.want = self._wanted(*lists[:3])
        self.count = len(self.want)
        for numbers in lists:
            del numbers[self.count :]
        self.kind, self.key_index, self.value, self.under_index = lists
        keys = self.plan.keys
        self.key = [keys[index] for index in self.key_index]
        self.under = [keys[index] for index in self.under_index]
        self.only_kind = self.kind[0] if len(set(self.kind)) == 1 else None
        self._places()
        if self.multiget > 1:
            self._requests()
        return self.count

    def is_value(self, number: int, got: bytes) -> bool:
        """Whether `got` is this value; what it is compared with is kept while there is room, for it will be got again."""
        text = self._read.get(number)
        if text is None:
            if self._composed >= self._limits.value_bytes:
                return got == self.plan.value(number)
            text = self._compose(self._read, number)
        return got == text

    def settle_misses(self) -> None:
        """What missed where nothing may be there has done what it should.

        Asked once it is known which misses were failures.
        """
        for n in self._nothing:
            if self.outcome[n] == MISS:
                self.outcome[n] = PLANNED

    def note_wrong(self, n: int, outcome: int, got: bytes) -> None:
        """Keeps the first value of a kind of operation that is wrong in this way."""
        self.wrong.setdefault((self.kind[n], outcome), (n, got))

    def _wanted(self, kinds: list[int], keys: list[int], values: list[int]) -> list[bytes]:
        """What each operation stores or expects."""
        read, stored, newest, replays = self._read, self._stored, self.plan.newest, self.plan.replays
        want: list[bytes] = []
        # The operations that are right where they find nothing.
        self._nothing: list[int] = []
        for n, kind in enumerate(kinds):
            if kind == SET:
                self._held = number = values[n]
                text = stored.get(number)
                want.append(self._compose(stored, number) if text is None else text)
            elif kind in (GET, GET_OR_SET):
                if replays:
                    if kind == GET_OR_SET and not self._held:
                        self._held = values[n]
                    values[n] = self._held
                number = values[n] or newest[keys[n]]
                if number in (0, NOTHING):
                    want.append(NONE)
                    if number:
                        self._nothing.append(n)
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
        """A value that the next blocks have too while there is room.

        What is read and what is stored are objects of their own, even when they are the same value: a cache in memory hands
        back the very object that it was given, and comparing an object with itself would cost nothing.
        """
        text = texts[number] = self.plan.value(number)
        self._composed += len(text)
        return text

    def _forget(self) -> None:
        self._composed = 0
        self._read: dict[int, bytes] = {}
        self._stored: dict[int, bytes] = {}

    def _places(self) -> None:
        """Room for what the loop notes."""
        self.end = [0] * self.count
        self.outcome = [RIGHT] * self.count
        self.bytes_of: dict[int, int] = {}
        self.errors: dict[int, Failure] = {}
        self.notes: list[Note] = []
        self.segments: list[Segment] = []
        # By kind and outcome, the first operation that was wrong in this way, and what it got.
        self.wrong: dict[tuple[int, int], tuple[int, bytes]] = {}

    def _requests(self) -> None:
        """Gets that follow one another become requests of so many keys: where each ends, and its keys."""
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

