"""A cache of cachelib, which Flask-Caching and Flask-Session use.

>>> from larder.cachelib import LarderCache
>>> cache = LarderCache("memory:?size=1m")
>>> cache.set("key", [1, 2])
True
>>> cache.get("key")
[1, 2]
"""

import larder
from cachelib.base import BaseCache

__all__ = ["LarderCache"]


class LarderCache(BaseCache):
    """Any store of Larder. A timeout of 0 is for ever, as in cachelib; one below 0 has passed."""

    def __init__(self, url, default_timeout=300, *, serializer=None):
        super().__init__(default_timeout)
        self._store = larder.open(url, serializer=serializer)

    def _ttl(self, timeout):
        timeout = self.default_timeout if timeout is None else timeout
        return None if timeout == 0 else max(0, timeout)

    def get(self, key):
        return self._store.get(key)

    def set(self, key, value, timeout=None):
        self._store.set(key, value, self._ttl(timeout))
        return True

    def add(self, key, value, timeout=None):
        return self._store.add(key, value, self._ttl(timeout))

    def delete(self, key):
        return self._store.delete(key)

    def has(self, key):
        return key in self._store

    def clear(self):
        self._store.clear()
        return True

    def get_many(self, *keys):
        found = self._store.get_many(keys)
        return [found.get(key) for key in keys]

    def get_dict(self, *keys):
        return dict(zip(keys, self.get_many(*keys)))

    def set_many(self, mapping, timeout=None):
        refused = set(self._store.set_many(mapping, self._ttl(timeout)))
        return [key for key in mapping if key not in refused]

    def delete_many(self, *keys):
        return [key for key in keys if self._store.delete(key)]

    def inc(self, key, delta=1):
        return self._change(key, delta)

    def dec(self, key, delta=1):
        return self._change(key, -delta)

    def _change(self, key, delta):
        # The store's own numbers stop at 0. Those of cachelib do not.
        number = (self._store.get(key) or 0) + delta
        self._store.set(key, number, self._ttl(None))
        return number
