"""A plain dict: the cache that most programs begin with.

It keeps the very objects that it is given, in the memory of this process. Each entry has its expiry time, by the
monotonic clock; an expired entry is removed when its key is asked for. Nothing bounds the cache.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from larder_guest.cache import Cache


class Dict(Cache):
    """A value and its expiry time, by key."""

    __slots__ = ("_entries",)

    title = "dict"

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[bytes, float | None]] = {}

    def get(self, key: bytes) -> bytes | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, end = entry
        if end is not None and monotonic() >= end:
            del self._entries[key]
            return None
        return value

    def set(self, key: bytes, value: bytes, ttl: float | None) -> bool:
        self._entries[key] = (value, None if ttl is None else monotonic() + ttl)
        return True

    def delete(self, key: bytes) -> bool:
        entry = self._entries.pop(key, None)
        return entry is not None and (entry[1] is None or monotonic() < entry[1])

    def touch(self, key: bytes, ttl: float | None) -> bool:
        value = self.get(key)
        if value is None:
            return False
        return self.set(key, value, ttl)

    def evictions(self) -> int:
        return 0


def open_cache(order: dict[str, Any]) -> Cache:
    return Dict()
