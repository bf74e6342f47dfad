"""The settings of opened caches, and their contents when they are opened again."""

from __future__ import annotations

import unittest

from t.support import Case, need_package


class Caches(Case):
    def test_another_process_finds_what_the_first_one_stored(self) -> None:
        need_package("diskcache")
        for options in ({}, {"shards": 2}):
            folder = str(self.folder())
            first = self.guest("diskcache", folder=folder, options=options)
            first.set(b"kept", b"x" * 50_000)
            self.assertEqual(first.end(), 0)
            second = self.guest("diskcache", folder=folder, options=options, fresh=False)
            self.assertEqual(second.get(b"kept"), b"x" * 50_000)
            self.assertEqual(second.end(), 0)
            third = self.guest("diskcache", folder=folder, options=options)
            self.assertIsNone(third.get(b"kept"), "or begins empty")

    def test_what_the_user_chose_is_what_is_opened(self) -> None:
        need_package("diskcache")
        chosen = {
            "size_limit": 1 << 20, "eviction_policy": "none", "cull_limit": 3, "statistics": True, "tag_index": True,
            "disk_min_file_size": 100, "sqlite_synchronous": 2, "timeout": 1.5,
        }  # fmt: skip
        settings = self.guest("diskcache", options=chosen).opened["settings"]
        told = {name: settings[name] for name in chosen}
        self.assertEqual(told, {name: "1" if value is True else str(value) for name, value in chosen.items()})
        for room_bytes, size in ((1 << 20, 1 << 30), (3 << 30, 6 << 30)):
            settings = self.guest("diskcache", room_bytes=room_bytes, folder=str(self.folder())).opened["settings"]
            self.assertEqual(settings["size_limit"], str(size), "its own limit, unless that is too small")


if __name__ == "__main__":
    unittest.main()
