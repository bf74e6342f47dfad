"""Visitors of the shop: each asks for one page after the other, popular ones more often.

    python load.py 127.0.0.1:8000 [SECONDS [VISITORS [SEED]]]
"""

import http.client
import random
import sys
import threading
import time
from itertools import accumulate

PRODUCTS = 20_000
EXPONENT = 0.9


def visit(address, until, draw, seen):
    """Asks for pages until that time, and notes the seconds and the cache's answer of each."""
    server = http.client.HTTPConnection(address, timeout=30)
    weights = list(accumulate(1 / rank**EXPONENT for rank in range(1, PRODUCTS + 1)))
    while time.monotonic() < until:
        number = draw.choices(range(PRODUCTS), cum_weights=weights)[0]
        began = time.perf_counter()
        server.request("GET", f"/product/{number}")
        answer = server.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        seen.append((time.perf_counter() - began, answer.headers["X-Cache"] == "hit"))


def main():
    address, seconds, visitors, seed = (sys.argv[1:] + [None] * 4)[:4]
    if address is None:
        sys.exit(__doc__)
    seconds, visitors, seed = float(seconds or 60), int(visitors or 4), int(seed or 1)
    until = time.monotonic() + seconds
    seen = [[] for _ in range(visitors)]
    threads = [
        threading.Thread(target=visit, args=(address, until, random.Random(seed + at), own))
        for at, own in enumerate(seen)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pages = [one for own in seen for one in own]
    times = sorted(1000 * time for time, _ in pages)
    hits = sum(hit for _, hit in pages) / len(pages)
    print(
        f"{len(pages) / seconds:.0f} pages a second; {hits:.1%} from the cache;"
        f" median {times[len(times) // 2]:.1f} ms, p99 {times[len(times) * 99 // 100]:.1f} ms"
    )


main()
