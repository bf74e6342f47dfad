"""A cache backend of Django.

    CACHES = {
        "default": {
            "BACKEND": "larder.django.LarderCache",
            "LOCATION": "tiered:mmap:/run/shop/cache?size=256m|memcached://h1,h2",
            "OPTIONS": {"serializer": "pickle"},
        }
    }

A memcached or Redis may have other users, so it is never emptied. With ``"clear": "generation"`` among the options,
``cache.clear()`` ends the entries of this cache there: each key has the number of a generation, which is read with each call.

Without ``serializer``, values are bytes, text, whole numbers, and what JSON can hold. With ``"pickle"`` any object is
stored, signed with ``SECRET_KEY``. Values that were signed with one of ``SECRET_KEY_FALLBACKS`` are read too.
"""

import time

import larder
from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.exceptions import ImproperlyConfigured

from larder._keys import taken_by_every_store

__all__ = ["LarderCache"]

# Django's own options do nothing here, because a store makes room by itself.
_OPTIONS = {"serializer", "clear", "MAX_ENTRIES", "CULL_FREQUENCY"}

# The stores of this process by URL and serializer: all threads and all requests share one.
_stores = {}


def _serializer(name):
    if name == "pickle":
        return larder.SignedPickle(settings.SECRET_KEY, older=getattr(settings, "SECRET_KEY_FALLBACKS", ()))
    if name == "json":
        return larder.Json()
    if isinstance(name, str):
        raise ImproperlyConfigured(f"OPTIONS: serializer {name!r} is not known; write 'json' or 'pickle', or an object")
    return name


class LarderCache(BaseCache):
    """Any store of Larder as a cache of Django."""

    def __init__(self, url, params):
        super().__init__(params)
        options = params.get("OPTIONS", {})
        unknown = sorted(set(options) - _OPTIONS)
        if unknown:
            raise ImproperlyConfigured(f"OPTIONS: {unknown} are not known; write 'serializer' or 'clear'")
        if not isinstance(url, str):
            raise ImproperlyConfigured(f"LOCATION is {url!r}; write one URL, such as 'memcached://h1,h2'")
        self._url = url
        self._by = options.get("serializer", "json")
        clears = options.get("clear", "store")
        if clears not in ("store", "generation"):
            raise ImproperlyConfigured(f"OPTIONS: clear {clears!r} is not known; write 'store' or 'generation'")
        self._has_generations = clears == "generation"

    @property
    def _cache(self):
        known = (self._url, self._by if isinstance(self._by, str) else id(self._by))
        store = _stores.get(known)
        if store is None:
            store = _stores.setdefault(known, larder.open(self._url, serializer=_serializer(self._by)))
        return store

    def _ttl(self, timeout):
        """Django's timeouts: ``None`` is for ever, and 0 or less has passed."""
        if timeout is DEFAULT_TIMEOUT:
            timeout = self.default_timeout
        return None if timeout is None else max(0, timeout)

    def _generation(self):
        """What stands before each key: the number of the generation, where there are generations."""
        if not self._has_generations:
            return ""
        key = self._generation_key
        number = self._cache.get(key)
        while number is None:
            # No number comes twice, so an evicted one brings back no older entry.
            self._cache.add(key, time.time_ns())
            number = self._cache.get(key)
        return f"{number}:"

    @property
    def _generation_key(self):
        return taken_by_every_store(f"{self.key_prefix}:larder-generation")

    def _key(self, key, version, generation=None):
        key = self.make_and_validate_key(key, version=version)
        key = (self._generation() if generation is None else generation) + key
        # Django warns of keys that a memcached would refuse, and takes them.
        return taken_by_every_store(key)

    def _keys(self, keys, version):
        """The stored keys, each with its own: the generation is read once."""
        generation = self._generation()
        return {self._key(key, version, generation): key for key in keys}

    def get(self, key, default=None, version=None):
        return self._cache.get(self._key(key, version), default)

    def has_key(self, key, version=None):
        return self._key(key, version) in self._cache

    def set(self, key, value, timeout=DEFAULT_TIMEOUT, version=None):
        key, ttl = self._key(key, version), self._ttl(timeout)
        if ttl == 0:
            self._cache.delete(key)
        else:
            self._cache.set(key, value, ttl)

    def add(self, key, value, timeout=DEFAULT_TIMEOUT, version=None):
        key, ttl = self._key(key, version), self._ttl(timeout)
        if ttl == 0:
            return key not in self._cache
        return self._cache.add(key, value, ttl)

    def touch(self, key, timeout=DEFAULT_TIMEOUT, version=None):
        key, ttl = self._key(key, version), self._ttl(timeout)
        return self._cache.delete(key) if ttl == 0 else self._cache.touch(key, ttl)

    def delete(self, key, version=None):
        return self._cache.delete(self._key(key, version))

    def incr(self, key, delta=1, version=None):
        key = self._key(key, version)
        try:
            number = self._cache.incr(key, delta) if delta >= 0 else self._cache.decr(key, -delta)
        except ValueError as error:
            # As Django's own backends raise where a value is no number.
            raise TypeError(str(error)) from error
        if number is None:
            raise ValueError(f"Key '{key}' not found")
        return number

    def get_many(self, keys, version=None):
        made = self._keys(keys, version)
        found = self._cache.get_many(made)
        return {made[key]: value for key, value in found.items()}

    def set_many(self, data, timeout=DEFAULT_TIMEOUT, version=None):
        ttl = self._ttl(timeout)
        made = self._keys(data, version)
        if ttl == 0:
            self._cache.delete_many(made)
            return []
        refused = self._cache.set_many({key: data[own] for key, own in made.items()}, ttl)
        return [made[key] for key in refused]

    def delete_many(self, keys, version=None):
        self._cache.delete_many(self._keys(keys, version))

    def clear(self):
        if self._has_generations:
            self._cache.set(self._generation_key, time.time_ns())
            return
        try:
            self._cache.clear()
        except larder.UnsupportedError as error:
            told = larder.UnsupportedError(f"{error}; write 'clear': 'generation' in OPTIONS")
            told.kind = error.kind
            raise told from None
