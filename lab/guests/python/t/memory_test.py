"""Bounded caches in the memory of the process: what they drop, what they refuse, and their TTLs."""

from __future__ import annotations

import time
import unittest
from typing import Any

from t.support import Case, Guest, need_package

# By the name of the cache: options with which 100 of 200 values of 1000 bytes have room.
BOUNDED: dict[str, dict[str, Any]] = {
    "cachebox": {"size": 118_600, "policy": None},
    "cachetools": {"size": 130_000, "policy": "lru"},
    "lru_cache": {"size": None, "maxsize": 100, "entry": None},
}


class Memory(Case):
    def bounded(self, cache: str, **options: Any) -> Guest:
        if cache != "lru_cache":
            need_package(cache)
        return self.guest(cache, options={**BOUNDED[cache], **options})

    def test_the_least_recently_used_entries_are_dropped_and_counted(self) -> None:
        for cache in BOUNDED:
            guest = self.bounded(cache)
            plan = self.plan([f"key{n:03}" for n in range(200)])
            values = [plan.value(n, 1000) for n in range(200)]
            first_half = [(name, n, values[n]) for n in range(100) for name in ("set", "get")]
            plan.phase(first_half)
            # The first entries become the most recent ones before others make room.
            plan.phase([("get", n, values[n]) for n in range(50)])
            plan.phase([("set", n, values[n]) for n in range(100, 150)])
            plan.phase([("get", n, values[n]) for n in range(150)])
            with self.subTest(cache):
                self.assertEqual(guest.load(plan), {"loaded": True, "evictions": 0})
                ran = [guest.ask(f"run {phase}")["evictions"] for phase in range(4)]
                self.assertEqual(ran, [0, 0, 50, 0])
                found = plan.result(3)[0]["operations"]["get"]
                self.assertEqual((found["hits"], found["misses"], found["wrong"]), (100, 50, 0))

    def test_a_value_that_would_fill_the_cache_alone_is_refused_and_leaves_no_older_one(self) -> None:
        for cache in ("cachebox", "cachetools"):
            with self.subTest(cache):
                guest = self.bounded(cache)
                guest.set(b"a", b"old")
                refused = guest.set(b"a", b"x" * 200_000)
                self.assertEqual(refused["kind"], "too_large", refused)
                self.assertIsNone(guest.get(b"a"))

    def test_entries_have_their_own_ttl_unless_another_policy_is_chosen(self) -> None:
        for cache, policy in (("cachebox", "lru"), ("cachetools", "lfu")):
            with self.subTest(cache):
                guest = self.bounded(cache)
                guest.set(b"mortal", b"m", 0.05)
                guest.set(b"lasting", b"l")
                time.sleep(0.1)
                self.assertEqual((guest.get(b"mortal"), guest.get(b"lasting")), (None, b"l"))
                refused = self.bounded(cache, policy=policy).set(b"a", b"x", 10)
                self.assertIn(f"no TTL with policy={policy}", refused["error"])

    def test_a_deleted_entry_of_lru_cache_is_a_miss_until_it_is_set_again(self) -> None:
        guest = self.bounded("lru_cache")
        guest.set(b"a", b"1")
        self.assertEqual([guest.ask("delete 1", b"a") for _ in range(2)], [{"found": True}, {"found": False}])
        self.assertIsNone(guest.get(b"a"))
        guest.set(b"a", b"")
        self.assertEqual(guest.get(b"a"), b"", "an empty value is a value")

    def test_lru_cache_has_as_many_entries_as_fit_or_room_for_everything(self) -> None:
        for size, room_bytes, told in ((1 << 20, 8 << 20, "32"), (8 << 20, 8 << 20, "room for everything")):
            options = {"size": size, "maxsize": None, "entry": None}
            settings = self.guest("lru_cache", options=options, room_bytes=room_bytes).opened["settings"]
            self.assertEqual((settings["maxsize"], settings["entry_bytes"]), (told, "32768"))


class PyLibMc(Case):
    def test_a_miss_that_took_as_long_as_the_time_out_is_no_miss(self) -> None:
        need_package("pylibmc")
        server = self.memcached()
        guest = self.guest("pylibmc", servers=[server.address], options={"timeout": 0.2})
        guest.set(b"a", b"1")
        self.assertIsNone(guest.get(b"absent"))
        server.pause()
        answer = guest.ask("get 1", b"a")
        server.resume()
        self.assertEqual(answer["kind"], "timeout", answer)


if __name__ == "__main__":
    unittest.main()
