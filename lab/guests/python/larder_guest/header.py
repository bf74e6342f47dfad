"""The header of a value: the tag of its key, its version, its length and a checksum.

With the seed of the plan it identifies any value of this run, also a value of an earlier round.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

HEADER_BYTES: Final = 24

_HEADER: Final = Struct("<QIIQ")
_MASK: Final = (1 << 64) - 1


class Header:
    """Makes and reads headers."""

    __slots__ = ("_seed", "_span", "_pool")

    def __init__(self, seed: str, span: int, pool: bytes) -> None:
        """`seed` is in hexadecimal digits; values begin in the first `span` bytes of `pool`."""
        self._seed = int(seed, 16)
        self._span = span
        self._pool = pool

    def tag_of(self, key: int) -> int:
        """The tag of the key with this index."""
        return _mix(self._seed ^ (key << 1 | 1))

    def of(self, key: int, version: int, length: int) -> bytes:
        """The header of a value, for a program that composes values itself."""
        tag = self.tag_of(key)
        return _HEADER.pack(tag, version, length, self._checksum(tag, version, length))

    def offset(self, key: int, version: int) -> int:
        """The place in the pool where the value of this key and version begins."""
        return self._begin(self.tag_of(key), version)

    def read_intact(self, value: bytes) -> tuple[int, int] | None:
        """The tag and the length in the header of a value of this run, which may be truncated behind its header.

        `None` where `value` is no such value: a byte differs, or it has more bytes than its header says.
        """
        if len(value) < HEADER_BYTES:
            return None
        tag, version, length, checksum = _HEADER.unpack_from(value)
        if len(value) > length or checksum != self._checksum(tag, version, length):
            return None
        at = self._begin(tag, version)
        if value[HEADER_BYTES:] != self._pool[at + HEADER_BYTES : at + len(value)]:
            return None
        return tag, length

    def _begin(self, tag: int, version: int) -> int:
        return _mix(tag ^ version) % self._span

    def _checksum(self, tag: int, version: int, length: int) -> int:
        return _mix(tag ^ _mix((version << 32 | length) ^ self._seed))


def _mix(x: int) -> int:
    """The finalizer of SplitMix64 (Steele, Lea, Flood 2014), modulo 2 to the 64th."""
    x = (x + 0x9E37_79B9_7F4A_7C15) & _MASK
    x = (x ^ (x >> 30)) * 0xBF58_476D_1CE4_E5B9 & _MASK
    x = (x ^ (x >> 27)) * 0x94D0_49BB_1331_11EB & _MASK
    return x ^ (x >> 31)
