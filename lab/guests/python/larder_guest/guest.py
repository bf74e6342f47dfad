"""Opens the cache, and carries out the commands."""

from __future__ import annotations

import gc
import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import Any, Final

from larder_guest import caches
from larder_guest.cache import Cache
from larder_guest.failure import Failure
from larder_guest.phase import Phase
from larder_guest.plan import Plan
from larder_guest.processes import Processes
from larder_guest.protocol import Protocol

_PROTOCOL: Final = 3
_ALIVE_S: Final = 1


class Guest:
    """An open cache, and the source of its commands."""

    __slots__ = ("_protocol", "_cache", "_plan", "_evictions")

    def __init__(self, protocol: Protocol, cache: Cache) -> None:
        self._protocol = protocol
        self._cache = cache
        self._plan: Plan | None = None
        self._evictions: int | None = None

    @classmethod
    def open_cache(cls, protocol: Protocol, folder: str) -> Guest | None:
        """Opens the cache of `open.json` in this folder and greets; `None` if the cache is unavailable."""
        try:
            order = json.loads(Path(folder, "open.json").read_bytes())
            if order["protocol"] != _PROTOCOL:
                raise Failure("protocol", f"this guest speaks protocol {_PROTOCOL}, not {order['protocol']}")
            cache = caches.open_cache(order)
            settings = cache.settings()
        except Exception as error:
            protocol.answer({"unavailable": Failure.of(error).text})
            return None
        language = f"python {platform.python_version()}"
        protocol.answer({"protocol": _PROTOCOL, "language": language, "cache": cache.title, "settings": settings})
        return cls(protocol, cache)

    def serve(self) -> None:
        """Answers commands until there are no more."""
        commands: dict[str, Callable[[str], None]] = {
            "set": self._set,
            "get": self._get,
            "delete": self._delete,
            "touch": self._touch,
            "load": self._load,
            "run": self._run,
        }
        while (line := self._protocol.line()) is not None and line != "end":
            name, _, rest = line.partition(" ")
            try:
                if name not in commands:
                    raise Failure("protocol", f"unknown command: {line}")
                commands[name](rest)
            except Exception as error:
                self._protocol.answer(Failure.of(error).answer())

    def _set(self, rest: str) -> None:
        key_length, value_length, ttl = rest.split()
        key = self._protocol.bytes(int(key_length))
        value = self._protocol.bytes(int(value_length))
        began = monotonic_ns()
        stored = self._cache.set(key, value, self._cache.ttl_argument(_seconds(ttl)))
        # The reader of the answer may look for the value by another client.
        self._cache.finish()
        if stored:
            self._protocol.answer({"stored": True})
        else:
            refusal = self._cache.refusal(key, value, stored, monotonic_ns() - began)
            self._protocol.answer({"stored": False, "why": refusal.text})

    def _get(self, rest: str) -> None:
        key = self._protocol.bytes(int(rest))
        began = monotonic_ns()
        value = self._cache.get(key)
        if value is None:
            self._doubt(key, monotonic_ns() - began)
            self._protocol.answer({"found": None})
        else:
            self._protocol.answer({"found": len(value)}, value)

    def _delete(self, rest: str) -> None:
        key = self._protocol.bytes(int(rest))
        began = monotonic_ns()
        self._found(key, self._cache.delete(key), began)

    def _touch(self, rest: str) -> None:
        length, ttl = rest.split()
        key = self._protocol.bytes(int(length))
        began = monotonic_ns()
        self._found(key, self._cache.touch(key, self._cache.ttl_argument(_seconds(ttl))), began)

    def _found(self, key: bytes, found: bool, began: int) -> None:
        if not found:
            self._doubt(key, monotonic_ns() - began)
        self._protocol.answer({"found": bool(found)})

    def _doubt(self, key: bytes, took_ns: int) -> None:
        """Raises the failure that a miss was in truth, if any."""
        trace = self._cache.trace_of_miss(key) if self._cache.doubts else None
        failure = None if trace is None else self._cache.failure_of_miss(trace, took_ns)
        if failure is not None:
            raise failure

    def _load(self, folder: str) -> None:
        # The last plan is freed first, for there may not be room for two.
        gc.unfreeze()
        self._plan = None
        self._plan = Plan(folder)
        # The garbage collector runs on, because a client's garbage is the client's cost; but it passes over the plan.
        gc.collect()
        gc.freeze()
        self._cache.expect(self._plan.ttl_s is not None)
        self._evictions = self._cache.evictions()
        self._protocol.answer({"loaded": True} if self._evictions is None else {"loaded": True, "evictions": 0})

    def _run(self, rest: str) -> None:
        number = int(rest)
        plan = self._plan
        if plan is None:
            raise Failure("protocol", "no plan has been loaded")
        if number >= len(plan.phases):
            raise Failure("protocol", f"the plan has no phase {number}")
        tell = self._teller()
        if plan.processes > 1:
            Processes(self._protocol, plan, self._cache, number).run(tell)
        else:
            Phase(plan, self._cache, number).run(tell)
        before, self._evictions = self._evictions, self._cache.evictions()
        told = {} if before is None or self._evictions is None else {"evictions": self._evictions - before}
        self._protocol.answer({"ran": number, **told})

    def _teller(self) -> Callable[[int], None]:
        """A function that reports the progress once a second, and ends the program once its input has ended."""
        told, last = monotonic(), 0

        def tell(operations: int) -> None:
            nonlocal told, last
            if self._protocol.has_ended():
                sys.exit(0)
            # A guest that waits for idle processes does not count as alive.
            if operations == last or monotonic() - told < _ALIVE_S:
                return
            told, last = monotonic(), operations
            self._protocol.answer({"alive": operations})

        return tell


def _seconds(ttl: str) -> float | None:
    return None if ttl == "-" else float(ttl)
