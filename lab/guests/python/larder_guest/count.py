"""Adds the loop's notes on a finished block to the tally of each operation."""

from __future__ import annotations

from typing import Any

from larder_guest.block import Block, Segment
from larder_guest.plan import DELETE, GET, GET_OR_SET, SET, TOUCH
from larder_guest.tally import Tally


class Count:
    """The tallies of a phase."""

    __slots__ = ("first_error", "_tallies", "_tally_of")

    def __init__(self, operations: list[str], multiget: int) -> None:
        self.first_error: str | None = None
        get = "get_many" if multiget > 1 else "get"
        self._tallies = {name: Tally(is_read=name.startswith("get")) for name in operations}
        names = {GET: get, SET: "set", GET_OR_SET: "get_or_set", DELETE: "delete", TOUCH: "touch"}
        self._tally_of = {kind: self._tallies[name] for kind, name in names.items() if name in self._tallies}

    def add(self, block: Block) -> None:
        """Adds the loop's notes on a block."""
        for n in sorted(block.errors):
            if self.first_error is None:
                self.first_error = block.errors[n].text
            self._tally_of[block.kind[n]].error(block.errors[n].kind)
        block.settle_misses()
        for (kind, outcome), (n, got) in block.wrong.items():
            self._tally_of[kind].add_wrong(block, n, outcome, got)
        for segment in block.segments:
            self._add_segment(block, segment)

    def over(self, wall_ns: int) -> dict[str, Any]:
        """The counts of each operation, for the result of the phase."""
        return {name: tally.over(wall_ns) for name, tally in self._tallies.items()}

    def _add_segment(self, block: Block, segment: Segment) -> None:
        # On the time axis of the phase, the durations of all operations add up to the duration of the phase.
        origin = segment.began - segment.elapsed
        first, last = segment.first, segment.last
        block.end[first : last + 1] = [end - origin for end in block.end[first : last + 1]]
        then = segment.elapsed
        while first <= last:
            kind = block.kind[first]
            tally = self._tally_of[kind]
            if kind == GET and block.multiget > 1:
                to = block.request_to[first]
                tally.add_request(block, first, to, then)
            else:
                to = last if block.only_kind is not None else _last_of_kind(block, first, last)
                tally.add_run(block, first, to, then)
            then = block.end[to]
            first = to + 1


def _last_of_kind(block: Block, first: int, last: int) -> int:
    """The last of the operations from `first` on that are of its kind."""
    kind = block.kind[first]
    while first < last and block.kind[first + 1] == kind:
        first += 1
    return first
