"""pymemcache: every method of its clients, against the server at the address of the first argument.

The program prints what differs from memcached and ends with code 1, or prints `OK`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from pymemcache import serde
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import (
    MemcacheClientError,
    MemcacheIllegalInputError,
    MemcacheServerError,
    MemcacheUnknownCommandError,
)

HOST, PORT = sys.argv[1].split(":")
ADDRESS = (HOST, int(PORT))
LARGE = b"\x00\r\n\xff" * (1 << 18)
differences: list[str] = []


def same(what: str, got: Any, expected: Any) -> None:
    if got != expected or type(got) is not type(expected):
        differences.append(f"{what}: {repr(got)[:200]} in place of {repr(expected)[:200]}")


def raises(what: str, kind: type[Exception], call: Any, *arguments: Any) -> None:
    try:
        differences.append(f"{what}: {call(*arguments)!r} in place of {kind.__name__}")
    except kind:
        pass


def client(**options: Any) -> Client:
    return Client(ADDRESS, timeout=10, connect_timeout=10, **{"default_noreply": False, **options})


def storing(c: Client) -> None:
    same("get of an absent key", c.get("k"), None)
    same("get with a default", c.get("k", b"default"), b"default")
    same("replace of an absent key", c.replace("k", b"v"), False)
    same("append to an absent key", c.append("k", b"v"), False)
    same("prepend to an absent key", c.prepend("k", b"v"), False)
    same("set", c.set("k", b"middle"), True)
    same("add of a present key", c.add("k", b"v"), False)
    same("add", c.add("added", b"v"), True)
    same("append", c.append("k", b" end"), True)
    same("prepend", c.prepend("k", b"start "), True)
    same("get", c.get("k"), b"start middle end")
    same("replace", c.replace("k", b"new"), True)
    same("flags", (c.set("flags", b"v", flags=0xFFFFFFFF), c.gets("flags")[0]), (True, b"v"))
    same("an empty value", (c.set("empty", b""), c.get("empty")), (True, b""))
    c["item"] = b"by index"
    same("an index", c["item"], b"by index")
    del c["item"]
    same("a deleted index", c.get("item"), None)


def comparing(c: Client) -> None:
    same("gets of an absent key", c.gets("absent"), (None, None))
    same("cas of an absent key", c.cas("absent", b"v", 1), None)
    value, version = c.gets("k")
    same("gets", value, b"new")
    same("cas", c.cas("k", b"newer", version), True)
    same("cas with an old version", c.cas("k", b"v", version), False)
    same("the value after both", c.get("k"), b"newer")
    same("gets_many", sorted((k, v) for k, (v, _) in c.gets_many(["k", "added", "absent"]).items()),
         [("added", b"v"), ("k", b"newer")])


def many(c: Client) -> None:
    values = {f"many{i}": str(i).encode() * i for i in range(100)}
    same("set_many", c.set_many(values), [])
    same("get_many", c.get_many([*values, "absent"]), values)
    same("get_many of no key", c.get_many([]), {})
    same("delete_many", c.delete_many(list(values)[:50]), True)
    same("get_many after delete_many", c.get_many(list(values)), dict(list(values.items())[50:]))


def counting(c: Client) -> None:
    same("incr of an absent key", c.incr("number", 1), None)
    same("decr of an absent key", c.decr("number", 1), None)
    same("a number", c.set("number", b"10"), True)
    same("incr", c.incr("number", 5), 15)
    same("decr", c.decr("number", 4), 11)
    same("decr below zero", c.decr("number", 100), 0)
    c.set("number", str((1 << 64) - 1).encode())
    same("incr beyond the largest number", c.incr("number", 2), 1)
    c.set("word", b"word")
    raises("incr of a word", MemcacheClientError, c.incr, "word", 1)


def without_answers(c: Client) -> None:
    same("set with noreply", c.set("quiet", b"1", noreply=True), True)
    same("add with noreply", c.add("quiet2", b"2", noreply=True), True)
    same("replace with noreply", c.replace("quiet2", b"3", noreply=True), True)
    same("append with noreply", c.append("quiet2", b"4", noreply=True), True)
    same("prepend with noreply", c.prepend("quiet2", b"2", noreply=True), True)
    same("incr with noreply", c.incr("quiet", 41, noreply=True), None)
    same("touch with noreply", c.touch("quiet", 100, noreply=True), True)
    same("what noreply stored", c.get_many(["quiet", "quiet2"]), {"quiet": b"42", "quiet2": b"234"})
    same("cas with noreply", c.cas("quiet", b"5", c.gets("quiet")[1], noreply=True), True)
    same("delete with noreply", c.delete("quiet2", noreply=True), True)
    same("what noreply left", c.get_many(["quiet", "quiet2"]), {"quiet": b"5"})
    same("set_many with noreply", c.set_many({f"quiet{i}": b"v" for i in range(100)}, noreply=True), [])
    same("what set_many stored", len(c.get_many([f"quiet{i}" for i in range(100)])), 100)


def keys_and_sizes(c: Client) -> None:
    long = "k" * 250
    same("a key of 250 bytes", (c.set(long, b"long"), c.get(long)), (True, b"long"))
    raises("a key of 251 bytes", MemcacheIllegalInputError, c.get, long + "k")
    raises("a key of 251 bytes on the wire", MemcacheClientError, c.raw_command, f"get {long}k")
    uni = client(allow_unicode_keys=True, serde=serde.pickle_serde)
    same("a key in Unicode", (uni.set("schlüssel–鍵", "wért–値"), uni.get("schlüssel–鍵")), (True, "wért–値"))
    large = LARGE[:-1024]
    same("a large value", (c.set("large", large), c.get("large") == large), (True, True))
    raises("a value that is too large", MemcacheServerError, c.set, "large", LARGE + b"x")
    same("the key of a value that was too large", c.get("large"), None)
    same("the connection after it", (c.set("k", b"v"), c.get("k")), (True, b"v"))


def objects() -> None:
    pickled = client(serde=serde.pickle_serde)
    squeezed = client(serde=serde.compressed_serde)
    values = [b"bytes", "text–値", 12345678901234567890, 1.5, None, True, [1, {"a": (2, "b")}], "long " * 5000]
    for i, value in enumerate(values):
        for name, c in (("pickled", pickled), ("compressed", squeezed)):
            same(f"a {name} object {i}", (c.set(f"{name}{i}", value), c.get(f"{name}{i}", "absent")), (True, value))
    same("bytes on the wire", len(client().get("compressed7")) < 1000, True)


def lifetimes(c: Client) -> None:
    # An entry of memcached with a TTL of one second may end at once, at the next tick of its clock.
    for key in ("short", "touched", "gat", "gats"):
        same(f"set of {key}", c.set(key, b"v", expire=2), True)
    same("a time in the past", (c.set("past", b"v", expire=-1), c.get("past")), (True, None))
    same("a date", (c.set("date", b"v", expire=int(time.time()) + 100), c.get("date")), (True, b"v"))
    same("a date in the past", (c.set("date", b"v", expire=int(time.time()) - 100), c.get("date")), (True, None))
    same("touch", (c.touch("touched", 100), c.touch("absent", 100)), (True, False))
    same("gat on the wire", c.raw_command("gat 100 gat", b"END\r\n"), b"VALUE gat 0 1\r\nv\r\n")
    same("gats on the wire", c.raw_command("gats 100 gats", b"END\r\n").split()[:4], [b"VALUE", b"gats", b"0", b"1"])
    time.sleep(3.2)
    left = c.get_many(["short", "touched", "gat", "gats"])
    same("what has expired", left, {"touched": b"v", "gat": b"v", "gats": b"v"})


def others(c: Client) -> None:
    same("version", c.version()[:2], b"1.")
    stats = c.stats()
    same("stats", {name in stats for name in (b"pid", b"uptime", b"curr_items", b"cmd_get", b"get_hits")}, {True})
    same("the type of a counter", (type(stats[b"curr_items"]), type(stats[b"rusage_user"])), (int, float))
    same("stats settings", c.stats("settings")[b"maxconns"] > 0, True)
    same("a raw command", c.raw_command("mn"), b"MN")
    raises("an unknown command", MemcacheUnknownCommandError, c.raw_command, "nonsense")
    same("delete", (c.delete("k"), c.delete("k"), c.get("k")), (True, False, None))
    pool = PooledClient(ADDRESS, timeout=10, max_pool_size=2, default_noreply=False)
    same("a pool", (pool.set("pool", b"v"), pool.get("pool")), (True, b"v"))
    of_many = HashClient([ADDRESS], timeout=10, default_noreply=False)
    same("set of a hash client", of_many.set("hash", b"v"), True)
    same("a hash client", of_many.get_many(["hash", "pool"]), {"hash": b"v", "pool": b"v"})
    same("flush_all later", (c.flush_all(delay=100), c.get("pool")), (True, b"v"))
    same("flush_all", (c.flush_all(), c.get("pool")), (True, None))
    same("flush_all with noreply", (c.set("k", b"v"), c.flush_all(noreply=True), c.get("k")), (True, True, None))
    c.quit()
    same("a new connection after quit", c.get("k"), None)


def main() -> int:
    c = client()
    c.flush_all()
    for part in (storing, comparing, many, counting, without_answers, keys_and_sizes):
        part(c)
    objects()
    lifetimes(c)
    others(c)
    print("\n".join(differences) or "OK")
    return 1 if differences else 0


sys.exit(main())
