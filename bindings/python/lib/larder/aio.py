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
import math
import random
from contextlib import suppress
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


class _Rules(NamedTuple):
    """How values are loaded."""

    ttl: object
    wait: float
    lease: float
    early: float

    def check(self):
        if not 0 <= self.wait < math.inf:
            raise ValueError(f"wait is {self.wait}; write seconds, 0 or more")
        if not 0 <= self.early < math.inf:
            raise ValueError(f"early is {self.early}; write 0 or more")
        return self


class _Load:
    """A load that tasks of one loop share, and how many of them wait for it."""

    def __init__(self, task):
        self.task = task
        self.callers = 0


class AsyncStore:
    """A store whose calls are awaited. Calls that may wait run in threads, the others at once."""

    def __init__(self, store, executor=None):
        self.store = store
        self._waits = store.waits
        self._executor = executor
        self._loads = {}
        # The mean time of loads, in seconds; later ones weigh more.
        self._mean = 0.0

    async def _call(self, call, *arguments, **options):
        if not self._waits:
            return call(*arguments, **options)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(call, *arguments, **options))

    async def namespace(self, name):
        """A store of the same medium with keys of its own."""
        return AsyncStore(await self._call(self.store.namespace, name), self._executor)

    async def get_or_load(self, key, loader, ttl=None, *, wait=5.0, lease=10.0, early=0.0):
        """The value of a key. Where it is absent, ``await loader()`` makes it.

        Of all tasks, threads and processes that share the store and miss the key at once, one loads. The others wait for
        ``wait`` seconds at most. After ``lease`` seconds without a value another one loads. A load whose callers are all
        cancelled is cancelled too.
        """
        rules = _Rules(ttl, wait, lease, early).check()
        load, begun = self._loads.get(key), False
        if load is None:
            asked = await self._ask([key], rules)
            if asked[key].found and asked[key].token is None:
                return asked[key].value
            # Another task may have begun its load while this one asked.
            load = self._loads.get(key)
            if load is None or asked[key].token:
                load, begun = self._begin(key, asked, loader, rules), True
        if await self._ended(key, load, None if begun else wait):
            return load.task.result()[key]
        return await loader()

    def _begin(self, key, asked, loader, rules):
        """Begins the load of a key for all tasks of this loop."""

        async def load_one(_):
            return {key: await loader()}

        load = self._loads[key] = _Load(asyncio.ensure_future(self._load(asked, load_one, rules)))
        load.task.add_done_callback(lambda _: self._forget(key, load))
        return load

    def _forget(self, key, load):
        if self._loads.get(key) is load:
            del self._loads[key]

    async def _ended(self, key, load, timeout):
        """Waits for a shared load, and tells whether it has ended. The last caller that leaves it cancels it."""
        load.callers += 1
        try:
            await asyncio.wait({load.task}, timeout=timeout)
            return load.task.done()
        finally:
            load.callers -= 1
            if not load.callers and not load.task.done():
                # Nobody may join a load that ends without a value.
                self._forget(key, load)
                load.task.cancel()

    async def get_or_load_many(self, keys, loader, ttl=None, *, wait=5.0, lease=10.0, early=0.0):
        """The values of keys. ``await loader(missing)`` returns a dict of those that it can make."""
        rules = _Rules(ttl, wait, lease, early).check()
        asked = await self._ask(list(dict.fromkeys(keys)), rules)
        return await self._load(asked, loader, rules)

    async def _ask(self, keys, rules):
        """The answers of the store for keys. A value without a token is one to use."""
        # Drawn as a stack draws it: see `load/mod.rs`. The number is above 0 and up to 1.
        early = -math.log(1 - random.random()) * self._mean * rules.early
        try:
            if self.store.has_leases:
                return await self._leased(keys, rules.lease, early)
            found = await self.get_many(keys)
        except (larder.UnavailableError, larder.RefusedError):
            # A value that a store cannot lease is loaded, as by `Store.get_or_load`.
            found = {}
        return {key: _Asked(found[key], True, None) if key in found else _Asked() for key in keys}

    async def _leased(self, keys, *times):
        """Asks for values or leases. The thread of a task that is cancelled goes on, and gives back the leases that it gets."""
        if not self._waits:
            return self.store.get_or_lease_many(keys, *times)
        call = partial(self.store.get_or_lease_many, keys, *times)
        asked = asyncio.get_running_loop().run_in_executor(self._executor, call)
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(self._give_back)
            raise

    def _give_back(self, asked):
        """Ends the leases that nobody waits for any more."""
        if asked.cancelled() or asked.exception():
            return
        held = {key: answer.token for key, answer in asked.result().items() if answer.token}
        if held:
            self._in_thread(partial(self._end, held))

    async def _load(self, asked, loader, rules):
        """The values of keys for which the store was asked, once they are all there."""
        time = asyncio.get_running_loop().time
        values, until, (pause, longest) = {}, time() + rules.wait, _PAUSES
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
                values.update(await self._make(mine, loader, rules.ttl))
            if not waiting:
                return values
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, longest)
            asked = await self._ask(waiting, rules)

    async def _make(self, mine, loader, ttl):
        """Calls the loader for keys, and stores what it makes. No lease is left, however this ends."""
        held = {key: answer.token for key, answer in mine.items() if answer.token}
        try:
            made = await self._made(list(mine), loader)
            made = {key: made[key] for key in mine if key in made}
            refused = await self._keep(made, held, ttl)
            held = {key: token for key, token in held.items() if key not in made or key in refused}
            return made
        except Exception:
            if not all(answer.found for answer in mine.values()):
                raise
            return {key: answer.value for key, answer in mine.items()}
        finally:
            if held:
                await self._release(held)

    async def _made(self, missing, loader):
        """Calls the loader; its dict."""
        time = asyncio.get_running_loop().time
        begun = time()
        try:
            made = await loader(missing)
        finally:
            took = time() - begun
            self._mean += (took - self._mean) / 8 if self._mean else took
        if not isinstance(made, dict):
            raise TypeError("the loader of get_or_load_many returns a dict of key to value")
        return made

    async def _keep(self, made, held, ttl):
        """Stores what was loaded; the keys whose values were not stored."""
        leased = {key: value for key, value in made.items() if key in held}
        try:
            if not self.store.has_leases:
                return await self.set_many(made, ttl)
            return await self.fill_many(leased, held, ttl) if leased else []
        except larder.Error:
            return list(leased)

    async def _release(self, held):
        """Ends leases without values. A thread goes on with that where the task is cancelled once more."""

        if not self._waits:
            return self._end(held)
        ended = self._in_thread(partial(self._end, held))
        if ended:
            await asyncio.shield(ended)

    def _in_thread(self, work):
        """Does some work in a thread, or at once where the loop or its threads have ended."""
        try:
            return asyncio.get_running_loop().run_in_executor(self._executor, work)
        except RuntimeError:
            work()

    def _end(self, held):
        for key, token in held.items():
            # A lease that cannot be given back ends with its time.
            with suppress(larder.Error):
                self.store.release(key, token)

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
