"""A plan in memory: keys, the pool that values are cut from, operations.

Values are composed when a block of operations is made ready, for all values together may be larger than memory.
"""

from __future__ import annotations

import json
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any, Final

GET: Final = 0
SET: Final = 1
GET_OR_SET: Final = 2
DELETE: Final = 3
TOUCH: Final = 4
# The value of a get whose key must be absent; larger than the number of any value.
NOTHING: Final = 0xFFFF_FFFF

# A value begins with a header of this length, which is unique, unless the value is shorter.
HEADER_BYTES: Final = 24

_OPERATION_BYTES: Final = 16
_KEY: Final = Struct("<II")
_VALUE: Final = Struct("<III24s")


@dataclass(frozen=True, slots=True)
class Phase:
    """The work of one phase."""

    shares: list[tuple[int, int]]
    limit_ns: int | None
    multiget: int
    again: bool

    @classmethod
    def of(cls, phase: dict[str, Any]) -> Phase:
        limit_s = phase["time_limit_s"]
        return cls(
            shares=[(first, count) for first, count in phase["shares"]],
            limit_ns=None if limit_s is None else int(limit_s * 1e9),
            multiget=phase["multiget"],
            again=phase["again"] and limit_s is not None,
        )


class Plan:
    """The contents of the files in a plan's folder."""

    __slots__ = (
        "folder", "processes", "ttl_s", "replays", "phases", "keys", "newest", "_pool", "_values", "_operations",
        "_numbers",
    )  # fmt: skip

    def __init__(self, folder: str) -> None:
        path = Path(folder)
        plan = json.loads(path.joinpath("plan.json").read_bytes())
        self.folder = path
        self.processes: int = plan["processes"]
        self.ttl_s: float | None = plan["ttl_s"]
        self.replays: bool = plan["replays"]
        self.phases = [Phase.of(phase) for phase in plan["phases"]]
        self._pool = Path(plan["pool"]).read_bytes()
        self._values = path.joinpath("values.bin").read_bytes()
        self._operations = path.joinpath("ops.bin").read_bytes()
        self._numbers: dict[int, dict[bytes, int]] = {}
        self.keys: list[bytes] = []
        self.newest: list[int] = []
        self._read_keys(path.joinpath("keys.bin").read_bytes())

    def value(self, number: int) -> bytes:
        """A value by its number, in an object of its own."""
        at, length, _, header = _VALUE.unpack_from(self._values, (number - 1) * _VALUE.size)
        if length < HEADER_BYTES:
            return self._pool[at : at + length]
        return header + self._pool[at + HEADER_BYTES : at + length]

    def numbers_of(self, key: int) -> dict[bytes, int]:
        """The numbers of a key's values, by their first bytes, which are unique. Of equal short values: the newest."""
        numbers = self._numbers.get(key)
        if numbers is None:
            numbers = self._numbers[key] = {}
            number = self.newest[key]
            while number:
                at, length, previous, first = _VALUE.unpack_from(self._values, (number - 1) * _VALUE.size)
                if length < HEADER_BYTES:
                    first = self._pool[at : at + length]
                numbers.setdefault(first, number)
                number = previous
        return numbers

    def operations(self, first: int, count: int) -> tuple[list[int], list[int], list[int], list[int]]:
        """Kinds, keys, values and keys to store under of `count` operations from `first` on."""
        numbers = self._numbers_from(first, count)
        return numbers[0::4].tolist(), numbers[1::4].tolist(), numbers[2::4].tolist(), numbers[3::4].tolist()

    def held_before(self, phase: int, process: int) -> int:
        """The number of the value that the null cache holds when a process begins a phase.

        That is the value that was set last, or the fill of the first miss; 0 where the cache is empty.
        """
        held = 0
        for earlier in self.phases[:phase]:
            kinds, _, values, _ = self.operations(*earlier.shares[process])
            for kind, value in zip(kinds, values):
                if kind == SET or kind == GET_OR_SET and not held:
                    held = value
        return held

    def _read_keys(self, text: bytes) -> None:
        at = 0
        while at < len(text):
            newest, length = _KEY.unpack_from(text, at)
            at += _KEY.size
            self.newest.append(newest)
            self.keys.append(text[at : at + length])
            at += length

    def _numbers_from(self, first: int, count: int) -> array[int]:
        numbers = array("I")
        numbers.frombytes(self._operations[first * _OPERATION_BYTES : (first + count) * _OPERATION_BYTES])
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers
