"""A failure, with a kind that is counted and a text of one line."""

from __future__ import annotations

import errno
import re
from typing import Any, Final

# Words by which a message tells the kind of a failure, where the class of the exception does not.
_KINDS: Final = (
    ("timeout", re.compile(r"tim(?:ed|e)[ -]?out", re.IGNORECASE)),
    ("too_large", re.compile(r"too ?(?:large|big|long)", re.IGNORECASE)),
    ("full", re.compile(r"out ?of ?memory|disk is full|no space left", re.IGNORECASE)),
    ("io", re.compile(r"unexpected ?close|connection|servers seem to be down|disk i/o|unable to open", re.IGNORECASE)),
)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)


class Failure(Exception):
    """A failed operation."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind
        self.text = " ".join(text.split()) or "an error without a message"

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure of a caught exception: a failure as it is, any other exception by its class and its words."""
        if isinstance(error, cls):
            return error
        text = _words(error)
        if isinstance(error, TimeoutError):
            return cls("timeout", text)
        if isinstance(error, MemoryError) or isinstance(error, OSError) and error.errno in _FULL:
            return cls("full", text)
        if isinstance(error, OSError):
            return cls("io", text)
        known = (kind for kind, words in _KINDS if words.search(f"{type(error).__name__} {text}"))
        return cls(next(known, "other"), text)

    def answer(self) -> dict[str, Any]:
        return {"error": self.text, "kind": self.kind}


def _words(error: BaseException) -> str:
    """The words of an exception; the name of its class where it has no words."""
    if isinstance(error, OSError) and error.strerror:
        place = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{place}"
    words = (part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part) for part in error.args)
    return ": ".join(word for word in words if word) or type(error).__name__
