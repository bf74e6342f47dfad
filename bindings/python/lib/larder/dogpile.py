"""A backend of dogpile.cache.

    import larder.dogpile
    from dogpile.cache import make_region

    region = make_region().configure("larder", arguments={"url": "mmap:/run/app/cache?size=64m"})
"""

import secrets
import time

from dogpile.cache import register_backend
from dogpile.cache.api import NO_VALUE, BytesBackend, CacheMutex

from larder._keys import LONGEST_KEY, taken_by_every_store
from larder._opening import Opening

__all__ = ["LarderBackend", "LarderMutex"]


def _mangled(key):
    """The key, or its hash where a memcached would refuse the key or that of its lock."""
    return taken_by_every_store(key, LONGEST_KEY - len(":lock"))


class LarderBackend(BytesBackend):
    """Any store of Larder. The region's serializer makes the values. ``arguments`` are

    - ``url``;
    - ``ttl``: seconds after which the store drops an entry; for ever without it;
    - ``distributed_lock``: ``True`` for one creator of a value in all processes that share the store, and not one for each process;
    - ``lock_timeout``: seconds after which the lock of a creator that was killed ends; 60 without it.
    """

    # A region without a mangler of its own takes this one.
    key_mangler = staticmethod(_mangled)

    def __init__(self, arguments):
        arguments = dict(arguments)
        self._ttl = arguments.pop("ttl", None)
        self._locks = arguments.pop("distributed_lock", False)
        self._lock_timeout = arguments.pop("lock_timeout", 60)
        self._opening = Opening(arguments.pop("url"))
        if arguments:
            known = "url, ttl, distributed_lock and lock_timeout"
            raise ValueError(f"arguments {sorted(arguments)} are not known; write {known}")

    @property
    def _store(self):
        return self._opening.store

    def get_mutex(self, key):
        return LarderMutex(self._store, key, self._lock_timeout) if self._locks else None

    def get_serialized(self, key):
        return self._store.get(key, NO_VALUE)

    def get_serialized_multi(self, keys):
        found = self._store.get_many(keys)
        return [found.get(key, NO_VALUE) for key in keys]

    def set_serialized(self, key, value):
        self._store.set(key, value, self._ttl)

    def set_serialized_multi(self, mapping):
        self._store.set_many(dict(mapping), self._ttl)

    def delete(self, key):
        self._store.delete(key)

    def delete_multi(self, keys):
        self._store.delete_many(keys)


class LarderMutex(CacheMutex):
    """A lock of all processes that share a store: an entry that one of them has added."""

    # The pauses between two trials, in seconds: the first, and the longest.
    _PAUSES = 0.0005, 0.05

    def __init__(self, store, key, timeout):
        self._store = store
        self._key = f"{key}:lock"
        self._timeout = timeout
        self._mark = None

    def acquire(self, wait=True):
        mark, (pause, longest) = secrets.token_bytes(16), self._PAUSES
        while not self._store.add(self._key, mark, self._timeout):
            if not wait:
                return False
            time.sleep(pause)
            pause = min(2 * pause, longest)
        self._mark = mark
        return True

    def release(self):
        mark, self._mark = self._mark, None
        # After the timeout the lock may be another's.
        if mark is not None and self._store.get(self._key) == mark:
            self._store.delete(self._key)

    def locked(self):
        return self._key in self._store


register_backend("larder", "larder.dogpile", "LarderBackend")
