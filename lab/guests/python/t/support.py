"""A guest as Larder starts it, small plans as Larder writes them, and servers to speak to."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from t.records import Receiver, make_pipes

# The program leaves its compiled files here, and nothing beside its sources.
COMPILED = tempfile.TemporaryDirectory(prefix="larder-guest-compiled-")
PROGRAM = Path(__file__).parent.parent / "guest.py"
KINDS = {"get": 0, "set": 1, "get_or_set": 2, "delete": 3, "touch": 4}
NOTHING = 0xFFFF_FFFF


def interpreter() -> str:
    """The interpreter that Larder takes: the one in Larder's environment, where it exists."""
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local/share")
    own = Path(data, "larder/python/bin/python3")
    return str(own) if own.is_file() else sys.executable


def need(condition: bool, reason: str) -> None:
    """Leaves a test out, or fails it where no test may be left out."""
    if not condition and os.environ.get("LARDER_REQUIRE") == "all":
        raise AssertionError(reason)
    if not condition:
        raise unittest.SkipTest(reason)


def need_package(name: str) -> None:
    asked = subprocess.run([interpreter(), "-c", f"import {name}"], capture_output=True)
    need(asked.returncode == 0, f"the Python package {name} is not installed: ./setup.sh --with python")


class Case(unittest.TestCase):
    """Folders, guests and servers that end with the test."""

    maxDiff = None

    def folder(self) -> Path:
        folder = tempfile.mkdtemp(prefix="larder-guest-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def guest(self, cache: str, **order: Any) -> Guest:
        """Starts the program for a cache. `order` replaces fields of open.json."""
        guest = Guest(self.folder(), cache, order)
        self.addCleanup(guest.kill)
        return guest

    def memcached(self, *arguments: str, address: str | None = None) -> Memcached:
        """A memcached of the test's own, on a free port or on this address."""
        program = shutil.which("memcached", path=os.environ.get("PATH", "") + ":/usr/bin:/usr/local/bin")
        need(program is not None, "memcached is not installed: apt-get install memcached")
        server = Memcached(str(program), address or free_address(), arguments)
        self.addCleanup(server.kill)
        return server

    def plan(self, keys: list[str], **plan: Any) -> Plan:
        return Plan(self.folder(), keys, plan)


class Guest:
    """A running guest."""

    def __init__(self, folder: Path, cache: str, order: dict[str, Any]) -> None:
        self.folder = folder
        environment = order.pop("environment", {})
        whole = {
            "protocol": 3, "cache": cache, "options": {}, "folder": str(folder), "servers": [], "tiers": [],
            "room_bytes": 8 << 20, "largest_bytes": 32_768, "fresh": True, **order,
        }  # fmt: skip
        self.folder.joinpath("open.json").write_text(json.dumps(whole))
        with folder.joinpath("stderr").open("wb") as stderr:
            self._process = subprocess.Popen(
                [interpreter(), PROGRAM, folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "PYTHONPYCACHEPREFIX": COMPILED.name, **environment},
            )
        self._plan: Plan | None = None
        self.opened = self.answer()

    def load(self, plan: Plan) -> dict[str, Any]:
        """Writes and loads a plan, whose records are received from then on."""
        self._plan = plan
        return self.ask(f"load {plan.write()}")

    def send(self, text: bytes) -> None:
        name, _, rest = text.partition(b" ")
        if name == b"run" and self._plan:
            self._plan.receive(int(rest))
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        return json.loads(line) if line else {}

    def ask(self, command: str, rest: bytes = b"") -> dict[str, Any]:
        """The answer to a command, without the `alive` lines before it."""
        self.send(command.encode() + b"\n" + rest)
        return self.last_answer()

    def last_answer(self) -> dict[str, Any]:
        while "alive" in (answer := self.answer()):
            pass
        return answer

    def set(self, key: bytes, value: bytes, ttl: object = "-") -> dict[str, Any]:
        return self.ask(f"set {len(key)} {len(value)} {ttl}", key + value)

    def get(self, key: bytes) -> bytes | None:
        length = self.ask(f"get {len(key)}", key)["found"]
        return None if length is None else self._process.stdout.read(length)

    def run(self, plan: Plan) -> list[list[dict[str, Any]]]:
        """Loads a plan and runs its phases; returns the results of the processes, by phase."""
        assert self.load(plan) == {"loaded": True}
        found = []
        for phase in range(len(plan.phases)):
            answer = self.ask(f"run {phase}")
            assert answer == {"ran": phase}, answer
            found.append(plan.result(phase))
        return found

    def end(self) -> int:
        """Ends the guest by `end`; returns its exit code."""
        self.send(b"end\n")
        return self.wait()

    def close(self) -> int:
        """Closes the guest's standard input; returns its exit code."""
        self._process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        return self._process.wait(timeout=300)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass


class Plan:
    """A plan in the making: `value` adds values, and `phase` adds operations."""

    def __init__(self, folder: Path, keys: list[str], plan: dict[str, Any]) -> None:
        self.folder = folder
        self.keys = keys
        self.phases: list[dict[str, Any]] = []
        self.newest: dict[int, int] = {}
        self._received: dict[int, list[Receiver]] = {}
        self._whole = {"processes": 1, "ttl_s": None, "replays": False, **plan}
        self._pool = bytes((n * 7919 + n // 256) % 251 for n in range(240_000))
        self._values: list[bytes] = []
        self._operations: list[tuple[str, int, int, int]] = []

    def value(self, key: int, length: int) -> int:
        """Adds a value under the key of this index, and returns its number."""
        number = len(self._values) + 1
        # A guest needs headers that differ, and only Larder reads them.
        header, at = struct.pack("<6I", key, number, length, 0, 0, 0), number * 7919 % 131_072
        self._values.append(struct.pack("<3I24s", at, length, self.newest.get(key, 0), header))
        self.newest[key] = number
        return number

    def phase(self, *shares: list[tuple[Any, ...]], **options: Any) -> None:
        """Adds a phase of operations (kind, key, value, stored under) for each process."""
        places = []
        for share in shares:
            places.append([len(self._operations), len(share)])
            for kind, key, *rest in share:
                value = rest[0] if rest else 0
                under = rest[1] if len(rest) > 1 else key
                self._operations.append((kind, key, value, under))
        phase = {"measured": True, "time_limit_s": None, "multiget": 1, "again": False}
        self.phases.append({**phase, **options, "shares": places})

    def write(self) -> Path:
        keys = (struct.pack("<2I", self.newest.get(n, 0), len(key)) + key.encode() for n, key in enumerate(self.keys))
        pool = self.folder / "pool.bin"
        pool.write_bytes(self._pool)
        self.folder.joinpath("keys.bin").write_bytes(b"".join(keys))
        self.folder.joinpath("values.bin").write_bytes(b"".join(self._values))
        operations = (struct.pack("<4I", KINDS[kind], *numbers) for kind, *numbers in self._operations)
        self.folder.joinpath("ops.bin").write_bytes(b"".join(operations))
        whole = {**self._whole, "pool": str(pool), "phases": self.phases}
        self.folder.joinpath("plan.json").write_text(json.dumps(whole))
        make_pipes(self.folder, self._whole["processes"])
        return self.folder

    def receive(self, phase: int) -> None:
        """Begins to receive the records of a phase, after those of the phase before."""
        for receiver in self._received.get(phase - 1, ()):
            receiver.join()
        self._received[phase] = [Receiver(self.folder, process) for process in range(self._whole["processes"])]

    def result(self, phase: int) -> list[dict[str, Any]]:
        """What each process did in a phase that is over."""
        shares, get = self.phases[phase]["shares"], "get_many" if self.phases[phase]["multiget"] > 1 else "get"
        counts = []
        for receiver, (first, count) in zip(self._received[phase], shares):
            share = self._operations[first : first + count]
            counts.append(receiver.counts([(get if kind == "get" else kind, value) for kind, _, value, _ in share]))
        return counts


class Memcached:
    """A server that runs as long as the test."""

    def __init__(self, program: str, address: str, arguments: tuple[str, ...]) -> None:
        self.address = address
        host, _, port = address.rpartition(":")
        self._process = subprocess.Popen([program, "-u", "root", "-l", host, "-U", "0", "-p", port, *arguments])
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return
            time.sleep(0.01)

    def pause(self) -> None:
        """Lets the server hang, and returns when all its threads stand still: it answers no request from then on."""
        self._process.send_signal(signal.SIGSTOP)
        for thread in Path(f"/proc/{self._process.pid}/task").iterdir():
            while ") T" not in thread.joinpath("stat").read_text():
                time.sleep(0.001)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def wait_for_client(self) -> None:
        """Waits until a client waits at the paused server, which has not accepted its connection.

        A client whose request timed out connects anew, and waits here.
        """
        self._wait_for_bytes("0A")

    def wait_for_request(self) -> None:
        """Waits until a request lies unread in one of the paused server's connections."""
        self._wait_for_bytes("01")

    def _wait_for_bytes(self, state: str) -> None:
        """Waits until something lies in the receive queue of a socket of the server's port in this state."""
        port = f"{int(self.address.rpartition(':')[2]):04X}"
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
                _, local, _, its_state, queues, *_ = line.split()
                if local.endswith(f":{port}") and its_state == state and int(queues.partition(":")[2], 16) > 0:
                    return
            time.sleep(0.002)
        raise TimeoutError(f"within 5 minutes nothing waits at {self.address}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def counts(of: dict[str, Any]) -> list[int]:
    """The counts of one kind of operation."""
    return [of[name] for name in ("ops", "hits", "misses", "wrong", "errors", "failed_fills", "succeeded")]
