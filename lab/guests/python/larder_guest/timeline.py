"""The course of a phase: operations, and the slowest of them, in bins of equal length from its start.

There are at most 32 bins, whose length is a power of two of nanoseconds. After the last bin, neighbours are merged
and the length doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 bins.
"""

from __future__ import annotations

from typing import Any, Final

_BINS: Final = 32
_SHORTEST_NS: Final = 1024


class Timeline:
    """The bins of one operation."""

    __slots__ = ("_bin_ns", "_ops", "_max_ns")

    def __init__(self) -> None:
        self._bin_ns = _SHORTEST_NS
        self._ops = [0] * _BINS
        self._max_ns = [0] * _BINS

    def add(self, at: int, took: int, ops: int = 1) -> None:
        """Adds operations that ended at `at`, counted from the start; the slowest of them took `took`."""
        self._reach(at)
        bin = at // self._bin_ns
        self._ops[bin] += ops
        self._max_ns[bin] = max(self._max_ns[bin], took)

    def bin_end(self, at: int) -> int:
        """The end of the bin that is open at this instant."""
        self._reach(at)
        return (at // self._bin_ns + 1) * self._bin_ns

    def over(self, wall_ns: int) -> dict[str, Any]:
        """The bins of a phase that lasted `wall_ns`, for its result."""
        self._reach(wall_ns)
        bins = wall_ns // self._bin_ns + 1
        return {"bin_ns": self._bin_ns, "ops": self._ops[:bins], "max_ns": self._max_ns[:bins]}

    def _reach(self, at: int) -> None:
        """Doubles the length of the bins until one of them contains this instant."""
        while at >= _BINS * self._bin_ns:
            rest = [0] * (_BINS // 2)
            self._ops = [sum(pair) for pair in zip(self._ops[::2], self._ops[1::2])] + rest
            self._max_ns = [max(pair) for pair in zip(self._max_ns[::2], self._max_ns[1::2])] + rest
            self._bin_ns *= 2
