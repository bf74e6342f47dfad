"""A guest of Larder: opens one of Python's caches, runs a plan on it, times itself.

docs/guests.md says what is asked and answered here.
"""

import os
import signal
import sys

from larder.guest import Guest
from larder.protocol import Protocol


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python3 guest.py FOLDER, with commands on standard input")
    # Whoever stops a run by the keyboard has asked for no traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Standard output carries answers and nothing else; what a package prints goes where its complaints go.
    answers = os.dup(1)
    os.dup2(2, 1)
    guest = Guest.open_cache(Protocol(0, answers), sys.argv[1])
    if guest is not None:
        guest.serve()


main()
