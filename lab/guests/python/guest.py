"""A guest of Larder: opens one of Python's caches, runs a plan on it, times itself.

docs/guests.md describes the commands and answers.
"""

import os
import signal
import sys

from larder_guest.guest import Guest
from larder_guest.protocol import Protocol


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python3 guest.py FOLDER, with commands on standard input")
    # A run that is stopped by the keyboard needs no traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Standard output carries answers and nothing else, so the output of packages goes to standard error.
    answers = os.dup(1)
    os.dup2(2, 1)
    guest = Guest.open_cache(Protocol(0, answers), sys.argv[1])
    if guest is not None:
        guest.serve()


main()
