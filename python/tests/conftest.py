import contextlib
import itertools
import shutil
import socket
import subprocess
import time

import larder
import pytest


@contextlib.contextmanager
def a_memcached():
    """A memcached of these tests: its process and its address."""
    program = shutil.which("memcached")
    if program is None:
        pytest.fail("there is no memcached; install the package memcached")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([program, "-l", "127.0.0.1", "-p", str(port), "-u", "nobody"])
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            assert server.poll() is None, "memcached has ended"
            time.sleep(0.01)
    try:
        yield server, f"127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def memcached():
    """The address of a memcached that all tests share."""
    with a_memcached() as (_, address):
        yield address


_numbers = itertools.count()


@pytest.fixture(params=["memory", "mmap", "memcached", "tiered"])
def url(request, tmp_path, memcached):
    """The URL of an empty store of each kind."""
    file = tmp_path / f"cache{next(_numbers)}"
    return {
        "memory": "memory:?size=8m",
        "mmap": f"mmap:{file}?size=8m",
        "memcached": f"memcached://{memcached}",
        "tiered": f"tiered:mmap:{file}?size=8m|memcached://{memcached}",
    }[request.param]


@pytest.fixture
def cache(url, request):
    """An open store; its keys begin with the name of the test, because all tests share one memcached."""
    store = larder.open(url)
    yield store
    store.close()
