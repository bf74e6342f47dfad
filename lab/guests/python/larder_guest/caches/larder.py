"""Larder's own package: the segment cache in one file, which all processes share."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from larder_guest.cache import Cache, given


class Larder(Cache):
    """A store of the package, whose own methods are called directly."""

    def __init__(self, order: dict[str, Any]) -> None:
        # The package of the interpreter goes first: it may be the one to measure.
        sys.path.append(str(Path(order["library"]).parent.parent))
        import larder

        self.title = f"larder {version('larder-cache')}"
        # A guest takes longer keys than the default of `mmap:`.
        options = {"max_key": "1k", **given(order, "size", "item_size")}
        said = "&".join(f"{name}={value}" for name, value in options.items())
        self._store = larder.open(f"mmap:{order['folder']}/cache?{said}")
        if order["fresh"]:
            self._store.clear()
        self.get, self.get_many = self._store.get, self._store.get_many
        self.delete, self.touch = self._store.delete, self._store.touch

    def set(self, key: bytes, value: bytes, ttl: float | None) -> bool:
        """Stores a value; a refused value is an exception of the package."""
        self._store.set(key, value, ttl)
        return True

    def settings(self) -> dict[str, str]:
        return {"capacity_bytes": str(self._store.stats()["capacity_bytes"])}

    def after_fork(self) -> Cache:
        # The first call in a child opens the file again.
        self._store.stats()
        return self

    def evictions(self) -> int:
        return self._store.stats()["evictions"]


def open_cache(order: dict[str, Any]) -> Cache:
    return Larder(order)
