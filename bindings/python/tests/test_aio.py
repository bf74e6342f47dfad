import asyncio
import signal

import larder
import pytest
from larder import aio

from servers import a_memcached


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


def test_a_load_without_callers_is_cancelled(url):
    async def main():
        async with aio.open(url) as cache:
            await cache.delete("left")
            begun, ended = [], []

            async def hang():
                begun.append(1)
                try:
                    await asyncio.sleep(60)
                finally:
                    ended.append(1)

            def call():
                return asyncio.ensure_future(cache.get_or_load("left", hang, lease=100))

            callers = [call()]
            while not begun:
                await asyncio.sleep(0.01)
            callers += [call(), call()]
            # The others join the load at their first step.
            await asyncio.sleep(0)
            for caller in callers[:2]:
                caller.cancel()
            await asyncio.wait(callers[:2])
            assert not ended and not callers[2].done()
            callers[2].cancel()

            async def load():
                return 7

            # The lease has been given back, so that the next caller need not wait for its end.
            assert await asyncio.wait_for(cache.get_or_load("left", load, wait=30), 20) == 7
            assert ended == [1] and await cache.get("left") == 7
            await cache.delete("left")

    asyncio.run(main())


def test_a_task_that_is_cancelled_while_it_asks_leaves_no_lease():
    async def main(server, address):
        async with aio.open(f"memcached://{address}?timeout=20s") as cache:
            await cache.get("key")
            server.send_signal(signal.SIGSTOP)
            caller = asyncio.ensure_future(cache.get_or_load("key", lambda: 1 / 0, lease=100))
            await asyncio.sleep(0.2)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            server.send_signal(signal.SIGCONT)

            async def load():
                return 7

            assert await asyncio.wait_for(cache.get_or_load("key", load, wait=30), 20) == 7
            assert await cache.get("key") == 7, "the value is stored, so its caller had the lease"

    with a_memcached() as (server, address):
        asyncio.run(main(server, address))


def test_a_task_waits_for_the_load_of_another_no_longer_than_it_wants():
    async def main():
        cache = aio.open("memory:?size=1m")
        made = asyncio.Event()

        async def load_slowly():
            await made.wait()
            return "slow"

        async def load():
            return "mine"

        slow = asyncio.ensure_future(cache.get_or_load("key", load_slowly))
        await asyncio.sleep(0)
        assert await cache.get_or_load("key", load, wait=0.05) == "mine"
        made.set()
        assert await slow == "slow" == await cache.get("key")

    asyncio.run(main())


def test_a_load_that_fails_fails_for_all_its_callers(url):
    async def main():
        async with aio.open(url) as cache:
            await cache.delete("fails")

            async def fail():
                await asyncio.sleep(0.05)
                raise ZeroDivisionError

            found = await asyncio.gather(*(cache.get_or_load("fails", fail) for _ in range(3)), return_exceptions=True)
            assert [type(one) for one in found] == [ZeroDivisionError] * 3
            with pytest.raises(TypeError, match="returns a dict"):
                await cache.get_or_load_many(["fails"], lambda missing: asyncio.sleep(0))
            assert (await cache.get_or_lease("fails")).token, "each lease has been given back"
            with pytest.raises(ValueError, match="wait is -1"):
                await cache.get_or_load("fails", fail, wait=-1)
            with pytest.raises(ValueError, match="early is nan"):
                await cache.get_or_load_many(["fails"], fail, early=float("nan"))

    asyncio.run(main())


def test_a_value_is_loaded_early_by_a_task(url):
    async def main():
        async with aio.open(url) as cache:
            await cache.delete("early")
            made = 0

            async def load():
                nonlocal made
                made += 1
                await asyncio.sleep(0.05)
                return made

            # The factor makes a load of 50 ms early by hours.
            found = [await cache.get_or_load("early", load, ttl=60, early=1e6) for _ in range(3)]
            assert found == [1, 2, 3] and await cache.get_or_load("early", load, ttl=60) == 3
            await cache.delete("early")

    asyncio.run(main())


def test_namespaces_are_apart():
    async def main():
        async with aio.open("memory:?size=1m") as cache:
            own = await cache.namespace("own")
            await own.set("key", 1)
            assert await cache.get("key") is None and await own.get("key") == 1

    asyncio.run(main())
