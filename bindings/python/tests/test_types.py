"""The types that the package tells to mypy and to editors."""

import subprocess
import sys

USE = """
import asyncio
import datetime

import larder
from larder import aio

cache = larder.open("memory:", serializer=larder.SignedPickle(b"sixteen bytes..."))
page: bytes = cache.get_or_load("page", lambda: b"", ttl=datetime.timedelta(minutes=5))
pages: dict[str, int] = cache.get_or_load_many(["page"], lambda missing: dict.fromkeys(missing, 1))
refused: list[str] = cache.set_many({"page": 1})


async def main() -> None:
    async with aio.open("memory:") as own:
        number: int | None = await own.incr("visits", initial=1)

        async def load() -> str:
            return str(number)

        text: str = await own.get_or_load("text", load)
        print(text)


try:
    asyncio.run(main())
except larder.Error as error:
    print(error.kind)
"""


def run(*arguments):
    ran = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def test_types_are_those_of_the_package():
    code, said = run("mypy.stubtest", "larder._larder", "larder.aio", "--ignore-disjoint-bases")
    assert code == 0, said


def test_a_program_with_types_is_right_and_a_wrong_call_is_told(tmp_path):
    program = tmp_path / "program.py"
    # mypy complains of a line that is marked as wrong and is not.
    program.write_text(USE + "\ncache.get(5)  # type: ignore[arg-type]\n")
    code, said = run("mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program))
    assert code == 0, said
