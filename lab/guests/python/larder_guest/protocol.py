"""Commands in, answers out.

Both streams are used without Python's own buffers: a length counts bytes, and the system tells whether a command waits.
"""

from __future__ import annotations

import json
import os
import select
from typing import Any, Final

_PIECE: Final = 65_536


class Protocol:
    """This program's ends of its two pipes to Larder."""

    __slots__ = ("input", "_output", "_buffer", "_ended")

    def __init__(self, commands: int, answers: int) -> None:
        self.input = commands
        self._output = answers
        self._buffer = b""
        self._ended = False

    def line(self) -> str | None:
        """The next line without its line feed; `None` once the input has ended."""
        while b"\n" not in self._buffer:
            if not self._more():
                return None
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode("utf-8", "replace")

    def bytes(self, length: int) -> bytes:
        """The `length` bytes that follow a line."""
        pieces = [self._buffer]
        have = len(self._buffer)
        while have < length:
            self._buffer = b""
            if not self._more():
                raise EOFError(f"the input ended within {length} announced bytes")
            pieces.append(self._buffer)
            have += len(self._buffer)
        whole = b"".join(pieces)
        self._buffer = whole[length:]
        return whole[:length]

    def answer(self, answer: dict[str, Any], value: bytes = b"") -> None:
        """Writes one answer, and the bytes that belong to it."""
        rest = memoryview(json.dumps(answer, sort_keys=True).encode() + b"\n" + value)
        while rest:
            rest = rest[os.write(self._output, rest) :]

    def has_ended(self) -> bool:
        """Whether the input has ended, found out without waiting: the program that gave the commands is gone."""
        while not self._ended and select.select([self.input], [], [], 0)[0]:
            self._more()
        return self._ended

    def release(self) -> None:
        """Leaves both streams to the parent process.

        The input is not merely closed: the next file that is opened would get the number of standard input.
        """
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, self.input)
        os.close(nothing)
        os.close(self._output)

    def _more(self) -> bool:
        if self._ended:
            return False
        piece = os.read(self.input, _PIECE)
        self._buffer += piece
        self._ended = not piece
        return not self._ended
