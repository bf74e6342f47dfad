"""Uses a shared cache until its input ends; run.py says what each worker does."""

import random
import select
import sys
import time
import zlib

import larder

KEYS = 1000


def value_of(key, draw):
    payload = draw.choice("abcdefghij") * draw.randrange(2000)
    return f"{payload}:{zlib.crc32(f'{key}{payload}'.encode()):08x}".encode()


def check(key, value):
    # Some languages have one kind of strings, and store them as text.
    value = value.encode() if isinstance(value, str) else value
    payload, _, sum_ = value.rpartition(b":")
    if sum_ != b"%08x" % zlib.crc32(key.encode() + payload):
        sys.exit(f"wrong value of {key}: {value[:60]!r}")


def call(cache, key, part, draw):
    """One call; whether it found a value."""
    if part < 0.6:
        value = cache.get(key)
        if value is not None:
            check(key, value)
        return value is not None
    if part < 0.9:
        cache.set(key, value_of(key, draw))
    elif part < 0.95:
        cache.delete(key)
    else:
        number = cache.incr(f"number:{draw.randrange(10)}", 1, initial=1)
        assert number >= 1, number
    return False


def main():
    cache, draw = larder.open(sys.argv[1]), random.Random(int(sys.argv[2]))
    n_calls = n_hits = n_busy = 0
    slowest, told = 0.0, time.monotonic()
    while True:
        key, part = f"key:{draw.randrange(KEYS)}", draw.random()
        began = time.monotonic()
        try:
            n_hits += call(cache, key, part, draw)
        except larder.UnavailableError as error:
            if error.kind != "busy":
                raise
            n_busy += 1
        now = time.monotonic()
        slowest = max(slowest, now - began)
        n_calls += 1
        if now - told > 0.2:
            print(n_calls, n_hits, int(1000 * slowest), n_busy, flush=True)
            if select.select([sys.stdin], [], [], 0)[0]:
                break
            told = now
    cache.close()


main()
