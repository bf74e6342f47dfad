"""What a cache is to a guest.

`get`, `set` and the like may be those of the client that a cache adapts, with nothing in between: a layer that only passes
on would cost as much as the rest of the loop. What a cache raises is an error of the operation.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from larder.failure import Failure


class Client(Protocol):
    """What one operation may need: a get, and a set that fills its miss."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or `None`."""

    def set(self, key: bytes, value: bytes, ttl: Any) -> object:
        """Something true when it was stored; `ttl` is what `Cache.ttl_argument` made of seconds."""


class Cache:
    """A cache with what most of them have in common; each has `get` and `set` besides, as `Client` says."""

    # Name and version.
    title = ""
    # Whether its client tells some failures as misses, and leaves something to see of them.
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
        """What these keys have, as one request."""
        found = ((key, self.get(key)) for key in keys)
        return {key: value for key, value in found if value is not None}

    def ttl_argument(self, seconds: float | None) -> Any:
        """What `set` and `touch` take for so many seconds; `None`: for none."""
        return seconds

    def operation(self) -> Client:
        """The client of one operation; one that is not this very cache is closed with it, by `close`."""
        return self

    def trace_of_miss(self, key: bytes) -> object:
        """What there is to see, at once after a miss, of its having been a failure; `None`: nothing."""
        return None

    def failure_of_miss(self, trace: Any, took_ns: int) -> Failure | None:
        """The failure that left this trace, where it was one."""
        return None

    def refusal(self, key: bytes, value: bytes, answer: object, took_ns: int) -> Failure:
        """Why `set` answered what it did."""
        return Failure("other", f"{self.title} did not take the value, and does not say why")

    def finish(self) -> bool:
        """Waits for what is still under way, while the clock runs. Returns whether there may have been anything."""
        return False

    def connections(self) -> int | None:
        """Connections opened since the last time this was asked; `None` when nobody knows."""
        return 0

    def before_fork(self) -> None:
        """Lets go of what no child may inherit."""

    def after_fork(self) -> Cache:
        """The cache as a child of this process has it, connected before anything is timed."""
        return self


def given(order: dict[str, Any], *names: str) -> dict[str, Any]:
    """The options that somebody has set."""
    options = order["options"] or {}
    return {name: options[name] for name in names if options.get(name) is not None}


def whole_seconds(seconds: float) -> int:
    """Seconds for a cache that has whole ones: rounded up, for a fraction would be none at all."""
    return math.ceil(seconds)
