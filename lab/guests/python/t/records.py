"""Receives the records of a phase as Larder does, and counts outcomes.

Larder alone judges values: of those that are not the expected ones, the values of the key that have a number count as
hits here, and the others as wrong.
"""

from __future__ import annotations

import json
import os
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The kinds of parts, and of the notes that count.
BLOCK, END = 1, 2
VALUE, ERROR = 1, 3
# By outcome, what an operation counts as.
OUTCOMES = (
    ("hits", "succeeded"), ("misses",), ("errors",), ("misses", "succeeded"), ("misses", "failed_fills"), ("wrong",),
)  # fmt: skip


def make_pipes(folder: Path, processes: int) -> None:
    """Makes the pipes of a plan, unless they are there."""
    for process in range(processes):
        for name in (f"records-{process}", f"next-{process}"):
            if not folder.joinpath(name).exists():
                os.mkfifo(folder / name)


class Receiver(threading.Thread):
    """Receives the parts of one process in one phase. After a phase that is given up, which has no end, it waits on."""

    def __init__(self, folder: Path, process: int) -> None:
        super().__init__(daemon=True)
        # Opened for reading and writing, so that neither pipe waits for the program.
        self._records = os.open(folder / f"records-{process}", os.O_RDWR)
        self._next = os.open(folder / f"next-{process}", os.O_RDWR)
        self._blocks: list[bytes] = []
        self._end: dict[str, Any] = {}
        self.start()

    def run(self) -> None:
        while not self._end:
            kind, length = struct.unpack("<2I", self._read(8))
            part = self._read(length)
            if kind == END:
                self._end = json.loads(part)
            else:
                assert kind == BLOCK
                self._blocks.append(part)
                os.write(self._next, b"\n")
        os.close(self._records)
        os.close(self._next)

    def counts(self, share: list[tuple[str, int]]) -> dict[str, Any]:
        """What the process did, whose share has these operations: the name of each, and its value."""
        self.join()
        operations: dict[str, Any] = {}
        wall_ns, failed = 0, []
        done = (operation for part in self._blocks for operation in _operations(part))
        for at, (outcome, took_ns, note) in enumerate(done):
            name, value = share[at % len(share)]
            counted = operations.setdefault(name, Counter(errors_by_kind=Counter()))
            counted.update(("ops", *_counts_as(name, outcome, note)))
            wall_ns += took_ns
            if note and note[0] == ERROR:
                counted["errors_by_kind"][note[2].decode().partition("\n")[0]] += 1
                failed += [value] if name in ("set", "get_or_set") else []
        return {**self._end, "wall_ns": wall_ns, "failed": failed, "operations": operations}

    def _read(self, length: int) -> bytes:
        whole = b""
        while len(whole) < length:
            whole += os.read(self._records, length - len(whole))
        return whole


def _counts_as(name: str, outcome: int, note: tuple[int, int, bytes] | None) -> tuple[str, ...]:
    is_known = note is not None and note[0] == VALUE
    names = OUTCOMES[0 if is_known else outcome]
    return names if name.startswith("get") else tuple(it for it in names if it != "hits")


def _operations(part: bytes) -> Iterator[tuple[int, int, tuple[int, int, bytes] | None]]:
    """The operations of a block: the outcome of each, its duration, and its note, if any."""
    count, segments, notes, _ = struct.unpack_from("<4I", part)
    at = 16
    began = {first: time for first, time in struct.iter_unpack("<I4xQ", part[at : at + 16 * segments])}
    at += 16 * segments
    ends = struct.unpack_from(f"<{count}Q", part, at)
    at += 8 * count
    outcomes = part[at : at + count]
    at += count
    note_of = {}
    for _ in range(notes):
        n, kind, number, length = struct.unpack_from("<4I", part, at)
        at += 16 + length
        note_of[n] = (kind, number, part[at - length : at])
    assert at == len(part) and list(note_of) == sorted(n for n in range(count) if outcomes[n] in (2, 4, 5))
    then = 0
    for n, (end, outcome) in enumerate(zip(ends, outcomes)):
        then = began.get(n, then)
        yield outcome, end - then, note_of.get(n)
        then = end
