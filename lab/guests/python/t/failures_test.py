"""A failure is reported in one line and is no miss, and a phase of endless failures is given up."""

from __future__ import annotations

import time
import unittest
from collections.abc import Callable
from typing import Any

from t.support import Case, Plan, counts, need_package


class Words(Case):
    def test_a_package_that_is_missing(self) -> None:
        hidden = self.folder()
        hidden.joinpath("diskcache.py").write_text("raise ModuleNotFoundError('No module', name='diskcache')\n")
        guest = self.guest("diskcache", environment={"PYTHONPATH": str(hidden)})
        self.assertEqual(guest.opened, {"unavailable": "the Python package diskcache is not installed"})
        self.assertEqual(guest.wait(), 0)

    def test_a_cache_that_this_guest_does_not_have(self) -> None:
        unknown = self.guest("apcu").opened["unavailable"]
        self.assertRegex(unknown, "^unknown cache: apcu; known: cachebox, ")

    def test_what_a_package_prints_does_not_get_into_the_answers(self) -> None:
        noisy = self.folder()
        noisy.joinpath("diskcache.py").write_text("print('hello', flush=True)\nraise RuntimeError('no library')\n")
        guest = self.guest("diskcache", environment={"PYTHONPATH": str(noisy)})
        self.assertEqual(guest.opened, {"unavailable": "no library"})
        self.assertEqual(guest.wait(), 0)
        self.assertEqual(guest.folder.joinpath("stderr").read_text(), "hello\n")


class Servers(Case):
    def setUp(self) -> None:
        need_package("pymemcache")
        self.server = self.memcached()

    def client(self, **options: Any) -> Any:
        return self.guest("memcached", servers=[self.server.address], options=options)

    def hung(self, guest: Any, plan: Plan, event: Callable[[], None] | None) -> dict[str, Any]:
        """The last answer to the one phase of a plan. The server hangs until the event, or until the answer."""
        guest.load(plan)
        self.server.pause()
        guest.send(b"run 0\n")
        if event:
            event()
            self.server.resume()
        answer = guest.last_answer()
        self.server.resume()
        return plan.result(0)[0] if "ran" in answer else answer

    def test_a_client_for_every_operation_opens_as_many_connections(self) -> None:
        plan = self.plan(["only", "other"])
        value = plan.value(0, 50)
        plan.phase([("set", 0, value)] * 20)
        plan.phase([("get_or_set", 0, value)] * 20)
        plan.phase([("get_or_set", 1, value, 0)] * 20)
        opened = [ran["connections"] for (ran,) in self.client(connect="operation").run(plan)]
        self.assertEqual(opened, [20, 20, 20], "one connection for a miss and its fill")
        opened = [ran["connections"] for (ran,) in self.client().run(plan)]
        self.assertEqual(opened, [0, 0, 0])

    def test_a_server_that_is_gone_is_no_cache_that_misses(self) -> None:
        other = self.memcached()
        for servers, options in (
            ([self.server], {}),
            ([self.server], {"ignore_exc": True}),
            ([self.server], {"ignore_exc": True, "connect": "operation"}),
            ([self.server, other], {}),
            ([self.server, other], {"ignore_exc": True}),
        ):
            with self.subTest(servers=len(servers), options=options):
                guest = self.guest("memcached", servers=[it.address for it in servers], options=options)
                plan = self.plan([f"gone-{n}" for n in range(40)])
                values = [plan.value(n, 50) for n in range(40)]
                plan.phase([("set", n, values[n]) for n in range(40)])
                plan.phase([("get", n, values[n]) for n in range(40)])
                plan.phase([("get", n, values[n]) for n in range(40)], multiget=10)
                plan.phase([("set", n, values[n]) for n in range(40)] + [("delete", 0)])
                guest.load(plan)
                self.assertEqual(guest.ask("run 0"), {"ran": 0})
                address, self.server = self.server.address, self.server.kill()
                for phase in range(1, 4):
                    self.assertEqual(guest.ask(f"run {phase}"), {"ran": phase})
                gets, many, sets = (plan.result(phase)[0]["operations"] for phase in range(1, 4))
                for name, found in (("get", gets["get"]), ("get_many", many["get_many"]), ("set", sets["set"])):
                    self.assertEqual(found["misses"], 0, found)
                    self.assertGreater(found["errors"], 5, found)
                    self.assertEqual(found["errors"] + found["succeeded"], 40, name)
                    self.assertEqual(found["errors_by_kind"], {"io": found["errors"]})
                self.server = self.memcached(address=address)

    def test_a_get_that_times_out_is_an_error(self) -> None:
        for ignore_exc in (False, True):
            with self.subTest(ignore_exc=ignore_exc):
                plan = self.plan([f"key-{ignore_exc}", f"filled-{ignore_exc}"])
                values = [plan.value(n, 50) for n in range(2)]
                plan.phase([("get", 0, values[0]), ("get_or_set", 1, values[1]), ("get", 0, 0)])
                ran = self.hung(self.client(timeout=3, ignore_exc=ignore_exc), plan, self.server.wait_for_client)
                get, fill = ran["operations"]["get"], ran["operations"]["get_or_set"]
                self.assertEqual(counts(get), [2, 0, 1, 0, 1, 0, 0])
                self.assertEqual(get["errors_by_kind"], {"timeout": 1})
                self.assertEqual(fill["ops"], fill["misses"] + fill["errors"])

    def test_what_nobody_waited_for_is_waited_for_before_the_clock_stops(self) -> None:
        plan = self.plan([f"key-{n}" for n in range(5)])
        values = [plan.value(n, 50) for n in range(5)]
        plan.phase([("set", n, values[n]) for n in range(5)])
        hung_ns = 0

        def hang() -> None:
            nonlocal hung_ns
            self.server.wait_for_request()
            began_ns = time.perf_counter_ns()
            time.sleep(0.3)
            hung_ns = time.perf_counter_ns() - began_ns

        ran = self.hung(self.client(noreply=True, timeout=60), plan, hang)
        self.assertEqual(ran["operations"]["set"]["succeeded"], 5)
        self.assertGreater(ran["wall_ns"], hung_ns)
        refused = self.client(noreply=True, connect="operation").opened["unavailable"]
        self.assertRegex(refused, "^noreply needs connect=session")

    def test_what_nobody_acknowledged_at_last_has_failed(self) -> None:
        plan = self.plan([f"key-{n}" for n in range(5)])
        values = [plan.value(n, 50) for n in range(5)]
        plan.phase([("set", n, values[n]) for n in range(5)])
        ran = self.hung(self.client(noreply=True, timeout=0.2), plan, None)
        self.assertEqual(counts(ran["operations"]["set"]), [5, 0, 0, 0, 5, 0, 0])
        self.assertEqual(ran["operations"]["set"]["errors_by_kind"], {"timeout": 5})
        self.assertEqual(ran["failed"], values)

    def test_where_everything_hangs_it_gives_up(self) -> None:
        plan = self.plan(["key"])
        value = plan.value(0, 50)
        plan.phase([("get", 0, value)] * 100, multiget=2)
        answer = self.hung(self.client(timeout=0.5), plan, None)
        self.assertRegex(answer["error"], r"^gave up after \d+ failures in a row: timed out$")
        failures = int(answer["error"].split()[3])
        self.assertTrue(1 < failures <= 12, "they take 5 s")
        self.assertEqual(answer["kind"], "timeout")


if __name__ == "__main__":
    unittest.main()
