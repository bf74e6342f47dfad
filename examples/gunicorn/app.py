"""Pages that take a while to make, and are kept in the cache that CACHE names."""

import os
import time

import larder

cache = larder.open(os.environ["CACHE"])

# As long as a few queries take.
SECONDS = 0.02


def page(number):
    time.sleep(SECONDS)
    return f"<h1>Page {number}</h1>" + "<p>Text.</p>" * 300


def application(environ, start_response):
    number = environ["PATH_INFO"].rpartition("/")[2]
    made = []

    def make():
        made.append(number)
        return page(number)

    body = cache.get_or_load(f"page:{number}", make, ttl=3600).encode()
    start_response(
        "200 OK",
        [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("X-Worker", str(os.getpid())),
            ("X-Made", str(len(made))),
        ],
    )
    return [body]
