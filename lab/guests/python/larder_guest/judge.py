"""Decides whether an unexpected value is right because another process stored a newer value, and otherwise in which way
it is wrong. The judge sees only values that differ from the expected one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from larder_guest.block import DAMAGED, NONE, OTHER_KEY, RIGHT, STALE, TRUNCATED, Block
from larder_guest.header import HEADER_BYTES
from larder_guest.plan import Plan

# A value without a header that is at least this long hardly ever equals another value by chance.
_TELLING_BYTES: Final = 8


class Judge:
    """Tells right values from wrong ones."""

    __slots__ = ("_plan", "uncertain")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        # Keys that may have any of their values, for a change of them was not acknowledged.
        self.uncertain: set[int] = set()

    def distrust(self, keys: Iterable[int]) -> None:
        self.uncertain.update(keys)

    def verdict(self, block: Block, n: int, got: bytes) -> int:
        """The outcome of operation `n` of the block, which got `got` instead of the expected value."""
        want = block.want[n]
        if not self._plan.replays and self._is_right(block, n, got):
            if len(got) != len(want):
                block.bytes_of[n] = len(got)
            return RIGHT
        block.bytes_of[n] = len(got)
        outcome = DAMAGED if self._plan.replays else self._wrong(block.key_index[n], want, got)
        block.note_wrong(n, outcome, got)
        return outcome

    def _wrong(self, key: int, want: bytes, got: bytes) -> int:
        """In which way the value `got` of a key is wrong, where `want` would have been right."""
        header = self._plan.header
        if len(got) < HEADER_BYTES:
            return self._wrong_without_header(key, want, got)
        read = header.read_intact(got)
        if read is None:
            return DAMAGED
        tag, length = read
        if tag != header.tag_of(key):
            return OTHER_KEY
        return TRUNCATED if len(got) < length else STALE

    def _wrong_without_header(self, key: int, want: bytes, got: bytes) -> int:
        """Where the key's values are shorter than a header, their bytes alone tell them apart.

        Otherwise a truncated value begins as the tag of its key does.
        """
        plan = self._plan
        newest = plan.newest[key]
        if newest and len(plan.value(newest)) < HEADER_BYTES:
            if len(got) >= _TELLING_BYTES and got in plan.numbers_of(key):
                return STALE
            is_cut = want is not NONE and len(got) < len(want) and want.startswith(got)
        else:
            tag = plan.header.tag_of(key).to_bytes(8, "little")
            is_cut = tag.startswith(got[:8])
        return TRUNCATED if is_cut else DAMAGED

    def _is_right(self, block: Block, n: int, got: bytes) -> bool:
        """Whether `got` is one of the key's values from the oldest right one to the newest.

        A hot key has thousands of values, and the clock runs. So the first bytes of `got` give the number of the one
        value to compare it with. Where the key must be absent, no number is large enough.
        """
        key = block.key_index[n]
        number = self._plan.numbers_of(key).get(got[:HEADER_BYTES])
        if number is None:
            return False
        # The value of a fill under another key says nothing about the values of this key.
        is_new = number >= block.value[n] or block.under_index[n] != key
        return (is_new or key in self.uncertain) and block.is_value(number, got)
