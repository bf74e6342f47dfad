"""Visitors of a site: each asks for one page after the other, popular ones more often."""

import http.client
import random
import threading
import time
from itertools import accumulate
from typing import NamedTuple

PAGES = 1000
EXPONENT = 0.9


class Visit(NamedTuple):
    """One answer, or a failure."""

    at: float
    seconds: float
    worker: int
    made: bool
    failure: str = ""


def ask(address, number):
    """Asks for a page on a connection of its own."""
    began = time.monotonic()
    server = http.client.HTTPConnection(address, timeout=30)
    try:
        server.request("GET", f"/page/{number}")
        answer = server.getresponse()
        body = answer.read()
        failure = "" if answer.status == 200 else f"status {answer.status}"
        if f"<h1>Page {number}</h1>".encode() not in body:
            failure = failure or f"page {number} has the text of another"
        worker, made = int(answer.headers["X-Worker"] or 0), answer.headers["X-Made"] == "1"
    except (OSError, http.client.HTTPException) as error:
        worker, made, failure = 0, False, repr(error)
    finally:
        server.close()
    now = time.monotonic()
    return Visit(now, now - began, worker, made, failure)


class Visitors:
    """Threads that ask for pages until they are stopped."""

    def __init__(self, address, number, seed=1):
        self.visits = []
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._visit, args=(address, random.Random(seed + at))) for at in range(number)
        ]

    def _visit(self, address, draw):
        weights = list(accumulate(1 / rank**EXPONENT for rank in range(1, PAGES + 1)))
        while not self._stopped.is_set():
            self.visits.append(ask(address, draw.choices(range(PAGES), cum_weights=weights)[0]))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self._stopped.set()
        for thread in self._threads:
            thread.join()


def visit_all(address, threads=8):
    """Asks for each page once, so that the cache has all of them."""
    numbers = iter(range(PAGES))
    visits = []

    def work():
        # An iterator of a range gives each number to one thread.
        for number in numbers:
            visits.append(ask(address, number))

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return visits
