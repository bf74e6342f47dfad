import os
import signal
import threading

import larder

from servers import a_memcached


def in_child(work):
    """Does some work in a forked child, and returns what it wrote."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, repr(work()).encode())
        except BaseException as error:
            os.write(write, f"raised {error!r}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as answer:
        text = answer.read().decode()
    os.waitpid(child, 0)
    return text


def test_a_child_uses_the_store_of_its_parent(url):
    cache = larder.open(url)
    cache.set("forked", "parent")

    def work():
        found = [cache.get("forked") for _ in range(3)]
        cache.set("child", 1)
        return found

    found = in_child(work)
    # The memory of a process is its own: the child opens an empty one.
    expected = [None] * 3 if url.startswith("memory:") else ["parent"] * 3
    assert found == repr(expected)
    # The parent's connections are as they were.
    for _ in range(3):
        assert cache.get("forked") == "parent"
    if not url.startswith("memory:"):
        assert cache.get("child") == 1
    assert in_child(lambda: cache.close()) == "None"
    assert cache.get("forked") == "parent"


def test_threads_of_a_child_open_its_store_together(tmp_path):
    """The first one opens the store while the others wait, and none of them waits with the lock of Python."""
    cache = larder.open(f"mmap:{tmp_path}/cache?size=64m")
    cache.set("forked", "parent")

    def work():
        # A child that hangs ends by this signal.
        signal.alarm(20)
        begin, found = threading.Barrier(8), []
        threads = [threading.Thread(target=lambda: (begin.wait(), found.append(cache.get("forked")))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    for _ in range(10):
        assert in_child(work) == repr(["parent"] * 8)


def test_a_child_loads_without_the_server_of_its_store():
    with a_memcached() as (server, address):
        cache = larder.open(f"memcached://{address}")
        server.kill()
        server.wait()

        def work():
            many = cache.get_or_load_many(["a", "b", "a"], lambda missing: dict.fromkeys([*missing[:1], "other"], missing))
            try:
                cache.get("a")
            except larder.UnavailableError as error:
                return cache.get_or_load("a", lambda: "made"), many, error.kind

        assert in_child(work) == repr(("made", {"a": ["a", "b"]}, "unavailable"))
