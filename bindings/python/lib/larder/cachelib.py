"""A cache of cachelib, which Flask-Caching and Flask-Session use.

>>> from larder.cachelib import LarderCache
>>> cache = LarderCache("memory:?size=1m")
>>> cache.set("key", [1, 2])
True
>>> cache.get("key")
[1, 2]
"""

from datetime import timedelta

from cachelib.base import BaseCache

from larder._keys import taken_by_every_store
from larder._opening import Opening

__all__ = ["LarderCache"]


class LarderCache(BaseCache):
    """Any store of Larder. A timeout of 0 is for ever, as in cachelib; one below 0 has passed.

    ``key_prefix`` stands before each key. A key that a memcached would refuse is stored under its hash. Numbers are counted as
    memcached counts them, in one step, unless they are or become negative.
    """

    def __init__(self, url, default_timeout=300, *, serializer=None, key_prefix=None, **options):
        super().__init__(default_timeout, **options)
        self._opening = Opening(url, serializer)
        self._prefix = key_prefix or ""

    @property
    def _store(self):
        return self._opening.store

    def _ttl(self, timeout):
        timeout = self.default_timeout if timeout is None else timeout
        if isinstance(timeout, timedelta):
            timeout = timeout.total_seconds()
        return None if timeout == 0 else max(0, timeout)

    def _key(self, key):
        return taken_by_every_store(self._prefix + key)

    def get(self, key):
        return self._store.get(self._key(key))

    def set(self, key, value, timeout=None):
        self._store.set(self._key(key), value, self._ttl(timeout))
        return True

    def add(self, key, value, timeout=None):
        return self._store.add(self._key(key), value, self._ttl(timeout))

    def delete(self, key):
        return self._store.delete(self._key(key))

    def has(self, key):
        return self._key(key) in self._store

    def clear(self):
        self._store.clear()
        return True

    def get_many(self, *keys):
        found = self._store.get_many([self._key(key) for key in keys])
        return [found.get(self._key(key)) for key in keys]

    def get_dict(self, *keys):
        return dict(zip(keys, self.get_many(*keys)))

    def set_many(self, mapping, timeout=None):
        values = {self._key(key): value for key, value in mapping.items()}
        refused = set(self._store.set_many(values, self._ttl(timeout)))
        return [key for key in mapping if self._key(key) not in refused]

    def delete_many(self, *keys):
        # A key that was absent counts as deleted.
        self._store.delete_many([self._key(key) for key in keys])
        return list(keys)

    def inc(self, key, delta=1):
        if delta >= 0:
            try:
                return self._store.incr(self._key(key), delta, initial=delta, ttl=self._ttl(None))
            except ValueError:
                # The number is negative, or no whole number.
                pass
        return self._change(key, delta)

    def dec(self, key, delta=1):
        return self._change(key, -delta)

    def _change(self, key, delta):
        # The store's own numbers stop at 0. Those of cachelib do not.
        number = (self.get(key) or 0) + delta
        self.set(key, number)
        return number
