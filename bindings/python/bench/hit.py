"""What a hit of 100 bytes costs, beside the other caches of Python.

    python bindings/python/bench/hit.py [--rounds 9]

It needs the package itself, diskcache, pymemcache and redis (`pip install ./bindings/python diskcache pymemcache redis`), and starts a memcached
and a Redis of its own. In each round each cache has its turn: reads of 1,000 keys. The table has the median of the rounds in
nanoseconds, the spread, and the part that is the call of an empty function in the same loop.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tests"))

import larder  # noqa: E402
from servers import a_memcached, free_port  # noqa: E402

KEYS = [f"key:{number}" for number in range(1000)]
VALUE = b"x" * 100
# The shortest turn, in seconds.
TURN = 0.02
# The goals of the package: the nanoseconds of a hit, and how many hits go into one of pymemcache.
GOAL_NS, GOAL_FACTOR = 350, 20


@contextlib.contextmanager
def a_redis():
    """A Redis: its port."""
    import redis

    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        client = redis.Redis(port=port)
        while True:
            with contextlib.suppress(redis.ConnectionError):
                client.ping()
                break
            assert server.poll() is None, "redis-server has ended"
            time.sleep(0.01)
        yield port
    finally:
        server.kill()
        server.wait()


def caches(folder, memcached, redis_port):
    """The caches: for each its name, and its own methods `get` and `set`."""
    import diskcache
    import pymemcache
    import redis

    values = {}
    host, port = memcached.split(":")
    opened = {
        "larder mmap": larder.open(f"mmap:{folder}/cache?size=64m"),
        "larder memory": larder.open("memory:?size=64m"),
        "diskcache": diskcache.Cache(f"{folder}/diskcache"),
        "larder memcached": larder.open(f"memcached://{memcached}"),
        "pymemcache": pymemcache.Client((host, int(port)), no_delay=True),
        "redis-py": redis.Redis(port=redis_port),
    }
    return {"dict": (values.get, values.__setitem__), **{name: (cache.get, cache.set) for name, cache in opened.items()}}


def turn(get, repeats):
    """The nanoseconds of one call, over all keys so many times."""
    keys = KEYS
    began = time.perf_counter_ns()
    for _ in range(repeats):
        for key in keys:
            get(key)
    return (time.perf_counter_ns() - began) / repeats / len(keys)


def measure(gets, rounds):
    """The nanoseconds of each round for each cache."""
    for name, get in gets.items():
        for key in KEYS:
            assert name == "loop" or get(key) == VALUE, name
    repeats = {name: max(1, int(TURN * 1e9 / (turn(get, 1) * len(KEYS)))) for name, get in gets.items()}
    taken = {name: [] for name in gets}
    for _ in range(rounds):
        for name, get in gets.items():
            taken[name].append(turn(get, repeats[name]))
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    folder = tempfile.mkdtemp(prefix="larder-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        with a_memcached() as (_, memcached), a_redis() as redis_port:
            opened = caches(folder, memcached, redis_port)
            for _, put in opened.values():
                for key in KEYS:
                    put(key, VALUE)
            gets = {"loop": lambda key: None, **{name: get for name, (get, _) in opened.items()}}
            taken = measure(gets, rounds)
    finally:
        shutil.rmtree(folder)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    print(f"{'':18}{'median':>10}{'least':>10}{'most':>10}   ns of a hit of 100 bytes, {rounds} rounds")
    for name, times in taken.items():
        print(f"{name:18}{medians[name]:10,.0f}{min(times):10,.0f}{max(times):10,.0f}")
    factor = medians["pymemcache"] / medians["larder mmap"]
    goals = [
        (f"a hit on mmap: takes at most {GOAL_NS} ns", medians["larder mmap"] <= GOAL_NS),
        (f"it is {factor:,.0f} times faster than pymemcache, at least {GOAL_FACTOR}", factor >= GOAL_FACTOR),
    ]
    for goal, is_met in goals:
        print(f"{'met' if is_met else 'MISSED'}: {goal}")


main()
