import datetime
import gc
import threading
import time

import larder
import pytest


@pytest.fixture
def key(request):
    return f"{abs(hash(request.node.name))}-{time.time_ns()}"


@pytest.mark.parametrize(
    "value",
    [b"", b"\x00bytes", "", "text, ä", 0, 7, -(10**30), 1.5, True, None, [1, "a", None], {"a": {"b": [2]}}],
    ids=repr,
)
def test_values_come_back_as_they_were(cache, key, value):
    cache.set(key, value)
    found = cache.get(key, "absent")
    assert found == value and type(found) is type(value)


def test_an_absent_key_is_the_default(cache, key):
    assert cache.get(key) is None
    assert cache.get(key, "default") == "default"
    assert key not in cache
    assert cache.gets(key) == (None, None)


def test_conditions_hold(cache, key):
    assert not cache.replace(key, 1)
    assert cache.add(key, 1)
    assert not cache.add(key, 2)
    assert cache.replace(key, 3)
    assert cache.get(key) == 3 and key in cache
    assert cache.delete(key) and not cache.delete(key)


def test_a_version_serves_once(cache, key):
    cache.set(key, "old")
    value, version = cache.gets(key)
    assert value == "old"
    if cache.url.startswith("tiered:"):
        assert version is None, "the tiers of a stack have versions of their own"
        return
    assert cache.cas(key, "new", version)
    assert not cache.cas(key, "late", version)
    assert cache.get(key) == "new"


def test_numbers_are_counted(cache, key):
    assert cache.incr(key) is None
    assert cache.incr(key, 5, initial=10) == 10
    assert cache.get(key) == 10, 'a number that incr has begun is a number'
    assert cache.incr(key, 5) == 15
    assert cache.decr(key, 20) == 0
    cache.set(key, "text")
    with pytest.raises(ValueError):
        cache.incr(key)


def test_entries_expire(cache, key):
    cache.set(key, "gone", ttl=1)
    cache.set(key + "2", "stays", ttl=datetime.timedelta(hours=1))
    assert cache.touch(key + "2", 3600)
    assert not cache.touch(key + "absent", 5)
    until = time.monotonic() + 30
    while key in cache:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert cache.get(key + "2") == "stays"


def test_many_keys_in_one_call(cache, key):
    values = {f"{key}-{n}": [n, str(n)] for n in range(50)}
    assert cache.set_many(values, ttl=60) == []
    assert cache.get_many([*values, key + "absent"]) == values
    assert cache.delete_many([*list(values)[:10], key + "absent"]) == 10
    assert len(cache.get_many(values)) == 40


def test_a_loader_runs_for_what_is_absent(cache, key):
    calls = []
    for value in ({"made": 1}, b"bytes", "text", 7):
        name = f"{key}{type(value).__name__}"
        loader = lambda: calls.append(name) or value
        assert cache.get_or_load(name, loader, ttl=60) == value
        assert cache.get_or_load(name, loader, ttl=60) == value
        assert cache.get(name) == value
    assert len(calls) == 4
    with pytest.raises(ZeroDivisionError):
        cache.get_or_load(key, lambda: 1 / 0)
    many = cache.get_or_load_many([f"{key}{n}" for n in "abca"], lambda missing: dict.fromkeys(missing, 1))
    assert many == {f"{key}{n}": 1 for n in "abc"}


def test_wrong_use_is_told(cache, key):
    with pytest.raises(TypeError, match="a key is str or bytes, not int"):
        cache.get(7)
    with pytest.raises(TypeError, match="ttl is a str"):
        cache.set(key, 1, ttl="soon")
    with pytest.raises(ValueError, match="ttl is -1;"):
        cache.set(key, 1, ttl=-1)
    with pytest.raises(TypeError, match="not JSON serializable"):
        cache.set(key, object())
    with pytest.raises(larder.UsageError, match="key") as raised:
        cache.get("k" * 70_000)
    assert raised.value.kind == "key_too_long"


def test_wrong_urls_are_told():
    with pytest.raises(larder.UsageError, match="unknown engine"):
        larder.open("memcache:")
    with pytest.raises(larder.UsageError, match="size"):
        larder.open("memory:?size=huge")
    with pytest.raises(larder.UnavailableError, match="refused"):
        larder.open("memcached://127.0.0.1:1")


def test_a_closed_store_says_so():
    with larder.open("memory:?size=1m") as cache:
        cache.set("key", 1)
    cache.close()
    with pytest.raises(larder.Error, match="closed"):
        cache.get("key")
    assert "closed" in repr(cache)


def test_namespaces_are_apart():
    cache = larder.open("memory:?size=1m")
    own = cache.namespace("own")
    own.set("key", 1)
    assert cache.get("key") is None and own.get("key") == 1


def test_processes_share_a_file(tmp_path):
    url = f"mmap:{tmp_path}/cache?size=1m"
    one, other = larder.open(url), larder.open(url)
    one.set("key", {"a": 1})
    assert other.get("key") == {"a": 1}


def test_threads_share_a_store(cache, key):
    def work(number):
        for n in range(200):
            cache.set(f"{key}{number}", n)
            assert cache.get(f"{key}{number}") == n

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cache.get(f"{key}{number}") for number in range(4)] == [199] * 4


def test_stats_and_url_are_told(cache, key):
    cache.set(key, 1)
    cache.get(key)
    assert cache.stats()["hits"] >= 1
    assert cache.url.split(":")[0] in ("memory", "mmap", "memcached", "tiered")
    gc.collect()


def test_a_signed_pickle_takes_objects_and_nobody_elses():
    cache = larder.open("memory:?size=1m", serializer=larder.SignedPickle("a secret of the tests"))
    cache.set("key", {1, 2})
    assert cache.get("key") == {1, 2}
    data, flags = larder.SignedPickle("another secret of tests").dumps({3})
    with pytest.raises(ValueError, match="no valid signature"):
        larder.SignedPickle("a secret of the tests").loads(data, flags)
    with pytest.raises(ValueError, match="take 16 random bytes"):
        larder.SignedPickle("short")
