"""Explains the failures that the loop noted, in their order, once a segment of the loop is over.

Where everything fails, the phase is given up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from larder_guest.block import ERROR, FILLED, LOST, MISS, MISSED, REFUSED, UNFILLED, Block, Note
from larder_guest.cache import Cache
from larder_guest.failure import Failure
from larder_guest.plan import GET_OR_SET

# The phase is given up after this many failures in a row, or this time of them: the rest would only repeat them.
_FAILURES_IN_A_ROW: Final = 100
_FAILING_NS: Final = 5_000_000_000


class Failures:
    """The failures of one process in one phase."""

    __slots__ = ("_cache", "_block", "_base", "_in_a_row", "_last", "_since")

    def __init__(self, cache: Cache, block: Block) -> None:
        self._cache = cache
        self._block = block
        self._base = 0
        self._in_a_row = 0
        self._last = -1
        self._since = 0

    def next_block(self) -> None:
        """Goes on to the next filling of the block, whose operations follow the present ones."""
        self._base += self._block.count

    def settle(self, first: int, began: int) -> None:
        """Explains the notes made since operation `first` of the block began."""
        block = self._block
        notes, block.notes = block.notes, []
        for note in notes:
            then = block.end[note.first - 1] if note.first > first else began
            operations: Iterable[int] = range(note.first, note.last + 1)
            if note.what == MISSED:
                self._misses(note, (note.between or block.end[note.last]) - then)
                continue
            if note.what == REFUSED:
                failure = self._refusal(note, note.between or then)
            elif note.what == LOST:
                error, operations = note.said
                failure = Failure.of(error)
            else:
                failure = Failure.of(note.said)
            for n in operations:
                block.errors.setdefault(n, failure)
            self._count(note, failure)

    def _misses(self, note: Note, took_ns: int) -> None:
        """Explains the misses of a request, some of which were failures."""
        outcome, last = self._block.outcome, None
        for n, trace in note.said.items():
            failure = None if trace is None else self._cache.failure_of_miss(trace, took_ns)
            if failure is not None and outcome[n] in (MISS, FILLED, UNFILLED):
                outcome[n] = ERROR
                self._block.errors[n] = last = failure
        if last is not None:
            self._count(note, last)

    def _refusal(self, note: Note, then: int) -> Failure:
        block, n = self._block, note.first
        key = block.under[n] if block.kind[n] == GET_OR_SET else block.key[n]
        return self._cache.refusal(key, block.want[n], note.said, block.end[n] - then)

    def _count(self, note: Note, failure: Failure) -> None:
        """Gives up after too many failures in a row. A request with any key that was found or missed is no failure."""
        block = self._block
        position = self._base + note.first
        # The get of this operation has failed already, so its failed fill is no second failure.
        if position <= self._last:
            return
        is_next = position == self._last + 1
        if any(outcome not in (ERROR, UNFILLED) for outcome in block.outcome[note.first : note.last + 1]):
            self._in_a_row = 0
            return
        if not is_next or not self._in_a_row:
            self._in_a_row = 0
            self._since = block.end[note.last]
        self._last = self._base + note.last
        self._in_a_row += 1
        if self._in_a_row < 2:
            return
        if self._in_a_row >= _FAILURES_IN_A_ROW or block.end[note.last] - self._since >= _FAILING_NS:
            raise Failure(failure.kind, f"gave up after {self._in_a_row} failures in a row: {failure}")
