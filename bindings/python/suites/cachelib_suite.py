"""The tests that cachelib publishes for its caches, on stores of Larder.

    PYTHONPATH=CACHELIB_SOURCE/tests python -m pytest -c pyproject.toml --rootdir . suites/cachelib_suite.py

CACHELIB_SOURCE is an unpacked source distribution of the installed cachelib.
"""

import itertools
import pathlib
import sys

import larder
import pytest
from larder.cachelib import LarderCache

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tests"))

from clear import ClearTests  # noqa: E402
from common import CommonTests  # noqa: E402
from delete_many_with_prefix import DeleteManyWithPrefixTests  # noqa: E402
from has import HasTests  # noqa: E402
from servers import a_memcached, a_redis  # noqa: E402

# Text as a key of a dict is all that JSON holds, and these tests have a number.
SERIALIZER = larder.SignedPickle("a secret of the tests")

_numbers = itertools.count()


@pytest.fixture(scope="session")
def memcached():
    with a_memcached() as (_, address):
        yield address


@pytest.fixture(scope="session")
def redis():
    with a_redis() as (_, address):
        yield address


class Suite(CommonTests, HasTests, DeleteManyWithPrefixTests):
    """All but `SerializerTests`, which are about the serializers of cachelib."""

    @pytest.fixture(autouse=True)
    def cache_factory(self, request, tmp_path, memcached, redis):
        def factory(self, **options):
            url = self.url.format(file=tmp_path / "cache", memcached=memcached, redis=redis)
            # A server keeps the entries of earlier tests.
            options["key_prefix"] = f"{next(_numbers)}:{options.get('key_prefix') or ''}"
            return LarderCache(url, serializer=SERIALIZER, **options)

        request.cls.cache_factory = factory


class TestMemory(Suite, ClearTests):
    url = "memory:?size=8m"


class TestFile(Suite, ClearTests):
    url = "mmap:{file}?size=8m"


class TestMemcached(Suite):
    """Without `ClearTests`: a memcached may have other users, so it is not emptied."""

    url = "memcached://{memcached}"


class TestRedis(Suite):
    """As on memcached."""

    url = "redis://{redis}"


class TestStack(Suite):
    """As on the memcached below it."""

    url = "tiered:mmap:{file}?size=8m|memcached://{memcached}"
