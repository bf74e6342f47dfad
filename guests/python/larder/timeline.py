"""The course of a phase: operations, and the slowest of them, in slots of equal length from its start.

There are at most 32 slots, whose length is a power of two of nanoseconds. After the last slot, neighbours are merged
and the length doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 slots.
"""

from __future__ import annotations

from typing import Any, Final

_SLOTS: Final = 32
_SHORTEST_NS: Final = 1024


class Timeline:
    """The slots of one operation."""

    __slots__ = ("_slot_ns", "_ops", "_max_ns")

    def __init__(self) -> None:
        self._slot_ns = _SHORTEST_NS
        self._ops = [0] * _SLOTS
        self._max_ns = [0] * _SLOTS

    def add(self, at: int, took: int, ops: int = 1) -> None:
        """Adds operations that ended at `at`, counted from the start; the slowest of them took `took`."""
        self._reach(at)
        slot = at // self._slot_ns
        self._ops[slot] += ops
        self._max_ns[slot] = max(self._max_ns[slot], took)

    def slot_end(self, at: int) -> int:
        """The end of the slot that is open at this instant."""
        self._reach(at)
        return (at // self._slot_ns + 1) * self._slot_ns

    def over(self, wall_ns: int) -> dict[str, Any]:
        """The slots of a phase that lasted `wall_ns`, for its result."""
        self._reach(wall_ns)
        slots = wall_ns // self._slot_ns + 1
        return {"slot_ns": self._slot_ns, "ops": self._ops[:slots], "max_ns": self._max_ns[:slots]}

    def _reach(self, at: int) -> None:
        """Doubles the length of the slots until one of them contains this instant."""
        while at >= _SLOTS * self._slot_ns:
            rest = [0] * (_SLOTS // 2)
            self._ops = [sum(pair) for pair in zip(self._ops[::2], self._ops[1::2])] + rest
            self._max_ns = [max(pair) for pair in zip(self._max_ns[::2], self._max_ns[1::2])] + rest
            self._slot_ns *= 2
