"""diskcache: SQLite in a folder, with large values in files beside it; with `shards`, several of these folders.

One folder is the package's `Cache`, several are its `FanoutCache`.
"""

from __future__ import annotations

from typing import Any, Final

import diskcache

from larder_guest.cache import Cache, given

_SETTINGS: Final = (
    "size_limit", "eviction_policy", "cull_limit", "statistics", "tag_index", "disk_min_file_size", "sqlite_synchronous",
)  # fmt: skip
# The default of the client.
_SIZE_LIMIT_BYTES: Final = 1 << 30


class _Fanout(diskcache.FanoutCache):
    """Calls the folder of a key as `FanoutCache` does, and lets a time-out through.

    Its own methods catch a time-out, and report a miss or a value that was not stored.
    """

    def get(self, key: bytes) -> bytes | None:
        return self._shards[self._hash(key) % self._count].get(key)

    def set(self, key: bytes, value: bytes, expire: float | None) -> bool:
        return self._shards[self._hash(key) % self._count].set(key, value, expire)

    def delete(self, key: bytes) -> bool:
        return self._shards[self._hash(key) % self._count].delete(key)

    def touch(self, key: bytes, expire: float | None) -> bool:
        return self._shards[self._hash(key) % self._count].touch(key, expire)


class DiskCache(Cache):
    """The client's own `get`, `set` and the like, on one folder or on several."""

    title = f"diskcache {diskcache.__version__}"

    def __init__(self, order: dict[str, Any]) -> None:
        options = given(order, "timeout", *_SETTINGS)
        # The client's settings are rows of a table, in which a switch is a number.
        options = {name: int(value) if isinstance(value, bool) else value for name, value in options.items()}
        self._shards: int = (order["options"] or {}).get("shards") or 1
        # Pages and indexes need room too, and a cache that should hold everything must not cull.
        options.setdefault("size_limit", max(_SIZE_LIMIT_BYTES, 2 * (order["room_bytes"] or 0)))
        if self._shards > 1:
            self._client = _Fanout(order["folder"], shards=self._shards, **options)
        else:
            self._client = diskcache.Cache(order["folder"], **options)
        if order["fresh"]:
            self._client.clear()
        self.get, self.set = self._client.get, self._client.set
        self.delete, self.touch = self._client.delete, self._client.touch

    def settings(self) -> dict[str, str]:
        settings = {name: str(getattr(self._client, name)) for name in (*_SETTINGS, "timeout")}
        # Each folder has its share of the limit of all folders, and tells its share alone.
        settings["size_limit"] = str(round(self._client.size_limit * self._shards))
        return {**settings, "shards": str(self._shards), "directory": self._client.directory}

    def before_fork(self) -> None:
        """Closes the connections: SQLite's must not pass through a fork. A later operation opens them again."""
        self._client.close()

    def after_fork(self) -> Cache:
        len(self._client)
        return self


def open_cache(order: dict[str, Any]) -> Cache:
    return DiskCache(order)
