"""The tests that dogpile.cache publishes for its backends, on stores of Larder.

    python -m pytest -o markers=time_intensive -c pyproject.toml --rootdir . suites/dogpile_suite.py
"""

import pathlib
import sys

import pytest
from dogpile.testing.fixtures import (
    _GenericBackendFixture,
    _GenericBackendTestSuite,
    _GenericMutexTestSuite,
    _GenericSerializerTestSuite,
)
from larder.dogpile import LarderBackend

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tests"))

from servers import a_memcached  # noqa: E402


@pytest.fixture(scope="session")
def memcached():
    with a_memcached() as (_, address):
        yield address


class Store:
    """A store of Larder for a class of tests."""

    backend = "larder"
    locks = False
    # As the package's own tests of memcached: a memcached takes no blank in a key.
    region_args = {"key_mangler": LarderBackend.key_mangler}

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def config_args(cls, tmp_path_factory, memcached):
        file = tmp_path_factory.mktemp("dogpile") / "cache"
        url = cls.url.format(file=file, memcached=memcached)
        cls.config_args = {"arguments": {"url": url, "distributed_lock": cls.locks}}

    @classmethod
    def setup_class(cls):
        """The suite opens the backend here, before a fixture can tell the URL. Each test opens it too."""


class BackendSuite(Store, _GenericBackendTestSuite):
    """The tests of backends."""

    @pytest.mark.skip(reason="an argument that is not known is refused, so that none is misspelt")
    def test_argument_dictionary_unmodified(self):
        pass


URLS = {
    "Memory": "memory:?size=8m",
    "File": "mmap:{file}?size=8m",
    "Memcached": "memcached://{memcached}",
    "Stack": "tiered:mmap:{file}?size=8m|memcached://{memcached}",
}
# The tests of backends take a quarter of a minute, so each store has them with one kind of lock.
SUITES = {
    "Backend": (False, ["Memory", "Memcached"], BackendSuite),
    "LockedBackend": (True, ["File", "Stack"], BackendSuite),
    "Mutex": (True, list(URLS), _GenericMutexTestSuite),
    "Serializer": (False, list(URLS), _GenericSerializerTestSuite, _GenericBackendFixture),
}
for _suite, (_locks, _stores, *_bases) in SUITES.items():
    _regions = {key: value for base in (Store, *_bases) for key, value in base.region_args.items()}
    for _store in _stores:
        _name = f"Test{_suite}On{_store}"
        _own = {"url": URLS[_store], "locks": _locks, "region_args": _regions}
        _bases_of_all = _bases if BackendSuite in _bases else (Store, *_bases)
        globals()[_name] = type(_name, tuple(_bases_of_all), _own)
