"""CPU time between two instants, and memory."""

from __future__ import annotations

import os
from resource import RUSAGE_SELF, getrusage
from typing import Final

_PAGE_BYTES: Final = os.sysconf("SC_PAGESIZE")


class Usage:
    """User and system time between `start` and `stop`."""

    __slots__ = ("_user_s", "_system_s")

    def __init__(self) -> None:
        self._user_s = 0.0
        self._system_s = 0.0

    def start(self) -> None:
        now = getrusage(RUSAGE_SELF)
        self._user_s -= now.ru_utime
        self._system_s -= now.ru_stime

    def stop(self) -> None:
        now = getrusage(RUSAGE_SELF)
        self._user_s += now.ru_utime
        self._system_s += now.ru_stime

    def cpu_ns(self) -> tuple[int, int]:
        """User and system time in nanoseconds."""
        return max(0, round(self._user_s * 1e9)), max(0, round(self._system_s * 1e9))


def rss_bytes() -> int:
    """Resident memory now."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE_BYTES
