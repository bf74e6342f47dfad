"""Counts, latencies and time line of one operation, made from the loop's notes."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from larder_guest.block import DAMAGED, ERROR, FILLED, MISS, OTHER_KEY, PLANNED, RIGHT, STALE, TRUNCATED, UNFILLED, Block
from larder_guest.timeline import Timeline

# The ways in which a value is wrong, as results name them.
_WRONG: Final = {DAMAGED: "damaged", TRUNCATED: "truncated", STALE: "stale", OTHER_KEY: "other_key"}
# The result has at most this many bytes of a wrong value.
_TOLD_BYTES: Final = 65_536


class Tally:
    """The counts of one kind of operation."""

    __slots__ = (
        "_is_read", "_ops", "_outcomes", "_bytes", "_busy_ns", "_latencies", "_kinds", "_examples", "_timeline",
    )  # fmt: skip

    def __init__(self, *, is_read: bool) -> None:
        self._is_read = is_read
        self._ops = 0
        self._outcomes: Counter[int] = Counter()
        self._bytes = 0
        self._busy_ns = 0
        self._latencies: Counter[int] = Counter()
        self._kinds: Counter[str] = Counter()
        self._examples: dict[str, dict[str, Any]] = {}
        self._timeline = Timeline()

    def add_run(self, block: Block, first: int, last: int, then: int) -> None:
        """Adds the operations from `first` to `last` of a block, all of this kind; the first began at `then`."""
        outcomes, wants = block.outcome[first : last + 1], block.want[first : last + 1]
        latencies, timeline = self._latencies, self._timeline
        bin_ops = slowest = moved = 0
        began, bin_end = then, timeline.bin_end(block.end[first])
        for at, outcome, want in zip(block.end[first : last + 1], outcomes, wants):
            took = at - then
            then = at
            if at >= bin_end:
                timeline.add(bin_end - 1, slowest, bin_ops)
                bin_ops = slowest = 0
                bin_end = timeline.bin_end(at)
            bin_ops += 1
            if took > slowest:
                slowest = took
            if outcome == RIGHT or outcome == FILLED:
                moved += len(want)
                latencies[took if took < 1_000 else (took + 5) // 10 * 10 if took < 9_995 else rounded(took)] += 1
            elif outcome == PLANNED:
                latencies[rounded(took)] += 1
        timeline.add(bin_end - 1, slowest, bin_ops)
        if block.bytes_of:
            moved += sum(extra_bytes(block, n) for n in range(first, last + 1))
        self._ops += len(outcomes)
        self._outcomes.update(outcomes)
        self._busy_ns += then - began
        self._bytes += moved

    def add_request(self, block: Block, first: int, last: int, then: int) -> None:
        """Adds a request of many keys."""
        outcomes, at = block.outcome[first : last + 1], block.end[last]
        self._ops += len(outcomes)
        self._outcomes.update(outcomes)
        self._busy_ns += at - then
        self._timeline.add(at, at - then, len(outcomes))
        for n in range(first, last + 1):
            if block.outcome[n] == RIGHT:
                self._bytes += len(block.want[n])
            self._bytes += extra_bytes(block, n)
        if RIGHT in outcomes or PLANNED in outcomes:
            self._latencies[rounded(at - then)] += 1

    def add_wrong(self, block: Block, n: int, outcome: int, got: bytes) -> None:
        """Keeps the first value that is wrong in this way, with the key and the value asked for."""
        if _WRONG[outcome] not in self._examples:
            is_own = block.under_index[n] == block.key_index[n]
            self._examples[_WRONG[outcome]] = {
                "key": block.key_index[n],
                "value": block.value[n] if is_own else 0,
                "length": len(got),
                "begins": got[:_TOLD_BYTES].hex(),
            }

    def error(self, kind: str) -> None:
        """Adds an error, or a failed fill, of this kind."""
        self._kinds[kind] += 1

    def over(self, wall_ns: int) -> dict[str, Any]:
        """The counts for the result of a phase that lasted `wall_ns`."""
        of = self._outcomes
        return {
            "ops": self._ops,
            "hits": of[RIGHT] if self._is_read else 0,
            "misses": of[MISS] + of[FILLED] + of[UNFILLED] + of[PLANNED],
            "planned_misses": of[PLANNED],
            "wrong": sum(of[outcome] for outcome in _WRONG),
            **{name: of[outcome] for outcome, name in _WRONG.items()},
            "wrong_examples": self._examples,
            "errors": of[ERROR],
            "failed_fills": of[UNFILLED],
            "succeeded": of[RIGHT] + of[FILLED] + of[PLANNED],
            "bytes": self._bytes,
            "busy_ns": self._busy_ns,
            "latencies": sorted(self._latencies.items()),
            "errors_by_kind": self._kinds,
            "timeline": self._timeline.over(wall_ns),
        }


def rounded(took: int) -> int:
    """Rounds to three digits: more digits tell nothing, and few different latencies remain."""
    unit = 1
    while took >= 1_000 * unit:
        unit *= 10
    return (took + unit // 2) // unit * unit


def extra_bytes(block: Block, n: int) -> int:
    """The bytes of an operation's value, right or wrong, beyond the expected length of a right value."""
    length = block.bytes_of.get(n)
    if length is None:
        return 0
    return length - (len(block.want[n]) if block.outcome[n] == RIGHT else 0)
