"""Whether a value that is not the expected one is right all the same, because somebody else stored a newer one; and if not,
in which way it is wrong. Only what differs comes here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from larder.block import DAMAGED, NONE, OTHER_KEY, RIGHT, STALE, TRUNCATED, Block
from larder.header import HEADER_BYTES
from larder.plan import Plan

# A value without a header is hardly ever another one of this length by chance.
_TELLING_BYTES: Final = 8


class Judge:
    """Who tells right from wrong."""

    __slots__ = ("_plan", "uncertain")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        # Keys of which every value may be there, for what should have been stored under them was not acknowledged.
        self.uncertain: set[int] = set()

    def distrust(self, keys: Iterable[int]) -> None:
        self.uncertain.update(keys)

    def verdict(self, block: Block, n: int, got: bytes) -> int:
        """What operation `n` of the block got instead of what it wanted."""
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
        """In which way what was got under a key is wrong, where `want` would have been right."""
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
        """A value of a key whose values are that short is told by its bytes alone.

        Otherwise it is what is left of a longer one, which begins with the tag of its key.
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
        """Whether it is one of the values from the key's newest to the oldest that is right.

        A hot key has thousands of them and the clock runs, so its number is looked up by its first bytes, and it is compared
        with that one alone. Where nothing may be there no number is large enough.
        """
        key = block.key_index[n]
        number = self._plan.numbers_of(key).get(got[:HEADER_BYTES])
        if number is None:
            return False
        # What a miss would have stored under another key says nothing of this one's.
        is_new = number >= block.value[n] or block.under_index[n] != key
        return (is_new or key in self.uncertain) and block.is_value(number, got)
