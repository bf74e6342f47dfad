"""Keys of frameworks, some of which a memcached would refuse."""

import hashlib
import re

# The longest key of memcached.
LONGEST_KEY = 250

_REFUSED = re.compile(r"[\x00-\x20\x7f]")


def taken_by_every_store(key, longest=LONGEST_KEY):
    """The key, or its hash where a memcached would refuse it: it is too long, or has a blank or a control character."""
    try:
        is_taken = len(key.encode()) <= longest and not _REFUSED.search(key)
    except UnicodeEncodeError:
        # A name of a file may have lone surrogates.
        is_taken = False
    return key if is_taken else "hashed:" + hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
