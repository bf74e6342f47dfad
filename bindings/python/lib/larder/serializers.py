"""The forms of values that are neither bytes nor text nor whole numbers."""

import hmac
import json
import pickle
from collections.abc import Iterable
from typing import Any, NoReturn, Protocol, runtime_checkable

__all__ = ["Json", "Serializer", "SignedPickle"]


@runtime_checkable
class Serializer(Protocol):
    """Makes bytes of values, and values of bytes.

    The flags are a number below 2^32 that names the form. Larder has 0, 2, 16, 32, 64 and 128 for its own.
    """

    def dumps(self, value: Any, /) -> tuple[bytes, int]:
        """The bytes of a value, and the flags of their form."""

    def loads(self, data: bytes, flags: int, /) -> Any:
        """The value of bytes that ``dumps`` has made. It raises ``ValueError`` for the flags of another form."""


class Json:
    """JSON: dicts, lists, numbers, booleans and ``None``.

    Tuples come back as lists, and keys of dicts that are numbers, booleans or ``None`` as text.
    """

    FLAGS = 32

    def dumps(self, value: Any) -> tuple[bytes, int]:
        return json.dumps(value, separators=(",", ":"), default=_refuse).encode(), self.FLAGS

    def loads(self, data: bytes, flags: int) -> Any:
        if flags != self.FLAGS:
            raise ValueError(f"a stored value has the flags {flags}, which JSON does not read")
        return json.loads(data)


def _refuse(value: object) -> NoReturn:
    kind = type(value).__name__
    raise TypeError(
        f"a value of type {kind} is not JSON serializable; write text, or open with serializer=larder.SignedPickle(secret)"
    )


class SignedPickle:
    """Any object that pickle takes, signed: only who knows ``key`` can store what another program unpickles.

    A value that was signed with one of the keys ``older`` is read too, so that a key can be changed.

    >>> import larder
    >>> cache = larder.open("memory:?size=1m", serializer=larder.SignedPickle(b"a long secret of the application"))
    >>> cache.set("pair", (1, 2))
    >>> cache.get("pair")
    (1, 2)
    """

    FLAGS = 64
    _LENGTH = 32

    def __init__(self, key: str | bytes, protocol: int = pickle.HIGHEST_PROTOCOL, *, older: Iterable[str | bytes] = ()):
        self._keys = [_key(key), *map(_key, older)]
        self._protocol = protocol

    def dumps(self, value: Any) -> tuple[bytes, int]:
        data = pickle.dumps(value, self._protocol)
        return hmac.digest(self._keys[0], data, "sha256") + data, self.FLAGS

    def loads(self, data: bytes, flags: int) -> Any:
        if flags != self.FLAGS:
            raise ValueError(f"a stored value has the flags {flags}, which SignedPickle does not read")
        signature, data = data[: self._LENGTH], data[self._LENGTH :]
        if not any(hmac.compare_digest(signature, hmac.digest(key, data, "sha256")) for key in self._keys):
            raise ValueError("a stored value has no valid signature: it was stored with another key, or by somebody else")
        return pickle.loads(data)


def _key(given: str | bytes) -> bytes:
    # A number is no key: `bytes` of it would be as many zeros.
    key = given.encode() if isinstance(given, str) else bytes(memoryview(given))
    if len(key) < 16:
        raise ValueError(f"the key has {len(key)} bytes; take 16 random bytes or more")
    return key
