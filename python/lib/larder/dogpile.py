"""A backend of dogpile.cache.

    import larder.dogpile
    from dogpile.cache import make_region

    region = make_region().configure("larder", arguments={"url": "mmap:/run/app/cache?size=64m"})
"""

import larder
from dogpile.cache import register_backend
from dogpile.cache.api import NO_VALUE, BytesBackend

__all__ = ["LarderBackend"]


class LarderBackend(BytesBackend):
    """Any store of Larder; ``arguments`` are ``url`` and ``ttl`` in seconds. The region's serializer makes the values."""

    def __init__(self, arguments):
        arguments = dict(arguments)
        self._ttl = arguments.pop("ttl", None)
        self._store = larder.open(arguments.pop("url"))
        if arguments:
            raise ValueError(f"arguments {sorted(arguments)} are not known; write url and ttl")

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


register_backend("larder", "larder.dogpile", "LarderBackend")
