"""Four workers of gunicorn that share one file before a memcached, under load, with a rolling restart in the middle.

    python run.py [--seconds 20] [--visitors 8] [--output picture.svg] [--cache URL]

In the URL, FILE and MEMCACHED stand for a new file and the address of a memcached of this run. The exit code is 1 if a request has
failed, or if the workers after the restart had to fetch or make again what those before had in the shared file.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import load
import picture

CACHE = "tiered:mmap:FILE?size=64m|memcached://MEMCACHED|?l1_ttl=5m"
WORKERS = 4
# The time between two looks at the counters of memcached, in seconds.
STEP = 0.25


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def process(*command, port, **options):
    """A server, once its port answers; it ends with the block."""
    server = subprocess.Popen(command, **options)
    try:
        while True:
            if server.poll() is not None:
                sys.exit(f"{command[0]} has ended with {server.returncode}")
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.02)
        yield server
    finally:
        server.terminate()
        server.wait()


class Memcached:
    """The counters of a memcached: what has reached it."""

    def __init__(self, port):
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._answers = self._connection.makefile("rb")

    def gets(self):
        """The number of reads that it had, hits and misses."""
        self._connection.sendall(b"stats\r\n")
        counters = {}
        for line in iter(self._answers.readline, b"END\r\n"):
            _, name, value = line.decode().split(" ", 2)
            counters[name] = value.strip()
        return int(counters["get_hits"]), int(counters["get_misses"])


def watch(memcached, ended, samples):
    """Notes the counters over time."""
    while not ended.wait(STEP):
        samples.append((time.monotonic(), *memcached.gets()))


def bins_of(visits, samples, began):
    """For each step its time, the shares of the levels, and the quantiles of latencies."""
    visits, bins, next_visit = sorted(visits), [], 0
    for (_, hits, _), (at, later_hits, _) in zip(samples, samples[1:]):
        inside = []
        while next_visit < len(visits) and visits[next_visit].at <= at:
            inside.append(visits[next_visit])
            next_visit += 1
        if not inside:
            continue
        made = sum(visit.made for visit in inside) / len(inside)
        fetched = min((later_hits - hits) / len(inside), 1 - made)
        times = sorted(1000 * visit.seconds for visit in inside)
        quantiles = [times[min(len(times) - 1, int(len(times) * share))] for _, share, _ in picture.TIMES]
        bins.append((at - began, [1 - made - fetched, fetched, made], quantiles))
    return bins


def wait_for_other_workers(visits, old, until):
    """Waits until only workers after the restart answer."""
    while time.monotonic() < until:
        seen = {visit.worker for visit in visits[-50:] if not visit.failure}
        if len(visits) > 50 and seen and not seen & old:
            return
        time.sleep(0.05)
    sys.exit("the old workers still answer")


def judge(visits, warm, restart, before, after):
    """The faults of the run, each a sentence."""
    failures = [visit.failure for visit in visits if visit.failure]
    if failures:
        yield f"{len(failures)} of {len(visits)} requests failed, such as: {failures[0]}"
    old = {visit.worker for visit in visits if visit.at < restart}
    new = {visit.worker for visit in visits if visit.at >= restart} - old
    if len(new) < WORKERS:
        yield f"only {len(new)} new workers answered after the restart"
    made = sum(visit.made for visit in visits)
    if made:
        yield f"{made} pages were made again, of {len(warm)} that were in the cache"
    # Workers that begin ask for nothing but what the file does not have.
    fetched, answered = sum(after) - sum(before), sum(visit.at >= restart for visit in visits)
    if fetched > answered / 50:
        yield f"{fetched} reads reached memcached for {answered} pages after the restart: the file was cold"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--visitors", type=int, default=8)
    parser.add_argument("--output")
    parser.add_argument("--cache", default=CACHE)
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="larder-gunicorn-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        sys.exit(run(arguments, folder))
    finally:
        shutil.rmtree(folder)


def run(arguments, folder):
    memcached_port, port = free_port(), free_port()
    cache = arguments.cache.replace("FILE", f"{folder}/l1").replace("MEMCACHED", f"127.0.0.1:{memcached_port}")
    address, here = f"127.0.0.1:{port}", os.path.dirname(os.path.abspath(__file__))
    memcached = "memcached", "-l", "127.0.0.1", "-p", str(memcached_port), "-m", "256", "-u", "nobody"
    gunicorn = sys.executable, "-m", "gunicorn", "--workers", str(WORKERS), "--bind", address, "--log-level", "error"
    visits, samples, ended = [], [], threading.Event()
    with process(*memcached, port=memcached_port), process(
        *gunicorn, "app:application", port=port, cwd=here, env={**os.environ, "CACHE": cache}
    ) as server:
        warm = load.visit_all(address)
        counters = Memcached(memcached_port)
        began = time.monotonic()
        watcher = threading.Thread(target=watch, args=(counters, ended, samples))
        watcher.start()
        with load.Visitors(address, arguments.visitors) as visitors:
            time.sleep(arguments.seconds / 2)
            old = {visit.worker for visit in visitors.visits}
            before, restart = Memcached(memcached_port).gets(), time.monotonic()
            server.send_signal(signal.SIGHUP)
            wait_for_other_workers(visitors.visits, old, restart + 60)
            time.sleep(arguments.seconds / 2)
            visits = visitors.visits
        after = Memcached(memcached_port).gets()
        ended.set()
        watcher.join()
    end = max(visit.at for visit in visits) - began
    if arguments.output:
        with open(arguments.output, "w") as file:
            title = f"{len(visits) / end:.0f} pages a second from {WORKERS} workers"
            file.write(picture.draw(bins_of(visits, samples, began), restart - began, end, title))
    faults = list(judge(visits, warm, restart, before, after))
    print(
        f"{len(visits)} pages in {end:.1f} s, {sum(visit.made for visit in visits)} made;"
        f" memcached had {sum(after) - sum(before)} reads after the restart"
    )
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


main()
