"""Larder's caches: in memory, in a file that processes share, in memcached or Redis, or in a stack of these.

>>> import larder
>>> with larder.open("memory:?size=16m") as cache:
...     cache.set("user:7", {"name": "Ada"}, ttl=300)
...     cache.get("user:7")
{'name': 'Ada'}
"""

from larder._larder import (
    Error,
    Leased,
    RefusedError,
    Store,
    UnavailableError,
    UnsupportedError,
    UsageError,
)
from larder._larder import open as _open
from larder.serializers import Json, Serializer, SignedPickle

__all__ = [
    "Error",
    "Json",
    "Leased",
    "RefusedError",
    "Serializer",
    "SignedPickle",
    "Store",
    "UnavailableError",
    "UnsupportedError",
    "UsageError",
    "open",
]


def open(url: str, *, serializer: Serializer | None = None) -> Store:
    """Opens the cache of a URL, such as ``mmap:/run/app/cache?size=256m``.

    Bytes, text and whole numbers are stored as they are. ``serializer`` stores every other value: JSON without one.
    """
    if serializer is None:
        return _open(url, Json())
    if isinstance(serializer, type) or not isinstance(serializer, Serializer):
        raise TypeError(f"serializer is {serializer!r}; write an object with dumps and loads, such as larder.Json()")
    return _open(url, serializer)
