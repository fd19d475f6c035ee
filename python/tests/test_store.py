# SPDX-License-Identifier: BSD-2-Clause
"""Generations of stores: sources, readers and Stream, through a directory of copies."""

import array
import os
import subprocess
import tempfile
import unittest
from typing import Any, List

import lmdbcache

TOOL = os.path.join(os.environ.get("builddir") or ".", "cachex")
N = 240


@unittest.skipUnless(os.access(TOOL, os.X_OK), "no cachex")
class Store(unittest.TestCase):
    def setUp(self) -> None:
        own = tempfile.TemporaryDirectory()
        self.addCleanup(own.cleanup)
        self.dir = own.name
        self.url = "file://" + os.path.join(self.dir, "store")
        self.cache = os.path.join(self.dir, "copies")
        self.push("one", 0)

    def push(self, name: str, first: int) -> None:
        """Publish N records: record i is 250 floats that are i."""
        root, shards = os.path.join(self.dir, name), os.path.join(self.dir, name + ".shards")
        with lmdbcache.open(root, "m") as cache:
            for i in range(first, first + N):
                cache.put(f"r{i:04}", array.array("f", [float(i)] * 250))
            cache.flush()
        run = subprocess.run(
            [TOOL, "--root", root, "export", "m", shards, "--shard-size", "16K", "--push", self.url,
             "--producer", name, "--json"],
            check=True, stdout=subprocess.PIPE, text=True,
        ).stdout.splitlines()[-1].split('"run":"')[1][:16]
        subprocess.run([TOOL, "publish", "-q", self.url, "--recipe", run], check=True)

    def ids(self, batches: Any) -> List[str]:
        return [name for batch in batches for name in batch.ids if name is not None]

    def test_reader(self) -> None:
        """The batches of the shards themselves, each shard fetched once."""
        order = {"batch": 16, "shuffle": "block", "shares": 2, "spread": 2, "epochs": 2, "seed": 5}
        with lmdbcache.reader(os.path.join(self.dir, "one.shards"), **order) as want:
            wanted = self.ids(want)
        with lmdbcache.reader(self.url, cache=self.cache, cache_size="1M", **order) as got:
            self.assertEqual(self.ids(got), wanted)
            stats = got.fetch_stats()
        shards = [f for f in os.listdir(os.path.join(self.dir, "one.shards")) if f.endswith(".twh1")]
        self.assertEqual(stats["fetched"], len(shards) + 1)  # and a manifest
        self.assertEqual((stats["generation"], stats["by_ranges"], stats["range_requests"]),
                         (1, False, 0))

    def test_source(self) -> None:
        """Records by their ordinals, also of an earlier generation."""
        self.push("two", 1000)
        for generation, first in ((None, 1000), (1, 0), (2, 1000)):
            with lmdbcache.source(self.url, cache=self.cache, cache_size=1 << 20,
                                  generation=generation, like="buffer") as source:
                self.assertEqual(len(source), N)
                self.assertEqual(source.id(7), f"r{first + 7:04}")
                self.assertEqual(memoryview(source[7]).cast("B").cast("f")[249], first + 7.0)
                self.assertEqual(source.fetch_stats()["generation"], generation or 2)

    def test_stream(self) -> None:
        """Two nodes, one of which goes on for both."""
        options = {"batch": 16, "shares": 4, "spread": 1, "epochs": 2, "cache": self.cache,
                   "cache_size": "512K"}
        with lmdbcache.Stream(self.url, **options) as stream:
            wanted = [self.ids([batch]) for batch in stream]
        got: List[List[str]] = [[] for _ in wanted]
        for rank in range(2):
            with lmdbcache.Stream(self.url, reader=(rank, 2), **options) as stream:
                for batch in stream:
                    got[batch.number] += self.ids([batch])
                    if batch.number == 3:
                        break
                state = stream.state_dict()
        with lmdbcache.Stream(self.url, **options) as stream:
            stream.load_state_dict(state)
            for batch in stream:
                got[batch.number] += self.ids([batch])
            self.assertEqual(stream.stats()["failed"], 0)
        self.assertEqual([sorted(ids) for ids in got], [sorted(ids) for ids in wanted])

    def test_bad(self) -> None:
        """What is wrong is said before anything is fetched."""
        with self.assertRaisesRegex(ValueError, "a store needs cache=, a directory"):
            lmdbcache.source(self.url)
        with self.assertRaisesRegex(ValueError, "cache= is for stores"):
            lmdbcache.reader(os.path.join(self.dir, "one.shards"), cache=self.cache, cache_size=1)
        with self.assertRaisesRegex(ValueError, "'1X' is not a size; 512M, 64G and 1T are"):
            lmdbcache.source(self.url, cache=self.cache, cache_size="1X")
        with self.assertRaisesRegex(lmdbcache.NoFileError, "has no generation 9$"):
            lmdbcache.source(self.url, cache=self.cache, cache_size="1M", generation=9)
        with lmdbcache.source(os.path.join(self.dir, "one.shards")) as source:
            with self.assertRaisesRegex(lmdbcache.UnsupportedError, "the source is not of a store"):
                source.fetch_stats()
        self.assertFalse(os.path.exists(os.path.join(self.cache, "obj")))


if __name__ == "__main__":
    unittest.main()
