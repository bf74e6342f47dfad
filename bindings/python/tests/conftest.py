import itertools

import larder
import pytest

from servers import a_memcached, a_redis


@pytest.fixture(scope="session")
def memcached():
    """The address of a memcached that all tests share."""
    with a_memcached() as (_, address):
        yield address


@pytest.fixture(scope="session")
def redis():
    """The address of a Redis that all tests share."""
    with a_redis() as (_, address):
        yield address


_numbers = itertools.count()


@pytest.fixture(params=["memory", "mmap", "memcached", "tiered", "redis", "tiered-redis"])
def url(request, tmp_path, memcached, redis):
    """The URL of an empty store of each kind."""
    file = tmp_path / f"cache{next(_numbers)}"
    return {
        "memory": "memory:?size=8m",
        "mmap": f"mmap:{file}?size=8m",
        "memcached": f"memcached://{memcached}",
        "tiered": f"tiered:mmap:{file}?size=8m|memcached://{memcached}",
        "redis": f"redis://{redis}",
        "tiered-redis": f"tiered:mmap:{file}?size=8m|redis://{redis}",
    }[request.param]


@pytest.fixture
def cache(url, request):
    """An open store; its keys begin with the name of the test, because all tests share one memcached and one Redis."""
    store = larder.open(url)
    yield store
    store.close()
