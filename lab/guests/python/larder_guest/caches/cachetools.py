"""cachetools, bounded by the bytes of its entries, in the memory of this process.

A plan with TTLs has the package's `TLRUCache`, which is an LRU with an expiry time for each entry. A plan without TTLs
has the class of the chosen policy, as a program without TTLs would.
"""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any, Final

import cachetools

from larder_guest.cache import Cache
from larder_guest.failure import Failure

# The size of an entry besides its value: its key and the bookkeeping, as Python counted them over 200,000 entries. The
# package hands over the value alone when it asks for a size.
_OVERHEAD: Final = 300

_CLASSES: Final = {
    "lru": cachetools.LRUCache,
    "lfu": cachetools.LFUCache,
    "fifo": cachetools.FIFOCache,
    "rr": cachetools.RRCache,
}


def _size(value: bytes) -> int:
    return len(value) + _OVERHEAD


def _counting(kind: type[Any]) -> type[Any]:
    """The same cache, which counts the entries that it drops to make room."""

    class Counting(kind):
        dropped = 0

        def popitem(self) -> Any:
            self.dropped += 1
            return super().popitem()

    return Counting


class CacheTools(Cache):
    """The package's own `get`, and a set that names the TTL."""

    title = f"cachetools {version('cachetools')}"

    def __init__(self, order: dict[str, Any]) -> None:
        options = order["options"] or {}
        self._max_bytes: int = options["size"]
        self._policy: str = options["policy"]
        # Without a plan, an LRU has TTLs.
        self._open(self._policy == "lru")

    def _open(self, has_ttl: bool) -> None:
        self._has_ttl = has_ttl
        self._ttl = math.inf
        if has_ttl:
            kind = _counting(cachetools.TLRUCache)
            self._cache = kind(self._max_bytes, lambda key, value, now: now + self._ttl, getsizeof=_size)
        else:
            self._cache = _counting(_CLASSES[self._policy])(self._max_bytes, getsizeof=_size)
        self.get = self._cache.get

    def expect(self, has_ttl: bool) -> None:
        has_ttl = has_ttl and self._policy == "lru"
        if has_ttl != self._has_ttl and not self._cache:
            self._open(has_ttl)

    def settings(self) -> dict[str, str]:
        own_ttl = "each entry its own; none where the workload has no TTL"
        return {
            "entry_overhead": str(_OVERHEAD),
            "eviction": self._policy.upper(),
            "expiry": own_ttl if self._policy == "lru" else "none",
            "largest_bytes": str(self._max_bytes - _OVERHEAD),
            "maxsize": f"{self._max_bytes} bytes",
        }

    def set(self, key: bytes, value: bytes, ttl: float | None) -> bool:
        if ttl is None:
            self._ttl = math.inf
        elif self._has_ttl:
            self._ttl = ttl
        else:
            raise Failure("other", f"cachetools has no TTL with policy={self._policy}; write policy=lru")
        try:
            self._cache[key] = value
        except ValueError as error:
            self._cache.pop(key, None)
            raise Failure("too_large", f"a value of {len(value)} bytes, and the cache takes {self._max_bytes}") from error
        return True

    def delete(self, key: bytes) -> bool:
        return self._cache.pop(key, None) is not None

    def touch(self, key: bytes, ttl: float | None) -> bool:
        """Stores the value again, for the package renews no expiry time."""
        value = self._cache.get(key)
        return value is not None and self.set(key, value, ttl)

    def evictions(self) -> int:
        return self._cache.dropped


def open_cache(order: dict[str, Any]) -> Cache:
    return CacheTools(order)
