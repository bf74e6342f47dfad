"""What is right, what is wrong: the cache is tampered with by commands, and what gets find is compared."""

from __future__ import annotations

import unittest
from typing import Any

from t.support import NOTHING, Case, counts


class Verification(Case):
    def setUp(self) -> None:
        self.guest_ = self.guest("dict")
        self.plan_ = plan = self.plan([f"key-{n}" for n in range(10)])
        self.old = [plan.value(n, 200) for n in range(10)]
        self.new = [plan.value(n, 300) for n in range(10)]
        self.short = plan.value(9, 20)
        one_bit = bytearray(plan.text(self.new[7]))
        one_bit[150] ^= 1
        for key, value in {
            0: plan.text(self.new[0]),
            1: plan.text(self.old[1]),
            2: plan.text(self.new[2])[:299],
            3: plan.text(self.new[4]),
            5: b"",
            6: plan.text(self.new[6]) + b"x",
            7: bytes(one_bit),
            9: plan.text(self.short),
        }.items():
            self.guest_.set(b"key-%d" % key, value)

    def found(self, *expected: int) -> list[int]:
        """What gets find that expect the given value of each key."""
        self.plan_.phases = []
        self.plan_.phase(["get"], [("get", n, value) for n, value in enumerate(expected)])
        ((ran,),) = self.guest_.run(self.plan_)
        get = ran["operations"]["get"]
        return [get[name] for name in ("hits", "misses", "wrong", "truncated")]

    def test_values_are_told_apart(self) -> None:
        old, new = self.old, self.new
        self.assertEqual(self.found(*new[:8]), [1, 1, 6, 2])
        self.assertEqual(self.found(old[0], old[1]), [2, 0, 0, 0], "one that came later is right")
        self.assertEqual(self.found(new[0], new[1]), [1, 0, 1, 0], "one that came earlier is not")
        self.assertEqual(self.found(0, 0), [2, 0, 0, 0], "where any is expected, every one of the key is right")
        self.assertEqual(self.found(0, 0, 0, 0), [2, 0, 2, 1], "but none of another key, and no part of one")
        self.assertEqual(self.found(*[0] * 8, 0, self.short), [3, 2, 5, 2], "a value without a header is right")

    def wrong(self, *expected: int) -> tuple[list[int], dict[str, Any]]:
        """In which way what gets find is wrong."""
        self.found(*expected)
        get = self.plan_.result(0)[0]["operations"]["get"]
        return [get[name] for name in ("wrong", "truncated", "stale", "other_key", "damaged")], get["wrong_examples"]

    def test_each_way_in_which_a_value_is_wrong_is_told(self) -> None:
        plan, guest, new = self.plan_, self.guest_, self.new
        counted, examples = self.wrong(*new[:8])
        self.assertEqual(counted, [6, 2, 1, 1, 2])
        told = {name: (of["key"], of["value"], of["length"]) for name, of in examples.items()}
        first = {"damaged": (6, new[6], 301), "other_key": (3, new[3], 300), "stale": (1, new[1], 200)}
        self.assertEqual(told, {**first, "truncated": (2, new[2], 299)}, "the first of each")
        self.assertEqual(examples["other_key"]["begins"], plan.text(new[4]).hex(), "with its bytes")
        earlier = plan.stranger(0, 77_777, 300)
        guest.set(b"key-0", earlier)
        example = {"key": 0, "value": new[0], "length": 300, "begins": earlier.hex()}
        self.assertEqual(self.wrong(new[0]), ([1, 0, 1, 0, 0], {"stale": example}), "one of an earlier round is stale")
        guest.set(b"key-0", plan.stranger(1, 77_777, 300)[:100])
        self.assertEqual(self.wrong(new[0])[0], [1, 0, 0, 1, 0], "one of another key is so, cut short too")
        guest.set(b"key-0", earlier[:9] + b"\xff" + earlier[10:])
        self.assertEqual(self.wrong(new[0])[0], [1, 0, 0, 0, 1], "one with a damaged header is damaged")
        older, newer = plan.value(8, 12), plan.value(8, 12)
        guest.set(b"key-8", plan.text(older))
        self.assertEqual(self.wrong(*[0] * 8, newer)[0][2], 1, "an older one without a header is stale")
        guest.set(b"key-8", plan.text(newer)[:5])
        self.assertEqual(self.wrong(*[0] * 8, newer)[0][1], 3, "a part of one is truncated")

    def test_what_is_there_after_a_delete_is_wrong(self) -> None:
        gone, back = self.plan_.value(4, 40), self.plan_.value(5, 40)
        for multiget, name in ((1, "get"), (2, "get_many")):
            with self.subTest(multiget=multiget):
                self.plan_.phases = []
                steps = [("set", 4, gone), ("set", 5, back), ("delete", 4), ("delete", 5)]
                self.plan_.phase(["set", "delete"], steps)
                self.plan_.phase([name], [("get", 4, NOTHING), ("get", 5, NOTHING)], multiget=multiget)
                self.guest_.ask(f"load {self.plan_.write()}")
                self.guest_.ask("run 0")
                self.guest_.set(b"key-5", self.plan_.text(back))
                self.guest_.ask("run 1")
                get = self.plan_.result(1)[0]["operations"][name]
                self.assertEqual(counts(get)[1:4], [0, 1, 1])
                self.assertEqual(get["bytes"], 40)
                self.assertEqual([get[name] for name in ("stale", "planned_misses", "succeeded")], [1, 1, 1])
                self.assertEqual(sum(times for _, times in get["latencies"]), 1, "what is gone is a right answer")

    def test_a_fill_goes_where_the_plan_says(self) -> None:
        value = self.plan_.value(0, 64)
        self.guest_.delete(b"key-0")
        self.guest_.delete(b"key-1")
        self.plan_.phase(["get_or_set"], [("get_or_set", 0, value, 1)] * 5)
        ((ran,),) = self.guest_.run(self.plan_)
        self.assertEqual(ran["operations"]["get_or_set"]["misses"], 5, "under the wrong key it never hits")
        self.assertEqual(self.guest_.get(b"key-1"), self.plan_.text(value))

    def test_bytes_are_those_that_were_moved(self) -> None:
        plan = self.plan_
        plan.phase(["get"], [("get", 0, self.old[0]), ("get", 2, self.new[2]), ("get", 8, 0)])
        ((ran,),) = self.guest_.run(plan)
        self.assertEqual(ran["operations"]["get"]["bytes"], 300 + 299)

    def test_time_ends_a_phase(self) -> None:
        null = self.guest("null")
        plan = self.plan(["key"], replays=True)
        value = plan.value(0, 100)
        plan.phase(["set"], [("set", 0, value)] * 5_000, time_limit_s=1.2, again=True)
        null.ask(f"load {plan.write()}")
        null.send(b"run 0\n")
        alive = null.answer()["alive"]
        self.assertGreater(alive, 5_000, "the operations come again and again, and it says how far it is")
        self.assertEqual(null.last_answer(), {"ran": 0})
        (ran,) = plan.result(0)
        self.assertAlmostEqual(ran["wall_ns"] / 1e9, 1.2, delta=0.1)
        timeline = ran["operations"]["set"]["timeline"]
        self.assertIn(len(timeline["ops"]), range(17, 33))
        self.assertEqual(len(timeline["max_ns"]), len(timeline["ops"]))
        self.assertEqual(timeline["slot_ns"].bit_count(), 1)
        self.assertLess(alive, ran["operations"]["set"]["ops"])


if __name__ == "__main__":
    unittest.main()
