"""The interface of a cache.

`get`, `set` and the like may be the methods of the client that a cache adapts, with nothing in between. A layer that
only passes calls on would cost as much as the rest of the loop. An exception of the cache is an error of the operation.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from larder_guest.failure import Failure


class Client(Protocol):
    """The client of one operation: a get, and a set that fills its miss."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or `None`."""

    def set(self, key: bytes, value: bytes, ttl: Any) -> object:
        """A true value when the value was stored; `ttl` is a result of `Cache.ttl_argument`."""


class Cache:
    """The common methods of most caches; each cache also has `get` and `set`, as `Client` describes."""

    # Name and version.
    title = ""
    # Whether its client reports some failures as misses, and leaves a trace of them.
    doubts = False

    def settings(self) -> dict[str, str]:
        """The effective settings as text, read back where the client tells them."""
        return {}

    def delete(self, key: bytes) -> bool:
        """Whether there was such a key."""
        raise NotImplementedError

    def touch(self, key: bytes, ttl: Any) -> bool:
        """Whether there was such a key."""
        raise Failure("other", f"{self.title} cannot renew a time to live")

    def get_many(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """The values of these keys, by key, as one request."""
        found = ((key, self.get(key)) for key in keys)
        return {key: value for key, value in found if value is not None}

    def ttl_argument(self, seconds: float | None) -> Any:
        """A TTL of `seconds` in the form that `set` and `touch` take; `None` means no TTL."""
        return seconds

    def operation(self) -> Client:
        """The client of one operation; a client that is not this cache itself is closed after it, by `close`."""
        return self

    def expect(self, has_ttl: bool) -> None:
        """Tells whether the coming plan has a TTL. A cache that is still empty may leave out what only TTLs need."""

    def evictions(self) -> int | None:
        """Entries dropped so far to make room; `None` where the cache does not tell, or the servers tell."""
        return None

    def trace_of_miss(self, key: bytes) -> object:
        """The trace of a failure, looked for at once after a miss; `None` where there is no trace."""
        return None

    def failure_of_miss(self, trace: Any, took_ns: int) -> Failure | None:
        """The failure that left this trace, if it was a failure."""
        return None

    def refusal(self, key: bytes, value: bytes, answer: object, took_ns: int) -> Failure:
        """The reason why `set` gave this answer."""
        return Failure("other", f"{self.title} refused the value without a reason")

    def finish(self) -> bool:
        """Waits for operations still under way, while the clock runs. Returns whether there may have been any."""
        return False

    def connections(self) -> int | None:
        """Connections opened since the last call; `None` where their number is unknown."""
        return 0

    def before_fork(self) -> None:
        """Closes the resources that no child may inherit."""

    def after_fork(self) -> Cache:
        """The cache to use in a child of this process, connected before anything is timed."""
        return self


def given(order: dict[str, Any], *names: str) -> dict[str, Any]:
    """The options that the user has set."""
    options = order["options"] or {}
    return {name: options[name] for name in names if options.get(name) is not None}


def whole_seconds(seconds: float) -> int:
    """The TTL for a cache that has whole seconds: rounded up, because a fraction would become no TTL."""
    return math.ceil(seconds)
