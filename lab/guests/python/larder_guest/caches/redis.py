"""redis-py, one client object for all operations; several servers are a cluster.

The client takes a connection out of its pool for each command.
"""

from __future__ import annotations

import math
from contextlib import closing
from typing import Any

import redis

from larder_guest.cache import Cache, Client, given
from larder_guest.failure import Failure


def _counting(kind: type[Any], opened: list[int]) -> type[Any]:
    """The same connection, which is counted when it is made."""

    class Counted(kind):
        def _connect(self) -> Any:
            connected = super()._connect()
            opened[0] += 1
            return connected

    return Counted


class Redis(Cache):
    """One client object for all operations."""

    title = f"redis-py {redis.__version__}"

    def __init__(self, order: dict[str, Any]) -> None:
        self._servers: list[str] = order["servers"]
        access = order.get("access") or {}
        if access.get("tls") == "on":
            raise Failure("other", "this guest takes no TLS; leave out `tls`")
        if len(self._servers) > 1 and access.get("via"):
            raise Failure("other", "a client of a cluster passes a relay by; leave out `via` or `nodes`")
        asked = given(order, "timeout", "connect_timeout")
        names = {"timeout": "socket_timeout", "connect_timeout": "socket_connect_timeout"}
        self._options: dict[str, Any] = {names[name]: seconds for name, seconds in asked.items()}
        if access.get("password"):
            self._options.update(username=access.get("user"), password=access["password"])
        self._db = int(access.get("db") or 0)
        self._opened = [0]

    def connect(self) -> None:
        """Opens the client, and its first connection with it."""
        self._client = client = self.open_client()
        client.ping()
        self.get, set_ = client.get, client.set
        self.set = lambda key, value, ttl: set_(key, value, px=ttl)

    def open_client(self) -> Any:
        if len(self._servers) > 1:
            nodes = [redis.cluster.ClusterNode(*_address(server)) for server in self._servers]
            return redis.RedisCluster(startup_nodes=nodes, **self._options)
        server = self._servers[0]
        place = {"unix_socket_path": server} if server[0] == "/" else dict(zip(("host", "port"), _address(server)))
        client = redis.Redis(db=self._db, **place, **self._options)
        pool = client.connection_pool
        pool.connection_class = _counting(pool.connection_class, self._opened)
        return client

    def settings(self) -> dict[str, str]:
        return {
            "db": str(self._db),
            "servers": ", ".join(self._servers),
            "timeout": str(self._options.get("socket_timeout", "the package's own")),
        }

    def ttl_argument(self, seconds: float | None) -> int | None:
        """Milliseconds, rounded up; a binary fraction may be too large by a little."""
        return None if seconds is None else max(1, math.ceil(seconds * 1000 - 1e-6))

    def delete(self, key: bytes) -> bool:
        return self._client.delete(key) > 0

    def touch(self, key: bytes, ttl: int | None) -> bool:
        if ttl is not None:
            return bool(self._client.pexpire(key, ttl))
        return bool(self._client.persist(key)) or self._client.exists(key) > 0

    def get_many(self, keys: list[bytes]) -> dict[bytes, bytes]:
        ask = self._client.mget if len(self._servers) == 1 else self._client.mget_nonatomic
        return {key: value for key, value in zip(keys, ask(keys)) if value is not None}

    def connections(self) -> int | None:
        """Those of one server; a cluster's client makes its own."""
        opened, self._opened[0] = self._opened[0], 0
        return opened if len(self._servers) == 1 else None

    def before_fork(self) -> None:
        self._client.close()

    def after_fork(self) -> Cache:
        self.connect()
        return self


class PerOperation(Redis):
    """A new client object and connection for every operation. A get and the fill of its miss are one operation."""

    def connect(self) -> None:
        self._client = self.open_client()
        self._client.ping()
        self._client.close()

    def operation(self) -> Client:
        return _Operation(self.open_client())

    def get(self, key: bytes) -> bytes | None:
        with closing(self.operation()) as one:
            return one.get(key)

    def set(self, key: bytes, value: bytes, ttl: int | None) -> object:
        with closing(self.operation()) as one:
            return one.set(key, value, ttl)

    def delete(self, key: bytes) -> bool:
        with closing(self.open_client()) as self._client:
            return super().delete(key)

    def touch(self, key: bytes, ttl: int | None) -> bool:
        with closing(self.open_client()) as self._client:
            return super().touch(key, ttl)

    def get_many(self, keys: list[bytes]) -> dict[bytes, bytes]:
        with closing(self.open_client()) as self._client:
            return super().get_many(keys)


class _Operation:
    """A client for one operation."""

    __slots__ = ("_client", "get", "close")

    def __init__(self, client: Any) -> None:
        self._client = client
        self.get, self.close = client.get, client.close

    def set(self, key: bytes, value: bytes, ttl: int | None) -> object:
        return self._client.set(key, value, px=ttl)


def _address(server: str) -> tuple[str, int]:
    host, _, port = server.rpartition(":")
    return host.strip("[]"), int(port)


def open_cache(order: dict[str, Any]) -> Cache:
    cache = PerOperation(order) if given(order, "connect").get("connect") == "operation" else Redis(order)
    cache.connect()
    return cache
