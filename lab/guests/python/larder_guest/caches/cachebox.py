"""cachebox, a cache in Rust, bounded by the bytes of its entries, in the memory of this process.

A plan with TTLs has the package's `VTTLCache`, which drops the entry that expires first. A plan without TTLs has the
class of the chosen policy, as a program without TTLs would.
"""

from __future__ import annotations

from typing import Any, Final

import cachebox

from larder_guest.cache import Cache
from larder_guest.failure import Failure

# The size of an entry besides its key and value, as the process grew over 300,000 entries: 170 bytes, and 190 with an
# expiry time.
_OVERHEAD: Final = 180

_CLASSES: Final = {
    "lru": cachebox.LRUCache,
    "lfu": cachebox.LFUCache,
    "fifo": cachebox.FIFOCache,
    "rr": cachebox.RRCache,
}


def _size(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + _OVERHEAD


class CacheBox(Cache):
    """The package's own `get`, and a set that counts new entries, because the package counts no dropped ones."""

    title = f"cachebox {cachebox.__version__}"

    def __init__(self, order: dict[str, Any]) -> None:
        options = order["options"] or {}
        self._max_bytes: int = options["size"]
        self._policy: str | None = options["policy"]
        # Without a plan, and without a chosen policy, entries have TTLs.
        self._open(self._policy is None)

    def _open(self, has_ttl: bool) -> None:
        self._has_ttl = has_ttl
        self._added = self._removed = 0
        kind = cachebox.VTTLCache if has_ttl else _CLASSES[self._policy or "lru"]
        self._cache = kind(self._max_bytes, getsizeof=_size)
        self._insert, self.get = self._cache.insert, self._cache.get

    def expect(self, has_ttl: bool) -> None:
        has_ttl = has_ttl and self._policy is None
        if has_ttl != self._has_ttl and not len(self._cache):
            self._open(has_ttl)

    def settings(self) -> dict[str, str]:
        chosen = self._policy is not None
        return {
            "entry_overhead": str(_OVERHEAD),
            "eviction": self._policy.upper() if self._policy else "LRU; with TTLs, the entry that expires first",
            "expiry": "none" if chosen else "each entry its own; none where the workload has no TTL",
            "largest_bytes": str(self._max_bytes - _OVERHEAD),
            "maxsize": f"{self._max_bytes} bytes",
        }

    def set(self, key: bytes, value: bytes, ttl: float | None) -> bool:
        try:
            if self._has_ttl:
                self._insert(key, value, ttl)
            elif ttl is not None:
                raise Failure("other", f"cachebox has no TTL with policy={self._policy}; leave out one of them")
            elif self._insert(key, value) is None:
                self._added += 1
        except OverflowError as error:
            self.delete(key)
            size = len(key) + len(value)
            raise Failure("too_large", f"key and value have {size} bytes, and the cache takes {self._max_bytes}") from error
        return True

    def delete(self, key: bytes) -> bool:
        found = self._cache.pop(key, None) is not None
        self._removed += found
        return found

    def touch(self, key: bytes, ttl: float | None) -> bool:
        """Stores the value again, for the package renews no expiry time."""
        value = self._cache.get(key)
        return value is not None and self.set(key, value, ttl)

    def evictions(self) -> int | None:
        """Entries that were added and are gone without a delete. With TTLs they may also have expired."""
        return None if self._has_ttl else self._added - self._removed - len(self._cache)


def open_cache(order: dict[str, Any]) -> Cache:
    return CacheBox(order)
