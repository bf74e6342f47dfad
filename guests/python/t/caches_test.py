"""What every cache must do, by commands and by a plan."""

from __future__ import annotations

import time
import unittest
from typing import Any

from t.support import Case, counts, need_package


class Caches(Case):
    def test_dict(self) -> None:
        self.holds("dict")

    def test_diskcache(self) -> None:
        need_package("diskcache")
        for options in ({}, {"shards": 3}, {"eviction_policy": "least-frequently-used", "statistics": True}):
            with self.subTest(options=options):
                self.holds("diskcache", options=options, folder=str(self.folder()))

    def test_memcached(self) -> None:
        need_package("pymemcache")
        server, other = self.memcached(), self.memcached()
        local = self.memcached(path=self.folder() / "socket")
        for servers, options in (
            ([server], {}),
            ([local], {"no_delay": True}),
            ([server], {"connect": "operation"}),
            ([server], {"noreply": True}),
            ([server, other], {}),
            ([server, other], {"connect": "operation", "ignore_exc": True}),
        ):
            with self.subTest(servers=len(servers), options=options):
                self.holds("memcached", servers=[server.address for server in servers], options=options)

    def holds(self, cache: str, **order: Any) -> None:
        guest = self.guest(cache, **order)
        self.assertRegex(guest.opened.get("cache", ""), r"^dict$|^\w+ \d", guest.opened)
        every = bytes(range(256))
        self.assertIsNone(guest.get(b"none"))
        self.assertTrue(guest.set(b"bytes", every)["stored"])
        self.assertEqual(guest.get(b"bytes"), every)
        self.assertTrue(guest.set(b"bytes", b"newer")["stored"])
        self.assertEqual(guest.get(b"bytes"), b"newer")
        self.assertTrue(guest.set(b"empty", b"")["stored"])
        self.assertEqual(guest.get(b"empty"), b"", "an empty value is not a miss")
        self.assertTrue(guest.touch(b"bytes", 60))
        self.assertTrue(guest.delete(b"bytes"))
        self.assertFalse(guest.delete(b"bytes"))
        self.assertFalse(guest.touch(b"bytes", 60))
        self.assertTrue(guest.set(b"long", b"x" * 60_000, 600)["stored"])
        self.assertEqual(guest.get(b"long"), b"x" * 60_000)
        self.runs_a_plan(guest)
        self.assertEqual(guest.end(), 0)

    def runs_a_plan(self, guest: Any) -> None:
        plan = self.plan([f"{guest.pid}-{n}" for n in range(50)], ttl_s=600)
        values = [plan.value(n, 10 + 40 * n) for n in range(50)]
        get = [("get", n, values[n] if n < 30 else 0) for n in range(40)]
        plan.phase(["set"], [("set", n, values[n]) for n in range(30)])
        plan.phase(["get"], get)
        plan.phase(["get_many"], get, multiget=8)
        plan.phase(["get_or_set"], [("get_or_set", n, values[n]) for n in range(20, 50)])
        mixed = [step for n in range(40, 50) for step in (("get", n, values[n]), ("delete", n))]
        plan.phase(["get", "delete"], mixed)
        found = [ran["operations"] for (ran,) in guest.run(plan)]
        self.assertEqual(counts(found[0]["set"]), [30, 0, 0, 0, 0, 0, 30])
        self.assertEqual(counts(found[1]["get"]), [40, 30, 10, 0, 0, 0, 30])
        self.assertEqual(counts(found[2]["get_many"]), [40, 30, 10, 0, 0, 0, 30])
        self.assertEqual(counts(found[3]["get_or_set"]), [30, 10, 20, 0, 0, 0, 30])
        self.assertEqual(counts(found[4]["get"]), [10, 10, 0, 0, 0, 0, 10])
        self.assertEqual(counts(found[4]["delete"]), [10, 0, 0, 0, 0, 0, 10])
        requests = sum(times for _, times in found[2]["get_many"]["latencies"])
        self.assertEqual(requests, 4, "a request has one latency, if any of its keys was right")

    def test_values_expire(self) -> None:
        guests = [self.guest("dict")]
        need_package("diskcache")
        need_package("pymemcache")
        guests += [self.guest("diskcache"), self.guest("memcached", servers=[self.memcached().address])]
        for guest in guests:
            guest.set(b"short", b"x", 1)
            guest.set(b"renewed", b"x", 1)
            self.assertEqual(guest.get(b"short"), b"x")
            self.assertTrue(guest.touch(b"renewed", 600))
        time.sleep(2.1)
        for guest in guests:
            self.assertIsNone(guest.get(b"short"), guest.opened)
            self.assertFalse(guest.delete(b"short"), guest.opened)
            self.assertEqual(guest.get(b"renewed"), b"x", guest.opened)

    def test_another_process_finds_what_the_first_one_stored(self) -> None:
        need_package("diskcache")
        for options in ({}, {"shards": 2}):
            folder = str(self.folder())
            first = self.guest("diskcache", folder=folder, options=options)
            first.set(b"kept", b"x" * 50_000)
            self.assertEqual(first.end(), 0)
            second = self.guest("diskcache", folder=folder, options=options, fresh=False)
            self.assertEqual(second.get(b"kept"), b"x" * 50_000)
            self.assertEqual(second.end(), 0)
            third = self.guest("diskcache", folder=folder, options=options)
            self.assertIsNone(third.get(b"kept"), "or begins empty")

    def test_what_the_user_chose_is_what_is_opened(self) -> None:
        need_package("diskcache")
        chosen = {
            "size_limit": 1 << 20, "eviction_policy": "none", "cull_limit": 3, "statistics": True, "tag_index": True,
            "disk_min_file_size": 100, "sqlite_synchronous": 2, "timeout": 1.5,
        }  # fmt: skip
        settings = self.guest("diskcache", options=chosen).opened["settings"]
        told = {name: settings[name] for name in chosen}
        self.assertEqual(told, {name: "1" if value is True else str(value) for name, value in chosen.items()})
        for room_bytes, size in ((1 << 20, 1 << 30), (3 << 30, 6 << 30)):
            settings = self.guest("diskcache", room_bytes=room_bytes, folder=str(self.folder())).opened["settings"]
            self.assertEqual(settings["size_limit"], str(size), "its own limit, unless that is too small")


if __name__ == "__main__":
    unittest.main()
