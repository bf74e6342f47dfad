"""A store whose server need not answer when a program begins."""

import larder


class Opening:
    """The store of a URL. A server that does not answer at first is asked again by each call; a wrong URL is told at once."""

    def __init__(self, url, serializer=None):
        self._url, self._serializer = url, serializer
        self._store = None
        try:
            self._store = self._open()
        except larder.UnavailableError:
            # The first call tells it, if it is still so.
            pass

    def _open(self):
        return larder.open(self._url, serializer=self._serializer)

    @property
    def store(self):
        """The open store. Of threads that open it at once, the last one provides for all."""
        if self._store is None:
            self._store = self._open()
        return self._store
