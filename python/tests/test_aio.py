import asyncio

import larder
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
