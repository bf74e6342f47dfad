"""Servers of the tests, each a process of its own."""

import contextlib
import shutil
import socket
import subprocess
import time


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def a_memcached(port=None):
    """A memcached: its process and its address."""
    with _a_server("memcached", "memcached", "-l", "127.0.0.1", "-u", "nobody", "-p", port=port) as server:
        yield server


@contextlib.contextmanager
def a_redis():
    """A Redis: its process and its address."""
    with _a_server("redis-server", "redis-server", "--save", "", "--loglevel", "warning", "--port") as server:
        yield server


@contextlib.contextmanager
def _a_server(package, program, *arguments, port=None):
    """A server: its process and its address. The port comes behind the arguments."""
    if shutil.which(program) is None:
        raise RuntimeError(f"there is no {program}; install the package {package}")
    port = port or free_port()
    server = subprocess.Popen([program, *arguments, str(port)], stdout=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            assert server.poll() is None, f"{program} has ended"
            time.sleep(0.01)
    try:
        yield server, f"127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
