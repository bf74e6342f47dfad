"""The examples of the repository that are in Python."""

import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


def run(*arguments):
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "gunicorn/run.py"), "--seconds", "3", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_workers_of_gunicorn_share_a_file_that_a_restart_leaves_warm(tmp_path):
    picture = tmp_path / "picture.svg"
    code, said = run("--output", str(picture))
    assert code == 0, said
    assert re.search(r"\d+ pages in .* 0 made; memcached had \d+ reads", said), said
    drawn = picture.read_text()
    assert drawn.count("<polygon") == 3 and drawn.count("<polyline") == 2 and "rolling restart" in drawn


@pytest.mark.parametrize(
    "cache, fault",
    [
        ("tiered:memory:?size=64m|memcached://MEMCACHED|?l1_ttl=5m", "the file was cold"),
        ("memory:?size=64m", "pages were made again"),
    ],
    ids=["memory of each worker before memcached", "memory of each worker"],
)
def test_the_example_finds_a_cache_that_a_restart_leaves_cold(cache, fault):
    code, said = run("--cache", cache)
    assert code == 1 and fault in said, said
