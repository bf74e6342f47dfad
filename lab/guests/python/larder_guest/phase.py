"""One process's share of a phase: blocks are made ready, worked through, counted.

A process alone stops its clock while it prepares and counts. Each of several processes keeps its clock running, because
the other processes have the cache to themselves meanwhile. So each of them prepares and counts as much at once as
memory allows, mostly everything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from larder_guest.block import Block, Limits, Segment
from larder_guest.cache import Cache
from larder_guest.count import Count
from larder_guest.failures import Failures
from larder_guest.judge import Judge
from larder_guest.loop import Loop
from larder_guest.plan import Plan
from larder_guest.usage import Usage, rss_bytes

# The limits of a block. For a process alone: as much as stays in a processor's cache.
_ALONE: Final = Limits(operations=4_096, value_bytes=4 << 20)
_SEVERAL: Final = Limits(operations=262_144, value_bytes=64 << 20)
# The longest segment of the loop; between segments the guest reports its progress.
_SEGMENT_NS: Final = 250_000_000


class Phase:
    """The share of process `process` of phase `number`, both counted from 0."""

    __slots__ = (
        "_plan", "_cache", "_number", "_process", "_alone", "_again", "_limit_ns", "_first", "_operations", "_block",
        "_loop", "_failures", "_count", "_usage", "_filled", "_start", "_timed", "_done",
    )  # fmt: skip

    def __init__(self, plan: Plan, cache: Cache, judge: Judge, number: int, process: int = 0) -> None:
        asked = plan.phases[number]
        self._plan = plan
        self._cache = cache
        self._number = number
        self._process = process
        self._alone = plan.processes == 1
        self._again = asked.again
        self._limit_ns = asked.limit_ns
        self._first, self._operations = asked.shares[process]
        held = plan.held_before(number, process) if plan.replays else 0
        if held:
            cache.set(b"held", plan.value(held), None)
        self._block = Block(
            plan,
            _ALONE if self._alone else _SEVERAL,
            multiget=asked.multiget,
            meets_newer=not self._alone or asked.again,
            held=held,
        )
        self._loop = Loop(cache, self._block, judge, cache.ttl_argument(plan.ttl_s))
        self._failures = Failures(cache, judge, self._block)
        self._count = Count(asked.operations, asked.multiget)
        self._usage = Usage()
        self._start: int | None = None
        self._timed = 0
        self._done = 0
        self._filled = self._block.fill(self._first, self._operations)

    def run(self, tell: Callable[[int], None]) -> None:
        """Does the share, and calls `tell` with the number of operations done so far several times a second."""
        self._cache.connections()
        if not self._alone:
            self._usage.start()
        position = 0
        while self._filled:
            self._work_through_block(tell)
            self._count.add(self._block)
            self._failures.next_block()
            if self._is_over():
                break
            position += self._filled
            if self._again and position == self._operations:
                position = 0
            self._filled = self._block.fill(self._first + position, self._operations - position)
        if not self._alone:
            self._usage.stop()

    def write_result(self, folder: Path) -> None:
        """Writes the result to a file, which gets its name when it is complete."""
        user_ns, system_ns = self._usage.cpu_ns()
        result = {
            "start_ns": self._start or 0,
            "wall_ns": self._timed,
            "cpu_user_ns": user_ns,
            "cpu_system_ns": system_ns,
            "rss_bytes": rss_bytes(),
            "connections": self._cache.connections(),
            "failed": self._failures.not_stored,
            "first_error": self._count.first_error,
            "tiers": [],
            "operations": self._count.over(self._timed),
        }
        path = folder / f"ran-{self._number}-{self._process}.json"
        part = path.with_suffix(".json.part")
        part.write_text(json.dumps(result))
        os.rename(part, path)

    def _is_over(self) -> bool:
        return self._limit_ns is not None and self._timed >= self._limit_ns

    def _work_through_block(self, tell: Callable[[int], None]) -> None:
        block, usage, at = self._block, self._usage, 0
        while at < block.count and not self._is_over():
            left = _SEGMENT_NS if self._limit_ns is None else min(_SEGMENT_NS, self._limit_ns - self._timed)
            if self._alone:
                usage.start()
            began, done = self._loop.run(at, left)
            if self._alone:
                usage.stop()
            if self._start is None:
                self._start = began
            elapsed = self._timed if self._alone else began - self._start
            block.segments.append(Segment(at, done - 1, began, elapsed))
            self._timed = elapsed + block.end[done - 1] - began
            self._done += done - at
            self._failures.settle(at, began)
            at = done
            tell(self._done)
