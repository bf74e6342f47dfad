"""The records of a process in a phase: blocks of what came of its operations, and at the end what it knows of itself.

They go over a pipe to Larder, which counts them. Before the process goes on with its next block, whose clock runs, it
waits for a byte. Meanwhile it makes that block ready, so that it seldom has to wait.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from struct import Struct, pack
from typing import Any, Final

from larder_guest.block import Block
from larder_guest.failure import Failure

# The kinds of parts.
_BLOCK: Final = 1
_END: Final = 2

# The kinds of notes.
_VALUE: Final = 1
_BYTES: Final = 2
_ERROR: Final = 3

_PART: Final = Struct("<II")
_NUMBERS: Final = Struct("<IIII")
_SEGMENT: Final = Struct("<I4xQ")


class Records:
    """The open pipes of a process."""

    __slots__ = ("_records", "_next", "_has_error", "_is_counting")

    def __init__(self, folder: Path, process: int) -> None:
        self._records = folder.joinpath(f"records-{process}").open("wb")
        self._next = folder.joinpath(f"next-{process}").open("rb", buffering=0)
        self._has_error = False
        self._is_counting = False

    def send_block(self, block: Block, count: int) -> None:
        """Sends what came of the first `count` operations of a block."""
        notes = self._notes(block)
        parts = [
            _NUMBERS.pack(count, len(block.segments), len(notes), 0),
            *(_SEGMENT.pack(first, began) for first, began in block.segments),
            pack(f"<{count}Q", *block.end[:count]),
            bytes(block.outcome[:count]),
            *notes,
        ]
        self._send(_BLOCK, b"".join(parts))
        self._is_counting = True

    def await_count(self) -> None:
        """Waits until Larder has counted the block that was sent."""
        if self._is_counting and not self._next.read(1):
            sys.exit("Larder has ended")
        self._is_counting = False

    def send_end(self, end: dict[str, Any]) -> None:
        """Sends the end of the phase."""
        self.await_count()
        self._send(_END, json.dumps(end).encode())

    def close(self) -> None:
        self._records.close()
        self._next.close()

    def _send(self, kind: int, part: bytes) -> None:
        self._records.write(_PART.pack(kind, len(part)))
        self._records.write(part)
        self._records.flush()

    def _notes(self, block: Block) -> list[bytes]:
        """The notes of a block, in the order of its operations. An operation that failed has its error only."""
        notes = {n: (_VALUE, number, b"") for n, number in block.known.items()}
        notes |= {n: (_BYTES, length, begins) for n, (length, begins) in block.unknown.items()}
        notes |= {n: (_ERROR, 0, self._words(block.errors[n])) for n in sorted(block.errors)}
        return [
            _NUMBERS.pack(n, kind, number, len(text)) + text for n, (kind, number, text) in sorted(notes.items())
        ]

    def _words(self, failure: Failure) -> bytes:
        """The kind of a failure; of the first one of the process also its text."""
        words = failure.kind if self._has_error else f"{failure.kind}\n{failure.text}"
        self._has_error = True
        return words.encode("utf-8", "replace")
