"""A process alone does not time the work between operations."""

from __future__ import annotations

import time
import unittest
from typing import Any

from larder_guest.cache import Cache
from larder_guest.failure import Failure
from larder_guest.phase import Phase
from larder_guest.plan import Plan
from t.support import Case


class Refusing(Cache):
    """Refuses every value, and is slow to explain why."""

    def set(self, key: bytes, value: bytes, ttl: Any) -> bool:
        return False

    def get(self, key: bytes) -> bytes | None:
        return None

    def refusal(self, key: bytes, value: bytes, answer: object, took_ns: int) -> Failure:
        time.sleep(0.05)
        return Failure("other", "not today")


class Pauses(Case):
    def test_a_refusal_is_explained_while_the_clock_stands_still(self) -> None:
        made = self.plan(["key"])
        values = [made.value(0, 50) for _ in range(10)]
        made.phase([("set", 0, value) for value in values])
        made.phase([("get_or_set", 0, value) for value in values])
        plan = Plan(str(made.write()))
        for number, name in enumerate(("set", "get_or_set")):
            made.receive(number)
            phase = Phase(plan, Refusing(), number)
            began_ns = time.perf_counter_ns()
            phase.run(lambda operations: None)
            took_ns = time.perf_counter_ns() - began_ns
            (ran,) = made.result(number)
            self.assertEqual(ran["operations"][name]["errors_by_kind"], {"other": 10})
            self.assertEqual(ran["failed"], values)
            self.assertLessEqual(ran["wall_ns"], took_ns - 10 * 50_000_000)
        self.assertEqual(ran["operations"]["get_or_set"]["misses"], 10, "a fill that is refused is a miss")
        self.assertEqual(ran["operations"]["get_or_set"]["failed_fills"], 10)


if __name__ == "__main__":
    unittest.main()
