"""Processes of several languages on one `mmap:` file, killed and started again at random.

    python run.py SECONDS [--library PREFIX] [--larder PROGRAM] [--rust PROGRAM] [--languages python,c,rust,perl,php,ruby]

Each worker reads and writes a thousand keys. A value ends with a checksum of its key and the rest of it, and each worker checks what
it reads, also what another language has stored. A call may be refused because a lock is not free in time: its holder may get no
processor. The workers count these calls. The exit code is 1

- if a worker finds a wrong value, or ends by itself, or if more than a tenth of all calls are refused;
- if a worker is silent for longer than PATIENCE, so that one of its calls hangs;
- if a process, a descriptor, a mapping or a lock of the file is left at the end, or a new process cannot use every key.

PREFIX has the library for C and its header, as `packaging/capi` installs them. The packages for Python and Ruby may stand in its
folders `python` and `ruby`.
"""

import argparse
import os
import random
import selectors
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../../../.."))
WORKERS = 8
# The longest silence of a worker, in seconds. It tells of its calls five times a second, also beside others.
PATIENCE = 30
# The mean life of a worker, in seconds.
LIFE = 2
# The kinds of workers, in the order in which they take their places.
LANGUAGES = ["python", "c", "rust", "perl", "php", "ruby"]


class Worker:
    """A process that uses the file."""

    def __init__(self, language, command, environment, url, seed, life):
        self.language, self.said, self.calls, self.hits, self.slowest_ms, self.busy = language, b"", 0, 0, 0, 0
        self.process = subprocess.Popen(
            [*command, url, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self.heard = time.monotonic()
        # A life begins with the first calls: a slow start must not end before them.
        self.life, self.until = life, None

    def hear(self):
        """Takes what the worker has told; whether its output goes on."""
        told = os.read(self.process.stdout.fileno(), 4096)
        self.said += told
        *lines, self.said = self.said.split(b"\n")
        for line in lines:
            self.calls, self.hits, self.slowest_ms, self.busy = map(int, line.split())
        self.heard = time.monotonic()
        if lines and self.until is None:
            self.until = self.heard + self.life
        return bool(told)

    def close(self):
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def commands_of(arguments, folder):
    """The command and the environment of the workers in each language that is there, and why the others are not."""
    library = os.path.join(arguments.library, "lib/liblarder.so") if arguments.library else ""
    by_library = {"LARDER_LIBRARY": library}
    packages = os.pathsep.join([os.environ.get("PYTHONPATH", ""), os.path.join(arguments.library or "", "python")])
    commands, absent = {"python": ([sys.executable, f"{HERE}/worker.py"], {"PYTHONPATH": packages})}, {}
    if library:
        program, include = f"{folder}/worker", os.path.join(arguments.library, "include")
        compiler = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{include}"]
        subprocess.run([*compiler, f"{HERE}/worker.c", "-o", program, library], check=True)
        commands["c"] = [program], {"LD_LIBRARY_PATH": os.path.dirname(library)}
    else:
        absent["c"] = "no --library"
    if arguments.rust:
        commands["rust"] = [arguments.rust], {}
    else:
        absent["rust"] = "no --rust"
    # The set-up has compiled the package for Ruby; `rake compile` does it where it stands.
    for_ruby = os.path.join(arguments.library or "", "ruby")
    scripts = {
        "perl": ["perl", f"-I{ROOT}/bindings/perl/lib", f"{HERE}/worker.pl"],
        "php": ["php", "-d", "ffi.enable=1", f"{HERE}/worker.php"],
        "ruby": ["ruby", f"-I{for_ruby if os.path.isdir(for_ruby) else f'{ROOT}/bindings/ruby/lib'}", f"{HERE}/worker.rb"],
    }
    for language, command in scripts.items():
        if not library:
            absent[language] = "no --library"
        elif not os.path.isdir(f"{ROOT}/bindings/{language}"):
            absent[language] = f"no package in {ROOT}/bindings/{language}"
        elif shutil.which(command[0]) is None:
            absent[language] = f"no {command[0]}"
            if os.environ.get("LARDER_REQUIRE") == "all":
                sys.exit(f"there is no {command[0]}, which LARDER_REQUIRE demands")
        else:
            commands[language] = command, {**by_library, "LARDER_PHP": f"{ROOT}/bindings/php"}
    return commands, absent


class Run:
    """The workers at their places, until the time is over."""

    def __init__(self, commands, url, seed):
        self.commands, self.url, self.draw = commands, url, random.Random(seed)
        self.selector = selectors.DefaultSelector()
        self.calls, self.hits = dict.fromkeys(commands, 0), dict.fromkeys(commands, 0)
        self.started = self.killed = self.slowest_ms = self.busy = 0
        self.workers = [self.start(list(commands)[place % len(commands)]) for place in range(WORKERS)]

    def start(self, language):
        command, environment = self.commands[language]
        self.started += 1
        life = self.draw.expovariate(1 / LIFE)
        worker = Worker(language, command, environment, self.url, self.draw.randrange(1, 1 << 31), life)
        self.selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
        return worker

    def ended(self, worker):
        """Counts what a worker has done, and lets go of it."""
        self.selector.unregister(worker.process.stdout)
        self.calls[worker.language] += worker.calls
        self.hits[worker.language] += worker.hits
        self.busy += worker.busy
        self.slowest_ms = max(self.slowest_ms, worker.slowest_ms)
        worker.close()

    def fail(self, worker, what):
        self.stop()
        sys.exit(f"fault: a worker in {worker.language} {what}")

    def stop(self):
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()

    def hear(self, seconds):
        """Hears the workers, each of which must live and tell of its calls."""
        for key, _ in self.selector.select(seconds):
            worker = key.data
            if not worker.hear():
                code, said = worker.process.wait(), worker.process.stderr.read().decode(errors="replace")
                self.fail(worker, f"has ended with {code}: {said}")
        for worker in self.workers:
            if time.monotonic() - worker.heard > PATIENCE:
                self.fail(worker, f"has told nothing for {PATIENCE} s: a call hangs, or it could not start")

    def go(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.hear(0.05)
            for place, worker in enumerate(self.workers):
                if worker.until is not None and worker.until < time.monotonic():
                    worker.process.kill()
                    worker.process.wait()
                    self.killed += 1
                    self.ended(worker)
                    self.workers[place] = self.start(worker.language)

    def end(self):
        """Ends all workers in order."""
        for worker in self.workers:
            while worker.until is None:
                self.hear(0.05)
        for worker in self.workers:
            worker.process.stdin.close()
            try:
                code = worker.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.fail(worker, f"does not end within {PATIENCE} s")
            if code != 0:
                self.fail(worker, f"has ended with {code}: {worker.process.stderr.read().decode(errors='replace')}")
            self.ended(worker)
        self.selector.close()


def holders(path):
    """The processes that have the file open or mapped, or hold a lock of it."""
    found, inode = [], os.stat(path).st_ino
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            names = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
            with open(f"/proc/{pid}/maps") as maps:
                mapped = path in maps.read()
        except OSError:
            continue
        if path in names or mapped:
            found.append(f"process {pid} has the file open")
    with open("/proc/locks") as locks:
        found += [f"a lock: {line.strip()}" for line in locks if f":{inode} " in line]
    return found


def judge_file(arguments, commands, path, url):
    """The faults of the file after the run."""
    faults = holders(path)
    if arguments.larder:
        told = subprocess.run([arguments.larder, "inspect", url], capture_output=True, text=True)
        print("".join(line + "\n" for line in told.stdout.split("\n\n")[0].splitlines()), end="")
        if told.returncode != 0:
            faults.append(f"larder inspect: {told.returncode}: {told.stderr}")
        elif "state       closed" not in told.stdout:
            faults.append("the file counts a user, and no process has it open")
    # One more worker, alone, must find every lock free.
    run = Run({"python": commands["python"]}, url, 1)
    run.go(2)
    run.end()
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--library")
    parser.add_argument("--larder")
    parser.add_argument("--rust")
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    folder = tempfile.mkdtemp(prefix="larder-mixed-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        commands, absent = commands_of(arguments, folder)
        commands = {name: commands[name] for name in LANGUAGES if name in commands and name in arguments.languages.split(",")}
        print(f"seed {seed}; {', '.join(commands)}" + "".join(f"; without {name}: {why}" for name, why in absent.items()))
        path = f"{folder}/cache"
        url, descriptors = f"mmap:{path}?size=1m", len(os.listdir("/proc/self/fd"))
        run = Run(commands, url, seed)
        run.go(arguments.seconds)
        run.end()
        for language in commands:
            print(f"{language}: {run.calls[language]} calls, {run.hits[language]} checked hits")
        print(f"{run.started} workers started, {run.killed} killed; slowest call {run.slowest_ms} ms; {run.busy} calls were refused")
        faults = judge_file(arguments, commands, path, url)
        if len(os.listdir("/proc/self/fd")) != descriptors:
            faults.append("this program has descriptors left")
        if run.busy > sum(run.calls.values()) / 10:
            faults.append("more than a tenth of the calls were refused")
        idle = [language for language in commands if run.hits[language] == 0]
        if idle:
            faults.append(f"no hits in {idle}")
        for fault in faults:
            print(f"fault: {fault}")
        sys.exit(1 if faults else 0)
    finally:
        shutil.rmtree(folder)


main()
