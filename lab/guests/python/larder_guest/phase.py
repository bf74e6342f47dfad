"""One process's share of a phase: blocks are made ready, worked through, sent to Larder.

A process alone stops its clock while it prepares and sends. Each of several processes keeps its clock running, because
the other processes have the cache to themselves meanwhile. So each of them prepares and sends as much at once as memory
allows, mostly everything.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Final

from larder_guest.block import Block, Limits
from larder_guest.cache import Cache
from larder_guest.failures import Failures
from larder_guest.loop import Loop
from larder_guest.plan import Plan
from larder_guest.records import Records
from larder_guest.usage import Usage, rss_bytes

# The limits of a block. For a process alone: as much as stays in a processor's cache.
_ALONE: Final = Limits(operations=4_096, value_bytes=4 << 20)
_SEVERAL: Final = Limits(operations=262_144, value_bytes=64 << 20)
# The longest segment of the loop; between segments the guest reports its progress.
_SEGMENT_NS: Final = 250_000_000


class Phase:
    """The share of process `process` of phase `number`, both counted from 0."""

    __slots__ = (
        "_cache", "_alone", "_again", "_limit_ns", "_first", "_operations", "_block", "_loop", "_failures", "_usage",
        "_records", "_filled", "_start", "_timed", "_done",
    )  # fmt: skip

    def __init__(self, plan: Plan, cache: Cache, number: int, process: int = 0) -> None:
        asked = plan.phases[number]
        self._cache = cache
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
        self._loop = Loop(cache, self._block, cache.ttl_argument(plan.ttl_s))
        self._failures = Failures(cache, self._block)
        self._usage = Usage()
        self._start: int | None = None
        self._timed = 0
        self._done = 0
        self._filled = self._block.fill(self._first, self._operations)
        self._records = Records(plan.folder, process)

    def run(self, tell: Callable[[int], None]) -> None:
        """Does the share and sends its records.

        Several times a second it calls `tell` with the number of operations done so far.
        """
        with closing(self._records):
            self._cache.connections()
            if not self._alone:
                self._usage.start()
            self._work_through_share(tell)
            if not self._alone:
                self._usage.stop()
            user_ns, system_ns = self._usage.cpu_ns()
            end = {
                "cpu_user_ns": user_ns,
                "cpu_system_ns": system_ns,
                "rss_bytes": rss_bytes(),
                "connections": self._cache.connections(),
                "tiers": [],
            }
            self._records.send_end(end)

    def _work_through_share(self, tell: Callable[[int], None]) -> None:
        position = 0
        while self._filled:
            self._records.await_count()
            done = self._work_through_block(tell)
            self._records.send_block(self._block, done)
            self._failures.next_block()
            if self._is_over():
                break
            position += self._filled
            if self._again and position == self._operations:
                position = 0
            self._filled = self._block.fill(self._first + position, self._operations - position)

    def _is_over(self) -> bool:
        return self._limit_ns is not None and self._timed >= self._limit_ns

    def _work_through_block(self, tell: Callable[[int], None]) -> int:
        """Returns the number of operations of the block that are done."""
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
            block.segments.append((at, began))
            elapsed = self._timed if self._alone else began - self._start
            self._timed = elapsed + block.end[done - 1] - began
            self._done += done - at
            self._failures.settle(at, began)
            at = done
            tell(self._done)
        return at
