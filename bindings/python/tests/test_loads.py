"""Loads: of all that miss a key at once, one loads it."""

import os
import signal
import threading
import time

import larder
import pytest

from servers import a_memcached


@pytest.fixture
def key(request):
    return f"{abs(hash(request.node.name))}-{time.time_ns()}"


@pytest.fixture
def alone(memcached):
    """A store without leases."""
    store = larder.open(f"memcached://{memcached}?protocol=text")
    assert not store.has_leases
    yield store
    store.close()


def children(number, work):
    """Runs some work in forked children that begin at once, and returns whether each ended well."""
    read, write = os.pipe()
    pids = []
    for _ in range(number):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(write)
                os.read(read, 1)
                work()
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    os.close(read)
    os.close(write)
    return [os.waitpid(pid, 0)[1] == 0 for pid in pids]


def threads(number, work):
    """Runs some work in threads that begin at once."""
    begin = threading.Barrier(number)
    running = [threading.Thread(target=lambda: (begin.wait(), work())) for _ in range(number)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_one_process_loads_for_all(cache, key, tmp_path, many):
    if cache.url.startswith("memory:"):
        pytest.skip("the memory of a process is its own")
    loads = tmp_path / "loads"

    def load(missing=(0,)):
        with open(loads, "ab", buffering=0) as file:
            file.write(b"x" * len(missing))
        time.sleep(0.2)
        return {name: f"made {name}" for name in missing} if missing != (0,) else "made"

    def work():
        if many:
            names = [f"{key}-{n}" for n in range(10)]
            assert cache.get_or_load_many(names, load, ttl=60) == {name: f"made {name}" for name in names}
        else:
            assert cache.get_or_load(key, load, ttl=60) == "made"

    assert children(8, work) == [True] * 8
    assert len(loads.read_bytes()) == (10 if many else 1)


def test_one_thread_loads_for_all(cache, key):
    loads = []

    def work():
        assert cache.get_or_load(key, lambda: loads.append(1) or time.sleep(0.1) or "made", ttl=60) == "made"
        many = lambda missing: loads.extend(missing) or time.sleep(0.1) or dict.fromkeys(missing, 7)
        assert cache.get_or_load_many([key + "1", key + "2"], many) == {key + "1": 7, key + "2": 7}

    threads(8, work)
    assert sorted(map(str, loads)) == ["1", key + "1", key + "2"]


def test_one_thread_loads_for_all_of_a_process_without_leases(alone, key):
    test_one_thread_loads_for_all(alone, key)
    with pytest.raises(ZeroDivisionError):
        alone.get_or_load(key + "3", lambda: 1 / 0)
    assert alone.get_or_load(key + "3", lambda: 3) == 3
    with pytest.raises(larder.UnsupportedError, match="leases"):
        alone.get_or_lease(key)


def test_a_load_that_fails_lets_the_next_one_load(cache, key):
    with pytest.raises(ZeroDivisionError):
        cache.get_or_load(key, lambda: 1 / 0, wait=0)
    assert cache.get_or_load(key, lambda: 2, wait=0) == 2
    with pytest.raises(ZeroDivisionError):
        cache.get_or_load_many([key + "a"], lambda missing: 1 / 0, wait=0)
    with pytest.raises(TypeError, match="a dict"):
        cache.get_or_load_many([key + "a"], lambda missing: 1, wait=0)
    with pytest.raises(TypeError, match="JSON"):
        cache.get_or_load_many([key + "a"], lambda missing: {key + "a": object()}, wait=0)
    assert cache.get_or_load_many([key + "a"], lambda missing: {}, wait=0) == {}
    assert cache.get_or_load_many([key + "a"], lambda missing: {key + "a": 1}, wait=0) == {key + "a": 1}
    assert cache.get(key + "a") == 1


def test_a_killed_loader_holds_up_nobody_for_longer_than_its_lease(cache, key):
    if cache.url.startswith("memory:"):
        pytest.skip("the memory of a process is its own")
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        cache.get_or_load(key, lambda: os.write(write, b"x") and time.sleep(60), lease=1)
        os._exit(0)
    os.read(read, 1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(read)
    os.close(write)
    assert cache.get_or_load(key, lambda: "mine", wait=30) == "mine"
    assert cache.get(key) == "mine", "a value that was loaded without a lease is not stored"


def test_a_change_meanwhile_is_not_undone(cache, key):
    def load():
        cache.set(key, "newer")
        return "older"

    assert cache.get_or_load(key, load) == "older"
    assert cache.get(key) == "newer"
    assert cache.get_or_load_many([key], lambda missing: 1 / 0) == {key: "newer"}


def test_an_older_value_stands_for_a_failed_load(cache, key):
    cache.set(key, "older")
    if cache.url.startswith("tiered:"):
        pytest.skip("a stack has its own time of grace")
    assert cache.expire(key, 60) and not cache.expire(key + "absent")
    assert cache.get_or_load(key, lambda: 1 / 0) == "older"
    assert cache.get_or_load_many([key], lambda missing: 1 / 0) == {key: "older"}

    def end():
        raise KeyboardInterrupt

    for call in (lambda: cache.get_or_load(key, end), lambda: cache.get_or_load_many([key], lambda _: end())):
        with pytest.raises(KeyboardInterrupt):
            call()
    assert cache.get_or_load(key, lambda: "fresh") == "fresh"


def test_a_value_is_loaded_early(cache, key):
    loads = []
    load = lambda: loads.append(1) or time.sleep(0.05) or len(loads)
    assert cache.get_or_load(key, load, ttl=60) == 1
    # The factor makes a load of 50 ms early by hours.
    found = [cache.get_or_load(key, load, ttl=60, early=1e6) for _ in range(3)]
    assert found == [2, 3, 4]
    assert cache.get_or_load(key, load, ttl=60) == 4
    with pytest.raises(ValueError, match="early is -1"):
        cache.get_or_load(key, load, early=-1)
    with pytest.raises(ValueError, match="lease is -2"):
        cache.get_or_load(key, load, lease=-2)


class Unreadable:
    """A serializer whose values nobody can read."""

    def dumps(self, value):
        return b"x", 99

    def loads(self, data, flags):
        raise ValueError(f"the flags {flags}")


@pytest.mark.parametrize("has_leases", [True, False], ids=["leases", "no leases"])
def test_a_value_that_cannot_be_read_holds_up_no_other_key(memcached, key, has_leases):
    protocol = "auto" if has_leases else "text"
    store = larder.open(f"memcached://{memcached}?protocol={protocol}", serializer=Unreadable())
    store.set(key, {1})
    for _ in range(2):
        with pytest.raises(ValueError, match="the flags 99"):
            store.get_or_load_many([key + "2", key], lambda missing: 1 / 0, wait=0)
    with pytest.raises(larder.UsageError):
        store.get_or_load_many([key + "2", "k" * 70_000], lambda missing: 1 / 0, wait=0)
    assert store.get_or_load(key + "2", lambda: 2, wait=0) == 2
    assert store.get(key + "2") == 2, "the value is stored, so its caller had the right to load"


def test_leases_are_given_by_hand(cache, key):
    asked = cache.get_or_lease(key)
    assert asked.token and not asked.found and asked.value is None and not asked.stale
    waits = cache.get_or_lease(key)
    assert not waits.token and not waits.found
    assert cache.release(key, asked.token) and not cache.release(key, asked.token)
    asked = cache.get_or_lease_many([key, key + "2"])
    assert all(leased.token for leased in asked.values())
    assert cache.fill(key, [1], asked[key].token, ttl=60)
    assert not cache.fill(key, [2], asked[key].token)
    assert cache.fill_many({key + "2": "two"}, {key + "2": asked[key + "2"].token}) == []
    found = cache.get_or_lease(key)
    assert found.found and found.value == [1] and not found.token
    assert cache.get_many([key, key + "2"]) == {key: [1], key + "2": "two"}
    with pytest.raises(ValueError, match="32 bytes, not 1"):
        cache.fill(key, 1, b"x")


def test_a_store_that_fails_keeps_no_value_from_its_caller():
    with a_memcached() as (server, address):
        cache = larder.open(f"memcached://{address}")
        server.kill()
        server.wait()
        assert cache.get_or_load("key", lambda: "made") == "made"
        assert cache.get_or_load_many(["key"], lambda missing: dict.fromkeys(missing, 1)) == {"key": 1}
        with pytest.raises(larder.UnavailableError):
            cache.get("key")
