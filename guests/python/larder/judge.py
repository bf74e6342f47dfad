"""Whether a value that is not the expected one is right all the same, because somebody else stored a newer one, or
a truncated one, or plainly wrong. Only what differs comes here.
"""

from __future__ import annotations

from collections.abc import Iterable

from larder.block import NONE, RIGHT, TRUNCATED, WRONG, Block
from larder.plan import HEADER_BYTES, Plan


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
        if want is NONE or len(got) >= len(want):
            return WRONG
        return TRUNCATED if want.startswith(got) else WRONG

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
