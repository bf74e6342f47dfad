import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["larder", "larder.serializers", "larder.aio", "larder.cachelib"])
def test_examples_of_the_documentation_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
