"""The backends of frameworks; the suites of the frameworks themselves run by `just python`."""

import contextlib
import time

import django
import django.core.exceptions
import larder.django
import pytest
from django.conf import settings
from django.core.cache import CacheKeyWarning

from servers import a_memcached, free_port

if not settings.configured:
    settings.configure(SECRET_KEY="a secret of the tests", CACHES={})
    django.setup()


@pytest.fixture
def backend(url):
    from larder.django import LarderCache

    return LarderCache(url, {"OPTIONS": {"serializer": "pickle"}, "KEY_PREFIX": str(abs(hash(url)))})


def test_django_has_its_methods(backend):
    backend.set_many({"a": 1, "b": {2}}, 60)
    assert backend.get_many(["a", "b", "c"]) == {"a": 1, "b": {2}}
    assert backend.incr("a", 2) == 3 and backend.decr("a") == 2
    with pytest.raises(ValueError, match="not found"):
        backend.incr("absent")
    backend.set("text", "text")
    with pytest.raises(TypeError, match="not a number"):
        backend.incr("text")
    long = "k" * 300
    with pytest.warns(CacheKeyWarning):
        backend.set(long, 1)
        assert backend.get(long) == 1
    assert not backend.add("a", 5) and backend.add("c", 5, None)
    assert backend.get_or_set("d", lambda: "made") == "made"
    assert backend.touch("c", 100) and not backend.touch("absent")
    assert backend.has_key("c") and "c" in backend
    backend.set("c", 1, 0)
    assert backend.get("c") is None
    backend.delete_many(["a", "b"])
    assert backend.get_many(["a", "b"]) == {}
    assert backend.incr_version("d") == 2 and backend.get("d", version=2) == "made"


def test_django_clears_its_own_entries_where_others_have_theirs(url):
    from larder.django import LarderCache

    def made(prefix):
        return LarderCache(url, {"OPTIONS": {"clear": "generation"}, "KEY_PREFIX": prefix + str(abs(hash(url)))})

    mine, same, others = made("mine"), made("mine"), made("others")
    for cache in (mine, others):
        cache.set_many({"a": 1, "b": 2})
    mine.clear()
    assert mine.get_many(["a", "b"]) == same.get_many(["a", "b"]) == {}
    assert others.get("a") == 1 and others.get_many(["a", "b"]) == {"a": 1, "b": 2}
    same.set("a", 3)
    assert mine.get("a") == 3
    if "memcached:" in url or "redis:" in url:
        with pytest.raises(larder.UnsupportedError, match="write 'clear': 'generation' in OPTIONS") as raised:
            LarderCache(url, {}).clear()
        assert raised.value.kind == "unsupported"
    with pytest.raises(django.core.exceptions.ImproperlyConfigured, match="'flush' is not known"):
        LarderCache(url, {"OPTIONS": {"clear": "flush"}})


def test_django_tells_wrong_options():
    from larder.django import LarderCache

    wrong = django.core.exceptions.ImproperlyConfigured
    with pytest.raises(wrong, match=r"\['serialiser'\] are not known"):
        LarderCache("memory:", {"OPTIONS": {"serialiser": "pickle", "MAX_ENTRIES": 5, "CULL_FREQUENCY": 0}})
    with pytest.raises(wrong, match="write one URL"):
        LarderCache(["memcached://h1", "memcached://h2"], {})


def test_django_takes_any_prefix_with_generations(url):
    from larder.django import LarderCache

    prefix = f"a prefix {abs(hash(url))}"
    cache = LarderCache(url, {"OPTIONS": {"clear": "generation"}, "KEY_PREFIX": prefix})
    with pytest.warns(CacheKeyWarning):
        cache.set("a", 1)
        assert cache.get("a") == 1
        cache.clear()
        assert cache.get("a") is None


def test_django_reads_what_an_older_secret_has_signed(tmp_path):
    from django.test import override_settings
    from larder.django import LarderCache

    def opened():
        larder.django._stores.clear()
        return LarderCache(f"mmap:{tmp_path}/cache?size=1m", {"OPTIONS": {"serializer": "pickle"}})

    opened().set("a", {1})
    with override_settings(SECRET_KEY="a new secret of the tests"):
        with pytest.raises(ValueError, match="no valid signature"):
            opened().get("a")
        with override_settings(SECRET_KEY_FALLBACKS=[settings.SECRET_KEY, "a secret of the tests"]):
            assert opened().get("a") == {1}
    larder.django._stores.clear()


def test_django_is_asynchronous(backend):
    import asyncio

    async def main():
        await backend.aset("a", 1)
        assert await backend.aget("a") == 1
        assert await backend.aget_or_set("b", 2) == 2
        await backend.adelete("a")

    asyncio.run(main())


def test_dogpile_makes_a_value_once(url):
    import larder.dogpile
    from dogpile.cache import make_region

    region = make_region().configure("larder", expiration_time=60, arguments={"url": url})
    made = []
    creator = lambda: made.append(1) or {"a": 1}
    assert region.get_or_create("dogpile", creator) == {"a": 1}
    assert region.get_or_create("dogpile", creator) == {"a": 1} and len(made) == 1
    region.delete("dogpile")
    with pytest.raises(ValueError, match="not known"):
        larder.dogpile.LarderBackend({"url": url, "size": 1})


def test_cachelib_has_its_methods(url):
    from larder.cachelib import LarderCache

    cache = LarderCache(url)
    cache.delete_many("lib", "lib2", "n")
    assert cache.set("lib", [1]) and cache.add("lib2", 2) and not cache.add("lib2", 3)
    assert cache.get_many("lib", "lib2", "none") == [[1], 2, None]
    assert cache.inc("n") == 1 and cache.dec("n", 3) == -2
    assert cache.has("lib") and cache.delete_many("lib", "none") == ["lib", "none"] and not cache.has("lib")
    other = LarderCache(url, key_prefix="other:")
    assert other.set("lib", 1) and other.has("lib") and not cache.has("lib") and other.delete("lib")
    assert cache.inc("n") == -1 and cache.inc("n", 3) == 2 and cache.inc("n", 3) == 5
    cache.delete_many("lib2", "n")


def test_dogpile_makes_a_value_once_for_all_processes(url, tmp_path):
    import larder.dogpile
    from dogpile.cache import make_region
    from test_loads import children

    if url.startswith("memory:"):
        pytest.skip("the memory of a process is its own")
    larder.open(url).delete("all")
    arguments = {"url": url, "distributed_lock": True}
    region = make_region().configure("larder", expiration_time=60, arguments=arguments)
    made = tmp_path / "made"

    def create():
        with open(made, "ab", buffering=0) as file:
            file.write(b"x")
        time.sleep(0.2)
        return 5

    def work():
        assert region.get_or_create("all", create) == 5

    assert children(6, work) == [True] * 6 and made.read_bytes() == b"x"
    mutex = region.backend.get_mutex("held")
    assert mutex.acquire() and not region.backend.get_mutex("held").acquire(False)
    # The lock of a holder whose time has passed is another's.
    larder.open(url).set("held:lock", b"another")
    mutex.release()
    assert region.backend.get_mutex("held").locked()
    larder.open(url).delete("held:lock")


def test_a_server_that_begins_later_is_found():
    import larder.dogpile
    from larder.cachelib import LarderCache

    port = free_port()
    url = f"memcached://127.0.0.1:{port}"
    cache, backend = LarderCache(url), larder.dogpile.LarderBackend({"url": url})
    for call in (lambda: cache.get("key"), lambda: backend.get_serialized("key")):
        with pytest.raises(larder.UnavailableError, match="refused"):
            call()
    with a_memcached(port):
        assert cache.set("key", 1) and cache.get("key") == 1
        backend.set_serialized("key", b"bytes")
        assert backend.get_serialized("key") == b"bytes"
    for made in (lambda: LarderCache("memory:?size=huge"), lambda: larder.dogpile.LarderBackend({"url": "memory"})):
        with pytest.raises(larder.UsageError):
            made()


@pytest.mark.parametrize("key", ["k" * 300, "a page of ä", "\udc80 of a file", "line\n"], ids=ascii)
def test_every_backend_takes_any_text_as_key(url, key):
    import larder.dogpile
    from dogpile.cache import make_region
    from larder.cachelib import LarderCache
    from larder.django import LarderCache as DjangoCache

    cache = LarderCache(url, key_prefix="any:")
    assert cache.set(key, 1) and cache.get(key) == 1 and cache.get_dict(key, "absent") == {key: 1, "absent": None}
    assert cache.set_many({key: 2}) == [key] and cache.has(key) and cache.delete(key) and not cache.has(key)
    region = make_region().configure("larder", arguments={"url": url, "distributed_lock": True})
    assert region.get_or_create(key, lambda: 3) == 3 == region.get(key)
    region.delete(key)
    backend = DjangoCache(url, {})
    with pytest.warns(CacheKeyWarning) if key.isascii() or " " in key else contextlib.nullcontext():
        backend.set(key, 4)
        assert backend.get(key) == 4 and backend.delete(key)
