"""Django's own tests of cache backends, on a store of Larder.

    python django_suite.py DJANGO_SOURCE URL

DJANGO_SOURCE is an unpacked source distribution of the installed Django. In the URL, `MEMCACHED` and `REDIS` stand for the address of
such a server that runs for these tests.
"""

import os
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))

from servers import a_memcached, a_redis  # noqa: E402

SERVERS = {"MEMCACHED": a_memcached, "REDIS": a_redis}

# Tests of Django that a store cannot pass, and the reason.
REASONS = {
    "test_cull": "the store makes room by itself: MAX_ENTRIES and CULL_FREQUENCY do not apply",
    "test_zero_cull": "the store makes room by itself: MAX_ENTRIES and CULL_FREQUENCY do not apply",
    "test_cull_delete_when_store_empty": "the store makes room by itself",
}


def main():
    source, url = sys.argv[1:]
    for name, a_server in SERVERS.items():
        if name in url:
            with a_server() as (_, address):
                # The server could have other users, so `clear` ends the entries of each cache alone.
                return run(source, url.replace(name, address), "generation")
    return run(source, url, "store")


def run(source, url, clear):
    """Runs the tests, and returns whether they have passed."""
    sys.path.insert(0, os.path.join(source, "tests"))
    os.chdir(os.path.join(source, "tests"))
    os.environ.setdefault("RUNNING_DJANGOS_TEST_SUITE", "true")
    from django.conf import settings

    base = {"BACKEND": "larder.django.LarderCache", "LOCATION": url, "OPTIONS": {"serializer": "pickle", "clear": clear}}
    settings.configure(
        SECRET_KEY="django_tests_secret_key",
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        INSTALLED_APPS=["cache"],
        CACHES={"default": base},
        USE_TZ=False,
        ALLOWED_HOSTS=["testserver"],
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    )
    import django

    django.setup()
    from cache.tests import BaseCacheTests, caches_setting_for_tests
    from django.core.management import call_command
    from django.test import TestCase, override_settings

    call_command("migrate", run_syncdb=True, verbosity=0)

    @override_settings(CACHES=caches_setting_for_tests(base))
    class LarderCacheTests(BaseCacheTests, TestCase):
        pass

    for name, reason in REASONS.items():
        method = getattr(LarderCacheTests, name, None)
        if method is not None:
            setattr(LarderCacheTests, name, unittest.skip(reason)(method))
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(LarderCacheTests)
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    return result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(not main())
