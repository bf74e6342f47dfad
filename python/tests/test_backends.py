"""The backends of frameworks; the suites of the frameworks themselves run by `just python-suites`."""

import django
import pytest
from django.conf import settings
from django.core.cache import CacheKeyWarning

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
    assert cache.has("lib") and cache.delete_many("lib", "none") == ["lib"]
