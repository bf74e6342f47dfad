"""The caches of this guest, each a module of its own that is loaded when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from larder_guest.cache import Cache
from larder_guest.failure import Failure

_CACHES: Final = (
    "cachebox", "cachetools", "dict", "diskcache", "larder", "lru_cache", "memcached", "null", "pylibmc", "redis",
)  # fmt: skip


def open_cache(order: dict[str, Any]) -> Cache:
    """Opens the cache that open.json describes."""
    name = order["cache"]
    if name not in _CACHES:
        raise Failure("other", f"unknown cache: {name}; known: {', '.join(_CACHES)}")
    try:
        module = import_module(f"larder_guest.caches.{name}")
    except ModuleNotFoundError as error:
        raise Failure("other", f"the Python package {error.name} is not installed") from error
    return module.open_cache(order)
