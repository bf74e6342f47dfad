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
def a_memcached():
    """A memcached: its process and its address."""
    program = shutil.which("memcached")
    if program is None:
        raise RuntimeError("there is no memcached; install the package memcached")
    port = free_port()
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
