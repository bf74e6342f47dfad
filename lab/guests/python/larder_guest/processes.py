"""A phase that several processes share: one child for each, forked when the phase begins.

All children begin together, and each reports its progress over a pipe of its own. No child outlives this process: a
child whose report fails ends.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from typing import Final

from larder_guest.cache import Cache
from larder_guest.failure import Failure
from larder_guest.phase import Phase
from larder_guest.plan import Plan
from larder_guest.protocol import Protocol

# The longest wait for a message of a child or a command.
_WAIT_S: Final = 0.25


class _Child:
    """A child as its parent knows it."""

    __slots__ = ("process", "pid", "pipe", "text", "operations", "is_ready", "is_over")

    def __init__(self, process: int, pid: int, pipe: int) -> None:
        self.process = process
        self.pid: int | None = pid
        self.pipe = pipe
        self.text = b""
        self.operations = 0
        self.is_ready = False
        self.is_over = False


class Processes:
    """The processes of one phase."""

    __slots__ = ("_protocol", "_plan", "_cache", "_number", "_children")

    def __init__(self, protocol: Protocol, plan: Plan, cache: Cache, number: int) -> None:
        self._protocol = protocol
        self._plan = plan
        self._cache = cache
        self._number = number
        self._children: list[_Child] = []

    def run(self, tell: Callable[[int], None]) -> None:
        """Runs the phase in all processes, and calls `tell` with the operations of all several times a second."""
        count = self._plan.processes
        self._cache.before_fork()
        wait, start = os.pipe()
        try:
            for process in range(count):
                self._fork(process, wait, start)
            self._attend(tell, lambda child: child.is_ready)
            # One write starts all children; each reads a byte.
            os.write(start, b"." * count)
            self._attend(tell, lambda child: child.is_over)
        finally:
            self._end()
            os.close(wait)
            os.close(start)

    def _end(self) -> None:
        """Kills the children that still run, and waits for them."""
        for child in self._children:
            if child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
            os.close(child.pipe)
        self._children = []

    def _fork(self, process: int, wait: int, start: int) -> None:
        from_child, to_parent = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for pipe in (from_child, start, *(child.pipe for child in self._children)):
                    os.close(pipe)
                self._protocol.release()
                code = 0 if self._child(process, wait, to_parent) else 1
            finally:
                # A normal exit would also end the parent's connections.
                os._exit(code)
        os.close(to_parent)
        self._children.append(_Child(process, pid, from_child))

    def _child(self, process: int, wait: int, to_parent: int) -> bool:
        """The work of a child, which reports in lines: `ready`, a number of operations, `over`, or `failed`, a kind and
        a text.
        """

        def write(line: object) -> None:
            os.write(to_parent, f"{line}\n".encode())

        try:
            phase = Phase(self._plan, self._cache.after_fork(), self._number, process)
            write("ready")
            if not os.read(wait, 1):
                return False
            phase.run(write)
            write("over")
        except Exception as error:
            failure = Failure.of(error)
            write(f"failed {failure.kind} {failure}")
            return False
        return True

    def _attend(self, tell: Callable[[int], None], is_enough: Callable[[_Child], bool]) -> None:
        """Listens until `is_enough` holds for every child."""
        while not all(is_enough(child) for child in self._children):
            talking = {child.pipe: child for child in self._children if not child.is_over}
            ready, _, _ = select.select([*talking, self._protocol.input], [], [], _WAIT_S)
            for pipe in ready:
                if pipe in talking:
                    self._listen(talking[pipe])
            tell(sum(child.operations for child in self._children))

    def _listen(self, child: _Child) -> None:
        piece = os.read(child.pipe, 65_536)
        if not piece:
            raise self._death(child)
        *lines, child.text = (child.text + piece).split(b"\n")
        for line in lines:
            word, _, rest = line.decode("utf-8", "replace").partition(" ")
            match word:
                case "ready":
                    child.is_ready = True
                case "over":
                    child.is_over = True
                case "failed":
                    kind, _, text = rest.partition(" ")
                    raise Failure(kind, f"{self._name(child)}: {text}")
                case _:
                    child.operations = int(word)

    def _death(self, child: _Child) -> Failure:
        """The failure of a child that has ended too early."""
        pid, child.pid = child.pid, None
        _, status = os.waitpid(pid or 0, 0)
        code = os.waitstatus_to_exitcode(status)
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return Failure("other", f"{self._name(child)} {how} before its share was done")

    def _name(self, child: _Child) -> str:
        return f"process {child.process + 1} of {self._plan.processes}"
