"""The floor: what is counted, and that it adds up."""

from __future__ import annotations

import unittest

from t.support import Case


class Null(Case):
    def test_a_plan_of_sets_and_gets_adds_up(self) -> None:
        guest = self.guest("null")
        self.assertRegex(guest.opened["language"], r"^python 3\.\d+\.\d+$")
        self.assertEqual(guest.opened["cache"], "null")
        self.assertIsNone(guest.get(b"a"))
        self.assertEqual(guest.set(b"a", b"line\nfeed"), {"stored": True})
        self.assertEqual(guest.get(b"b"), b"line\nfeed", "what was set last comes back, whatever the key")

        plan = self.plan([f"key-{n}" for n in range(100)], replays=True)
        values = [plan.value(n, n if n < 5 else 100) for n in range(100)]
        plan.phase(["set"], [("set", n, values[n]) for n in range(100)])
        plan.phase(["get"], [("get", n % 100, values[n % 100]) for n in range(200)])
        (sets,), (gets,) = guest.run(plan)
        for ran, name, expected in ((sets, "set", (100, 0, 9_510)), (gets, "get", (200, 200, 20_000))):
            found = ran["operations"][name]
            self.assertEqual((found["ops"], found["hits"], found["bytes"]), expected)
            self.assertEqual((found["misses"], found["wrong"], found["errors"]), (0, 0, 0))
            self.assertEqual(sum(times for _, times in found["latencies"]), found["succeeded"])
            self.assertEqual(sum(found["timeline"]["ops"]), found["ops"])
            self.assertEqual(found["busy_ns"], ran["wall_ns"], "one process alone is always busy")
            self.assertGreater(ran["rss_bytes"], 1_000_000)
        self.assertEqual(guest.end(), 0)

    def test_latencies_have_three_digits(self) -> None:
        guest = self.guest("null")
        plan = self.plan(["key"], replays=True)
        value = plan.value(0, 50_000)
        plan.phase(["set", "get"], [(("set", "get")[n % 2], 0, value) for n in range(20_000)])
        ((ran,),) = guest.run(plan)
        for found in ran["operations"].values():
            together = 0
            for ns, times in found["latencies"]:
                self.assertEqual(ns, int(float(f"{ns:.2e}")), "no more than three digits")
                together += ns * times
            self.assertAlmostEqual(together / found["busy_ns"], 1, delta=0.02)

    def test_cpu_time_is_told(self) -> None:
        guest = self.guest("null")
        plan = self.plan(["key"], replays=True)
        value = plan.value(0, 100)
        plan.phase(["set"], [("set", 0, value)] * 1_000, time_limit_s=0.3, again=True)
        ((ran,),) = guest.run(plan)
        cpu_ns = ran["cpu_user_ns"] + ran["cpu_system_ns"]
        self.assertGreater(cpu_ns, 0)
        self.assertLess(cpu_ns, ran["wall_ns"] * 1.1)


if __name__ == "__main__":
    unittest.main()
