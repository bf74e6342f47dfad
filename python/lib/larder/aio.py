"""Larder's caches for asyncio.

>>> import asyncio
>>> from larder import aio
>>> async def main():
...     cache = aio.open("memory:?size=1m")
...     await cache.set("key", "value")
...     return await cache.get("key")
>>> asyncio.run(main())
'value'
"""

import asyncio
from functools import partial, wraps

import larder

__all__ = ["AsyncStore", "open"]


class AsyncStore:
    """A store whose calls are awaited. Calls that may wait run in threads, the others at once."""

    def __init__(self, store, executor=None):
        self.store = store
        self._waits = store.waits
        self._executor = executor
        self._loads = {}

    async def _call(self, call, *arguments, **options):
        if not self._waits:
            return call(*arguments, **options)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(call, *arguments, **options))

    async def get_or_load(self, key, loader, ttl=None):
        """The value of a key. Where it is absent, ``await loader()`` makes it, once for all tasks of this loop that ask."""
        value = await self.get(key)
        if value is not None:
            return value
        load = self._loads.get(key)
        if load is None:
            load = self._loads[key] = asyncio.ensure_future(self._load(key, loader, ttl))
            load.add_done_callback(lambda _: self._loads.pop(key, None))
        return await asyncio.shield(load)

    async def _load(self, key, loader, ttl):
        value = await loader()
        await self.set(key, value, ttl)
        return value

    async def get_or_load_many(self, keys, loader, ttl=None):
        """The values of keys. ``await loader(missing)`` returns a dict of those that it can make."""
        keys = list(dict.fromkeys(keys))
        values = await self.get_many(keys)
        missing = [key for key in keys if key not in values]
        if missing:
            made = await loader(missing)
            await self.set_many(made, ttl)
            values.update(made)
        return values

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self.close()


def _awaited(name):
    method = getattr(larder.Store, name)

    @wraps(method)
    async def call(self, *arguments, **options):
        return await self._call(getattr(self.store, name), *arguments, **options)

    return call


for _name in (
    "get gets set add replace cas incr decr touch delete get_many set_many delete_many clear stats close"
).split():
    setattr(AsyncStore, _name, _awaited(_name))


def open(url, *, serializer=None, executor=None):
    """Opens the cache of a URL. Calls that may wait run in ``executor``: the loop's own without one."""
    return AsyncStore(larder.open(url, serializer=serializer), executor)
