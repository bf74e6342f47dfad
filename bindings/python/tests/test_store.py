import datetime
import gc
import socket
import threading
import time
import weakref

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
    if cache.url.startswith("redis:"):
        with pytest.raises(larder.UnsupportedError, match="cas"):
            cache.cas(key, "new", 1)
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
    for ttl, told in [
        (datetime.timedelta(seconds=-1), "ttl is -1 day, 23:59:59;"),
        (float("inf"), "ttl is inf;"),
        (1e300, "ttl is 1e300;"),
        (10**400, "ttl is beyond 1e308;"),
    ]:
        with pytest.raises(ValueError, match=told):
            cache.touch(key, ttl)
    with pytest.raises(TypeError, match="of type object is not JSON serializable; .*SignedPickle"):
        cache.set(key, object())
    for call in (cache.get_many, cache.delete_many, cache.get_or_lease_many):
        with pytest.raises(TypeError, match=r"keys is one str; write \[key\]"):
            call("abc")
    with pytest.raises(TypeError, match="keys is one bytes"):
        cache.get_or_load_many(b"abc", dict.fromkeys)
    for call in (lambda: cache.incr(key, -1), lambda: cache.decr(key, 2**64), lambda: cache.incr(key, 1, -1)):
        with pytest.raises(ValueError, match="from 0 to 18446744073709551615"):
            call()
    if "redis:" not in cache.url:
        # Keys of Redis have half a gigabyte.
        with pytest.raises(larder.UsageError, match="key") as raised:
            cache.get("k" * 70_000)
        assert raised.value.kind == "key_too_long"


def test_wrong_urls_are_told():
    with pytest.raises(larder.UsageError, match="unknown engine"):
        larder.open("memcache:")
    with pytest.raises(larder.UsageError, match="size"):
        larder.open("memory:?size=huge")
    for serializer in ("pickle", larder.Json, object()):
        with pytest.raises(TypeError, match="write an object with dumps and loads"):
            larder.open("memory:", serializer=serializer)
    with pytest.raises(larder.UnavailableError, match="refused"):
        larder.open("memcached://127.0.0.1:1")


def test_a_closed_store_says_so():
    with larder.open("memory:?size=1m") as cache:
        cache.set("key", 1)
    cache.close()
    with pytest.raises(larder.Error, match="closed") as raised:
        cache.get("key")
    assert raised.value.kind == "closed"
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
    assert cache.url.split(":")[0] in ("memory", "mmap", "memcached", "tiered", "redis")
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
    with pytest.raises(TypeError, match="bytes-like"):
        larder.SignedPickle(32)
    older = larder.SignedPickle("a secret of the tests", older=["another secret of tests"])
    assert older.loads(data, flags) == {3}


def test_a_serializer_takes_what_has_no_form_of_its_own():
    """Names of files may have lone surrogates, and `str` of a number has a limit."""
    cache = larder.open("memory:?size=1m", serializer=larder.SignedPickle("a secret of the tests"))
    for value in ("\udc80name", 10**5000):
        cache.set("key", value)
        assert cache.get("key") == value
    with pytest.raises(UnicodeEncodeError):
        cache.set("\udc80", 1)


class Flagged:
    """A serializer whose form is told by these flags."""

    def __init__(self, made):
        self.made = made

    def dumps(self, value):
        return self.made

    def loads(self, data, flags):
        raise ValueError(f"the flags {flags}")


@pytest.mark.parametrize("flags", [0, 2, 16, 128])
def test_flags_of_a_serializer_that_are_of_another_form_are_refused(flags):
    cache = larder.open("memory:?size=1m", serializer=Flagged((b"x", flags)))
    with pytest.raises(ValueError, match=f"the flags {flags}, which are those of another form"):
        cache.set("key", [1])


@pytest.mark.parametrize("made", [b"x", ("x", 32), (b"x",), (b"x", -1), None], ids=repr)
def test_a_serializer_that_gives_no_form_is_told(made):
    cache = larder.open("memory:?size=1m", serializer=Flagged(made))
    with pytest.raises(TypeError, match="return a tuple of bytes and flags"):
        cache.set("key", [1])


def test_a_store_that_its_serializer_holds_is_collected():
    serializer = larder.SignedPickle("a secret of the tests")
    serializer.store = larder.open("memory:?size=1m", serializer=serializer)
    gone = weakref.ref(serializer.store)
    del serializer
    gc.collect()
    assert gone() is None


def test_numbers_wrap_as_those_of_memcached(cache, key):
    cache.set(key, 2**64 - 1)
    assert cache.get(key) == 2**64 - 1
    assert cache.incr(key) == 0 and cache.decr(key, 5) == 0
    for number in (2**64, -1):
        cache.set(key, number)
        with pytest.raises(ValueError, match="not a number") as raised:
            cache.incr(key)
        assert raised.value.kind == "not_a_number" and cache.get(key) == number


def test_other_programs_read_and_write_bytes_and_numbers_of_redis(redis):
    """Redis keeps no flags, so a mark stands before every form that cannot be seen."""
    cache = larder.open(f"redis://{redis}")
    sent = {"bytes": b"as they are", "number": 7, "digits": b"7", "text": "7", "zeros": b"007", "minus": -7, "mark": b"\xffLdr"}
    cache.set_many(sent)
    assert cache.get_many(sent) == sent and cache.delete_many(["text"]) == 1
    host, port = redis.split(":")
    with socket.create_connection((host, int(port))) as other:
        other.sendall(b"GET bytes\r\nGET number\r\nGET zeros\r\nSET text hello\r\nSET digits 18446744073709551615\r\n")
        expected = b"$11\r\nas they are\r\n$1\r\n7\r\n$3\r\n007\r\n+OK\r\n+OK\r\n"
        assert other.makefile("rb").read(len(expected)) == expected
    assert cache.get_many(["text", "digits"]) == {"text": b"hello", "digits": 2**64 - 1}
    cache.delete_many(sent)


def test_a_destructor_may_meet_a_closed_store():
    """The error of a closed store is made by Python, which may collect garbage meanwhile."""
    cache = larder.open("memory:?size=1m")
    cache.close()
    told = []

    class Collected:
        def __init__(self):
            self.itself = self

        def __del__(self):
            try:
                cache.get("key")
            except larder.Error as error:
                told.append(error.kind)

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(100):
            try:
                Collected()
                cache.get("key")
            except larder.Error as error:
                told.append(error.kind)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert told == ["closed"] * 200


def test_a_value_that_says_again_and_again_that_it_was_loaded_is_refused(memcached):
    host, port = memcached.split(":")
    value = (128).to_bytes(4, "big") * 250_000
    with socket.create_connection((host, int(port))) as other:
        other.sendall(b"set nested 128 0 %d\r\n%s\r\n" % (len(value), value))
        assert other.recv(100) == b"STORED\r\n"
    cache = larder.open(f"memcached://{memcached}")
    for call in (lambda: cache.get("nested"), lambda: cache.get_many(["nested"])):
        with pytest.raises(ValueError, match="does not begin with the flags of its form"):
            call()
    assert cache.delete("nested")
