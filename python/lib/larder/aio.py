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
from typing import NamedTuple

import larder

__all__ = ["AsyncStore", "open"]

# The first pause between two looks at a key that another caller loads, and the longest.
_PAUSES = 0.0005, 0.05


class _Asked(NamedTuple):
    """The answer of a store without leases, or of one that fails: its caller loads."""

    value: object = None
    found: bool = False
    token: bytes = b""


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

    async def get_or_load(self, key, loader, ttl=None, *, wait=5.0, lease=10.0):
        """The value of a key. Where it is absent, ``await loader()`` makes it.

        Of all tasks, threads and processes that share the store and miss the key at once, one loads. The others wait for
        ``wait`` seconds at most. After ``lease`` seconds without a value another one loads.
        """
        load = self._loads.get(key)
        if load is None:
            asked = await self._ask([key], lease)
            if asked[key].found and asked[key].token is None:
                return asked[key].value
            # Another task may have begun its load while this one asked.
            load = self._loads.get(key)
            if load is None or asked[key].token:
                load = self._begin(key, asked, loader, (ttl, wait, lease))
        return (await asyncio.shield(load))[key]

    def _begin(self, key, asked, loader, rules):
        """Begins the load of a key for all tasks of this loop."""

        async def load_one(_):
            return {key: await loader()}

        load = self._loads[key] = asyncio.ensure_future(self._load(asked, load_one, *rules))

        def ended(_):
            if self._loads.get(key) is load:
                del self._loads[key]

        load.add_done_callback(ended)
        return load

    async def get_or_load_many(self, keys, loader, ttl=None, *, wait=5.0, lease=10.0):
        """The values of keys. ``await loader(missing)`` returns a dict of those that it can make."""
        asked = await self._ask(list(dict.fromkeys(keys)), lease)
        return await self._load(asked, loader, ttl, wait, lease)

    async def _ask(self, keys, lease):
        """The answers of the store for keys. A value without a token is one to use."""
        try:
            if self.store.has_leases:
                return await self.get_or_lease_many(keys, lease)
            found = await self.get_many(keys)
        except larder.UnavailableError:
            found = {}
        return {key: _Asked(found[key], True, None) if key in found else _Asked() for key in keys}

    async def _load(self, asked, loader, ttl, wait, lease):
        """The values of keys for which the store was asked, once they are all there."""
        time = asyncio.get_running_loop().time
        values, until, (pause, longest) = {}, time() + wait, _PAUSES
        while True:
            mine, waiting = {}, []
            for key, answer in asked.items():
                if answer.token is not None:
                    mine[key] = answer
                elif answer.found:
                    values[key] = answer.value
                else:
                    waiting.append(key)
            left = until - time()
            if left <= 0:
                mine.update((key, _Asked()) for key in waiting)
                waiting = []
            if mine:
                values.update(await self._make(mine, loader, ttl))
            if not waiting:
                return values
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, longest)
            asked = await self._ask(waiting, lease)

    async def _make(self, mine, loader, ttl):
        """Calls the loader for keys, and stores what it makes. No lease is left, however this ends."""
        held = {key: answer.token for key, answer in mine.items() if answer.token}
        try:
            made = await loader(list(mine))
            made = {key: made[key] for key in mine if key in made}
            refused = await self._keep(made, held, ttl)
            held = {key: token for key, token in held.items() if key not in made or key in refused}
            return made
        except Exception:
            if not all(answer.found for answer in mine.values()):
                raise
            return {key: answer.value for key, answer in mine.items()}
        finally:
            for key, token in held.items():
                # A call that only releases hardly waits, and an ended task can await nothing.
                self._release(key, token)

    async def _keep(self, made, held, ttl):
        """Stores what was loaded; the keys whose values were not stored."""
        leased = {key: value for key, value in made.items() if key in held}
        try:
            if not self.store.has_leases:
                return await self.set_many(made, ttl)
            return await self.fill_many(leased, held, ttl) if leased else []
        except larder.Error:
            return list(leased)

    def _release(self, key, token):
        try:
            self.store.release(key, token)
        except larder.Error:
            # The lease ends with its time.
            pass

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
    " get_or_lease get_or_lease_many fill fill_many release expire"
).split():
    setattr(AsyncStore, _name, _awaited(_name))


def open(url, *, serializer=None, executor=None):
    """Opens the cache of a URL. Calls that may wait run in ``executor``: the loop's own without one."""
    return AsyncStore(larder.open(url, serializer=serializer), executor)
