"""pylibmc, libmemcached from Python: one client object for all operations, whose own methods are called directly."""

from __future__ import annotations

import time
from contextlib import contextmanager
from collections.abc import Iterator
from typing import Any, Final

import pylibmc

from larder_guest.cache import Cache, Client, given, whole_seconds
from larder_guest.failure import Failure

# Beyond this limit the protocol takes a TTL for a point in time.
_LONGEST_TTL_S: Final = 30 * 24 * 60 * 60


class PyLibMc(Cache):
    """One client object for all operations."""

    title = f"pylibmc {pylibmc.__version__}, libmemcached {pylibmc.libmemcached_version}"
    # The client reports a get without an answer as a miss, and leaves no trace but the time that it took.
    doubts = True

    def __init__(self, order: dict[str, Any]) -> None:
        options = order["options"] or {}
        self._servers: list[str] = order["servers"]
        self._is_binary = options.get("protocol") == "binary"
        behaviors: dict[str, Any] = {}
        if options.get("hashing") == "ketama":
            behaviors["ketama"] = True
        if options.get("no_delay"):
            behaviors["tcp_nodelay"] = True
        if options.get("timeout") is not None:
            behaviors["_poll_timeout"] = max(1, round(options["timeout"] * 1000))
        self._behaviors = behaviors

    def connect(self) -> None:
        """Opens the client, and its connections with it."""
        self._client = client = self.open_client()
        self._versions = self._ask(client)
        self._timeout_ms: int = client.behaviors["_poll_timeout"]
        self.get, self.get_many = client.get, client.get_multi
        self.set, self.delete, self.touch = client.set, client.delete, client.touch

    def open_client(self) -> Any:
        return pylibmc.Client(self._servers, binary=self._is_binary, behaviors=self._behaviors)

    def settings(self) -> dict[str, str]:
        told = self._client.behaviors
        return {
            "hashing": "ketama" if told["ketama"] else told["distribution"],
            "no_delay": str(bool(told["tcp_nodelay"])),
            "protocol": "binary" if self._is_binary else "text",
            "servers": ", ".join(self._servers),
            "server_version": ", ".join(self._versions),
            "timeout": f"{self._timeout_ms} ms",
        }

    def ttl_argument(self, seconds: float | None) -> int:
        if seconds is None:
            return 0
        whole = whole_seconds(seconds)
        return whole if whole <= _LONGEST_TTL_S else int(time.time()) + whole

    def trace_of_miss(self, key: bytes) -> object:
        return key

    def failure_of_miss(self, trace: bytes, took_ns: int) -> Failure | None:
        """A miss that took as long as the time-out."""
        if took_ns < (self._timeout_ms - 1) * 1_000_000:
            return None
        return Failure("timeout", f"no answer within timeout, {self._timeout_ms} ms")

    def refusal(self, key: bytes, value: bytes, answer: object, took_ns: int) -> Failure:
        return Failure("other", "the server did not store the value")

    def connections(self) -> None:
        """The client does not tell."""

    def before_fork(self) -> None:
        self._client.disconnect_all()

    def after_fork(self) -> Cache:
        self.connect()
        return self

    def _ask(self, client: Any) -> list[str]:
        """The version of every server; raises where a server does not answer."""
        told = [stats["version" if "version" in stats else b"version"] for _, stats in client.get_stats()]
        if len(told) < len(self._servers):
            raise Failure("io", f"no answer from a server of {', '.join(self._servers)}")
        return [version.decode() if isinstance(version, bytes) else version for version in told]


class PerOperation(PyLibMc):
    """A new client object with new connections for every operation. A get and the fill of its miss are one operation."""

    def connect(self) -> None:
        self._client = self.open_client()
        self._versions = self._ask(self._client)
        self._timeout_ms = self._client.behaviors["_poll_timeout"]

    def operation(self) -> Client:
        return _Operation(self.open_client())

    def get(self, key: bytes) -> bytes | None:
        with self._opened() as client:
            return client.get(key)

    def set(self, key: bytes, value: bytes, ttl: int) -> object:
        with self._opened() as client:
            return client.set(key, value, ttl)

    def delete(self, key: bytes) -> bool:
        with self._opened() as client:
            return client.delete(key)

    def touch(self, key: bytes, ttl: int) -> bool:
        with self._opened() as client:
            return client.touch(key, ttl)

    def get_many(self, keys: list[bytes]) -> dict[bytes, bytes]:
        with self._opened() as client:
            return client.get_multi(keys)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        client = self.open_client()
        try:
            yield client
        finally:
            client.disconnect_all()


class _Operation:
    """A client for one operation."""

    __slots__ = ("get", "set", "close")

    def __init__(self, client: Any) -> None:
        self.get, self.set, self.close = client.get, client.set, client.disconnect_all


def open_cache(order: dict[str, Any]) -> Cache:
    kind = PerOperation if given(order, "connect").get("connect") == "operation" else PyLibMc
    cache = kind(order)
    cache.connect()
    return cache
