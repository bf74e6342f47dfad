"""The forms of values that are neither bytes nor text nor whole numbers."""

import hmac
import json
import pickle

__all__ = ["Json", "SignedPickle"]


class Json:
    """JSON: dicts with text as keys, lists, numbers, booleans and ``None``. Tuples come back as lists."""

    FLAGS = 32

    def dumps(self, value):
        return json.dumps(value, separators=(",", ":")).encode(), self.FLAGS

    def loads(self, data, flags):
        if flags != self.FLAGS:
            raise ValueError(f"a stored value has the flags {flags}, which JSON does not read")
        return json.loads(data)


class SignedPickle:
    """Any object that pickle takes, signed: only who knows ``key`` can store what another program unpickles.

    >>> import larder
    >>> cache = larder.open("memory:?size=1m", serializer=larder.SignedPickle(b"a long secret of the application"))
    >>> cache.set("pair", (1, 2))
    >>> cache.get("pair")
    (1, 2)
    """

    FLAGS = 64
    _LENGTH = 32

    def __init__(self, key, protocol=pickle.HIGHEST_PROTOCOL):
        self._key = key.encode() if isinstance(key, str) else bytes(key)
        if len(self._key) < 16:
            raise ValueError(f"the key has {len(self._key)} bytes; take 16 random bytes or more")
        self._protocol = protocol

    def _sign(self, data):
        return hmac.digest(self._key, data, "sha256")

    def dumps(self, value):
        data = pickle.dumps(value, self._protocol)
        return self._sign(data) + data, self.FLAGS

    def loads(self, data, flags):
        if flags != self.FLAGS:
            raise ValueError(f"a stored value has the flags {flags}, which SignedPickle does not read")
        signature, data = data[: self._LENGTH], data[self._LENGTH :]
        if not hmac.compare_digest(signature, self._sign(data)):
            raise ValueError("a stored value has no valid signature: it was stored with another key, or by somebody else")
        return pickle.loads(data)
