"""pymemcache, one client object for all operations; its own `get`, `set` and the like are called directly.

One server has the package's `Client`, several have its `HashClient`. With `connect=operation` each operation has a new
client.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

from pymemcache import __version__
from pymemcache.client.base import Client as OfOne
from pymemcache.client.hash import HashClient as OfMany

from larder_guest.cache import Cache, Client, given, whole_seconds
from larder_guest.failure import Failure

# Beyond this limit the protocol takes a TTL for a point in time.
_LONGEST_TTL_S: Final = 30 * 24 * 60 * 60


class _Sockets:
    """The module `socket` as the client takes it, with a count of the connections made."""

    def __init__(self) -> None:
        self.opened = opened = [0]

        class Counted(socket.socket):
            def connect(self, address: Any) -> None:
                super().connect(address)
                opened[0] += 1

        self.socket = Counted

    def __getattr__(self, name: str) -> Any:
        return getattr(socket, name)


class Memcached(Cache):
    """One client object for all operations."""

    title = f"pymemcache {__version__}"

    def __init__(self, servers: list[str], options: dict[str, Any]) -> None:
        self._servers = servers
        self._options = options
        self._sockets = _Sockets()
        self._timeout_s: float | None = options.get("timeout")
        # The client reports failures as misses with `ignore_exc`, and for a while after one of several servers failed.
        self.doubts = bool(options.get("ignore_exc")) or len(servers) > 1

    def connect(self) -> None:
        """Opens the client, and its connections with it."""
        self._client = client = self.open_client()
        self._ask(client)
        self.get, self.get_many = client.get, client.get_many
        self.set, self.delete, self.touch = client.set, client.delete, client.touch

    def open_client(self) -> Any:
        """A new client object. Its commands wait for their answers, unlike with pymemcache's own default."""
        client = OfOne if len(self._servers) == 1 else OfMany
        servers = self._servers[0] if len(self._servers) == 1 else self._servers
        return client(servers, default_noreply=False, socket_module=self._sockets, **self._options)

    def settings(self) -> dict[str, str]:
        nodes = self._nodes(self._client)
        shown = ("connect_timeout", "timeout", "no_delay")
        return {
            **{name: str(getattr(nodes[0], name)) for name in shown},
            "ignore_exc": str(self._client.ignore_exc),
            "servers": ", ".join(self._servers),
            "server_version": ", ".join(node.version().decode() for node in nodes),
        }

    def ttl_argument(self, seconds: float | None) -> int:
        if seconds is None:
            return 0
        whole = whole_seconds(seconds)
        return whole if whole <= _LONGEST_TTL_S else int(time.time()) + whole

    def trace_of_miss(self, key: bytes) -> object:
        """The server of the key, if it has failed: the client closes the connection to a failed server."""
        return self._lost(self._client, key)

    def failure_of_miss(self, trace: str, took_ns: int) -> Failure:
        if self._timeout_s is not None and took_ns >= self._timeout_s * 1e9:
            return Failure("timeout", f"no answer within timeout, {self._timeout_s} s")
        return Failure("io", f"no answer from {trace}")

    def refusal(self, key: bytes, value: bytes, answer: object, took_ns: int) -> Failure:
        trace = self.trace_of_miss(key)
        if isinstance(trace, str):
            return self.failure_of_miss(trace, took_ns)
        return Failure("other", "the server did not store the value")

    def connections(self) -> int:
        opened, self._sockets.opened[0] = self._sockets.opened[0], 0
        return opened

    def before_fork(self) -> None:
        """Closes the connections; a later operation opens them again."""
        self._client.close()

    def after_fork(self) -> Cache:
        self.connect()
        return self

    def _nodes(self, client: Any) -> list[Any]:
        """The client's own client of each server."""
        return [client] if isinstance(client, OfOne) else list(client.clients.values())

    def _ask(self, client: Any) -> None:
        """Asks every server for its version; raises where a server does not answer."""
        for server, node in zip(self._servers, self._nodes(client)):
            try:
                node.version()
            except Exception as error:
                failure = Failure.of(error)
                raise Failure(failure.kind, f"no answer from {server}: {failure}") from error

    def _lost(self, client: Any, key: bytes) -> str | None:
        """The server of this key, if no connection to it is left just after an operation on it."""
        if isinstance(client, OfOne):
            return self._servers[0] if client.sock is None else None
        name = client.hasher.get_node(key)
        return "any server" if name is None else name if client.clients[name].sock is None else None


class WithoutReply(Memcached):
    """Sets that do not wait for their answer."""

    def connect(self) -> None:
        super().connect()
        set_ = self._client.set
        self.set = lambda key, value, ttl: set_(key, value, ttl, True)

    def finish(self) -> bool:
        """Asks every server: a server answers commands in order, so it has done the earlier ones."""
        self._ask(self._client)
        return True


class PerOperation(Memcached):
    """A new client object and connection for every operation, as in a script that opens its cache in the function that
    uses it. A get and the fill of its miss are one operation.
    """

    def connect(self) -> None:
        self._client = self.open_client()
        self._traces: dict[bytes, str | None] = {}
        self._ask(self._client)
        self._client.close()

    def operation(self) -> Client:
        return _Operation(self.open_client(), self._note if self.doubts else None)

    def get(self, key: bytes) -> bytes | None:
        with closing(self.operation()) as one:
            return one.get(key)

    def set(self, key: bytes, value: bytes, ttl: int) -> object:
        with closing(self.operation()) as one:
            return one.set(key, value, ttl)

    def delete(self, key: bytes) -> bool:
        with closing(self.open_client()) as client:
            found = client.delete(key)
            if not found:
                self._note(client, key)
        return found

    def touch(self, key: bytes, ttl: int) -> bool:
        with closing(self.open_client()) as client:
            found = client.touch(key, ttl)
            if not found:
                self._note(client, key)
        return found

    def get_many(self, keys: list[bytes]) -> dict[bytes, bytes]:
        with closing(self.open_client()) as client:
            found = client.get_many(keys)
            if self.doubts:
                for key in keys:
                    if key not in found:
                        self._note(client, key)
        return found

    def trace_of_miss(self, key: bytes) -> object:
        return self._traces.pop(key, None)

    def _note(self, client: Any, key: bytes) -> None:
        """Keeps the trace of a miss, for the client is closed afterwards."""
        self._traces[key] = self._lost(client, key)


class _Operation:
    """A client for one operation."""

    __slots__ = ("_client", "_note")

    def __init__(self, client: Any, note: Callable[[Any, bytes], None] | None) -> None:
        self._client = client
        self._note = note

    def get(self, key: bytes) -> bytes | None:
        value = self._client.get(key)
        if value is None and self._note:
            self._note(self._client, key)
        return value

    def set(self, key: bytes, value: bytes, ttl: int) -> object:
        stored = self._client.set(key, value, ttl)
        if not stored and self._note:
            self._note(self._client, key)
        return stored

    def close(self) -> None:
        self._client.close()


def open_cache(order: dict[str, Any]) -> Cache:
    said = given(order, "connect", "noreply")
    options = given(order, "connect_timeout", "timeout", "no_delay", "ignore_exc")
    if said.get("connect") == "operation":
        if said.get("noreply"):
            raise Failure("other", "noreply needs connect=session: a closed client waits for no answer")
        cache: Memcached = PerOperation(order["servers"], options)
    elif said.get("noreply"):
        cache = WithoutReply(order["servers"], options)
    else:
        cache = Memcached(order["servers"], options)
    cache.connect()
    return cache
