"""`functools.lru_cache`, the memory of a function: an exact LRU, bounded by the number of its entries.

A function with this decorator is called with a key, and remembers its result; there is no other operation. So a get calls
the function, and a miss is a call that would have to compute: the function raises then, and nothing is remembered. A set
calls it with the value at hand, as the call after a miss would compute it. The result is a list of one value, so that a
set can replace the value of an entry. A delete leaves the entry in its place without a value.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from platform import python_version
from typing import Any

from larder_guest.cache import Cache


class _Absent(Exception):
    """There is no entry, and no value to make one of."""


class LruCache(Cache):
    """One remembering function."""

    title = f"functools.lru_cache {python_version()}"

    def __init__(self, order: dict[str, Any]) -> None:
        options = order["options"] or {}
        self._entry_bytes: int = options.get("entry") or order["largest_bytes"] or 1
        self._maxsize = _maxsize(options, order["room_bytes"], self._entry_bytes)
        self._value: bytes | None = None
        self._computed = 0
        self._load = lru_cache(maxsize=sys.maxsize if self._maxsize is None else self._maxsize)(self._compute)

    def _compute(self, key: bytes) -> list[bytes | None]:
        if self._value is None:
            raise _Absent
        self._computed += 1
        return [self._value]

    def settings(self) -> dict[str, str]:
        return {
            "entry_bytes": str(self._entry_bytes),
            "eviction": "LRU",
            "expiry": "none",
            "maxsize": "room for everything" if self._maxsize is None else str(self._maxsize),
        }

    def get(self, key: bytes) -> bytes | None:
        try:
            return self._load(key)[0]
        except _Absent:
            return None

    def set(self, key: bytes, value: bytes, ttl: float | None) -> bool:
        self._value = value
        try:
            self._load(key)[0] = value
        finally:
            self._value = None
        return True

    def delete(self, key: bytes) -> bool:
        try:
            entry = self._load(key)
        except _Absent:
            return False
        found = entry[0] is not None
        entry[0] = None
        return found

    def evictions(self) -> int:
        return self._computed - self._load.cache_info().currsize


def _maxsize(options: dict[str, Any], room_bytes: int | None, entry_bytes: int) -> int | None:
    """The number of entries: the given one, or as many as fit into the given bytes. `None` where a plan asks for room for
    everything, because its entries may be smaller than the largest.
    """
    if options.get("maxsize") is not None:
        return options["maxsize"]
    size = options.get("size")
    if size is None or (room_bytes is not None and size >= room_bytes):
        return None
    return max(1, size // entry_bytes)


def open_cache(order: dict[str, Any]) -> Cache:
    return LruCache(order)
