import asyncio

import larder
import pytest
from larder import aio


def test_calls_are_awaited(url):
    async def main():
        async with aio.open(url) as cache:
            await cache.set("aio", [1], ttl=60)
            assert await cache.get("aio") == [1]
            assert await cache.get_many(["aio", "absent"]) == {"aio": [1]}
            assert await cache.delete("aio")
            made = 0

            async def load():
                nonlocal made
                made += 1
                await asyncio.sleep(0.05)
                return "made"

            asked = [cache.get_or_load("aio", load, ttl=60) for _ in range(20)]
            assert await asyncio.gather(*asked) == ["made"] * 20 and made == 1

            async def load_many(missing):
                return {key: key.upper() for key in missing}

            found = await cache.get_or_load_many(["aio", "x", "x"], load_many)
            assert found == {"aio": "made", "x": "X"}
            await cache.delete_many(["aio", "x"])

    asyncio.run(main())
    assert larder.open(url).get("aio") is None


def test_tasks_of_two_loops_load_once(url):
    """Loops of two threads stand for those of two processes: they share nothing but the store."""
    import threading

    cache = larder.open(url)
    cache.delete_many(["two", "many1", "many2"])
    loads, found = [], []

    async def main():
        mine = aio.AsyncStore(cache)

        async def load(missing=("two",)):
            loads.extend(missing)
            await asyncio.sleep(0.2)
            return dict.fromkeys(missing, 7) if missing != ("two",) else None

        asked = [mine.get_or_load("two", load, ttl=60) for _ in range(5)]
        asked += [mine.get_or_load_many(["many1", "many2"], load, ttl=60) for _ in range(5)]
        found.extend(await asyncio.gather(*asked))

    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(loads) == ["many1", "many2", "two"]
    assert found == ([None] * 5 + [{"many1": 7, "many2": 7}] * 5) * 2
    cache.delete_many(["two", "many1", "many2"])


def test_a_load_that_ends_early_leaves_no_lease(url):
    async def main():
        async with aio.open(url) as cache:
            await cache.delete("ends")

            async def fail():
                raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await cache.get_or_load("ends", fail)

            async def hang(missing):
                await asyncio.sleep(60)

            load = asyncio.ensure_future(cache.get_or_load_many(["ends"], hang))
            await asyncio.sleep(0.1)
            load.cancel()
            with pytest.raises(asyncio.CancelledError):
                await load

            async def made():
                return object

            with pytest.raises(TypeError, match="JSON"):
                await cache.get_or_load("ends", made)

            async def load_well():
                return 5

            assert await cache.get_or_load("ends", load_well, wait=0) == 5
            if not url.startswith("tiered:"):
                await cache.expire("ends", 60)
                assert await cache.get_or_load("ends", fail) == 5
            await cache.delete("ends")

    asyncio.run(main())
