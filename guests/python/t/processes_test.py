"""Several processes share a plan; none is left behind."""

from __future__ import annotations

import os
import signal
import time
import unittest
from pathlib import Path

from t.support import Case, Guest, Plan, need_package


class Processes(Case):
    def plan_of_three(self, replays: bool) -> Plan:
        """Each of three processes sets its own keys and then reads all of them."""
        plan = self.plan([f"key-{n}" for n in range(300)], processes=3, replays=replays)
        values = [plan.value(n, 100) for n in range(300)]
        sets = [("set", n, values[n]) for n in range(300)]
        gets = [("get", n, values[n]) for n in range(300)]
        plan.phase(["set"], sets[:100], sets[100:200], sets[200:])
        plan.phase(["get"], gets, gets, gets)
        return plan

    def shared(self, guest: Guest, *, replays: bool = False) -> None:
        sets, gets = guest.run(self.plan_of_three(replays))
        self.assertEqual([ran["operations"]["set"]["succeeded"] for ran in sets], [100] * 3)
        self.assertEqual([ran["operations"]["get"]["hits"] for ran in gets], [300] * 3)
        for phase in (sets, gets):
            starts = [ran["start_ns"] for ran in phase]
            self.assertLess(max(starts) - min(starts), 2_000_000_000, "all begin together")
            for ran in phase:
                self.assertLessEqual(sum(it["busy_ns"] for it in ran["operations"].values()), ran["wall_ns"])
        self.assertTrue(guest.set(b"after", b"x")["stored"], "the parent goes on")
        self.assertEqual(guest.end(), 0)

    def test_null(self) -> None:
        self.shared(self.guest("null"), replays=True)

    def test_diskcache(self) -> None:
        need_package("diskcache")
        for options in ({}, {"shards": 2, "timeout": 60}):
            with self.subTest(options=options):
                self.shared(self.guest("diskcache", options=options, folder=str(self.folder())))

    def test_memcached(self) -> None:
        need_package("pymemcache")
        server, other = self.memcached(), self.memcached()
        for servers, options in (([server], {}), ([server, other], {}), ([server], {"connect": "operation"})):
            with self.subTest(servers=len(servers), options=options):
                addresses = [server.address for server in servers]
                self.shared(self.guest("memcached", servers=addresses, options=options))

    def test_a_value_that_another_process_stored_later_is_right(self) -> None:
        need_package("diskcache")
        plan = self.plan(["hot"], processes=2)
        first = plan.value(0, 64)
        later = [plan.value(0, 64 + n % 40) for n in range(200)]
        plan.phase(["set"], [("set", 0, first)], [])
        sets = [("set", 0, value) for value in later]
        plan.phase(["get", "set"], [("get", 0, first)] * 500, sets)
        _, (reader, writer) = self.guest("diskcache").run(plan)
        get = reader["operations"]["get"]
        self.assertEqual((get["hits"], get["wrong"]), (500, 0))
        self.assertEqual(writer["operations"]["set"]["succeeded"], 200)

    def endless(self, processes: int) -> Guest:
        """A guest whose processes work without end."""
        plan = self.plan(["key"], processes=processes, replays=True)
        share = [("set", 0, plan.value(0, 100))] * 100
        plan.phase(["set"], *[share] * processes, time_limit_s=600, again=True)
        guest = self.guest("null")
        guest.ask(f"load {plan.write()}")
        guest.send(b"run 0\n")
        self.assertGreater(guest.answer()["alive"], 0)
        return guest

    def test_the_end_of_standard_input_ends_all(self) -> None:
        for processes in (1, 3):
            with self.subTest(processes=processes):
                guest = self.endless(processes)
                children = children_of(guest.pid)
                self.assertEqual(len(children), 0 if processes == 1 else processes)
                self.assertEqual(guest.close(), 0)
                self.assertTrue(all(is_gone(child) for child in children))

    def test_when_the_guest_is_killed_its_children_end(self) -> None:
        guest = self.endless(2)
        children = children_of(guest.pid)
        os.kill(guest.pid, signal.SIGKILL)
        self.assertEqual(guest.wait(), -signal.SIGKILL)
        self.assertTrue(all(is_gone(child) for child in children))

    def test_a_child_that_dies_is_named(self) -> None:
        guest = self.endless(3)
        children = children_of(guest.pid)
        os.kill(children[1], signal.SIGKILL)
        error = guest.last_answer()["error"]
        self.assertRegex(error, "^process [123] of 3 was ended by signal 9 before its share was done$")
        self.assertTrue(all(is_gone(child) for child in children))
        self.assertTrue(guest.set(b"a", b"b")["stored"], "the guest goes on")
        self.assertEqual(guest.end(), 0)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid: int) -> bool:
    for _ in range(300):
        try:
            if ") Z" in Path(f"/proc/{pid}/stat").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


if __name__ == "__main__":
    unittest.main()
