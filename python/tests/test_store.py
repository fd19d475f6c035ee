# SPDX-License-Identifier: BSD-2-Clause
"""Generations of stores: sources, readers and Stream, through a directory of copies."""

import array
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref
from unittest import mock
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

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
            self.assertEqual((stats["retries"], stats["retry_wait"]), (0, 0.0))
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
        """Two nodes; one of them resumes for both."""
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

    def serve(self, program: str, *args: str) -> str:
        """Start a server of t/support; its port."""
        support = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../t/support")
        ready = os.path.join(self.dir, program + ".port")
        server = subprocess.Popen([sys.executable, os.path.join(support, program), "--ready", ready,
                                   *args], stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        while not self.text(ready).endswith("\n"):
            self.assertIsNone(server.poll())
            time.sleep(0.01)
        return self.text(ready).strip()

    def text(self, path: str) -> str:
        """Of a file, which may not be there yet."""
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            return file.read()

    def test_close_while_retrying(self) -> None:
        """close() does not wait for the retries of requests to a server that is gone."""
        s3, log = os.path.join(self.dir, "s3"), os.path.join(self.dir, "faults")
        os.makedirs(os.path.join(s3, "bucket"))
        os.rename(os.path.join(self.dir, "store"), os.path.join(s3, "bucket", "store"))
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null",
                "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
        with mock.patch.dict(os.environ):
            for name in list(os.environ):
                if name.startswith("AWS_") or "proxy" in name.lower():
                    del os.environ[name]
            os.environ.update(keys)
            port = self.serve("s3_server.py", "--data", s3)
            port = self.serve("fault_proxy.py", "--to", port, "--log", log,
                              "--fault", "503 key=obj/ skip=2 times=0")
            try:
                reader = lmdbcache.reader(
                    "s3://bucket/store", cache=self.cache, cache_size="1M", fetch_ahead=1,
                    batch=4, threads=1, ahead=8, endpoint="http://127.0.0.1:" + port)
            except lmdbcache.UnsupportedError:
                self.skipTest("built without S3")
            next(reader)
            while self.text(log).count("\n") < 4:
                time.sleep(0.01)
            before = self.text(log).count("\n")
            reader.close()
            # In a minute, how long requests are repeated, there would be many more.
            self.assertLessEqual(self.text(log).count("\n") - before, 2)

    def test_bad(self) -> None:
        """What is wrong is said before anything is fetched."""
        with self.assertRaisesRegex(ValueError, "a store needs cache=, a directory"):
            lmdbcache.source(self.url)
        with self.assertRaisesRegex(ValueError, "cache= is for stores: s3://, file: and Store"):
            lmdbcache.reader(os.path.join(self.dir, "one.shards"), cache=self.cache, cache_size=1)
        with self.assertRaisesRegex(ValueError, "'1X' is not a size such as 512M, 64G or 1T"):
            lmdbcache.source(self.url, cache=self.cache, cache_size="1X")
        with self.assertRaisesRegex(lmdbcache.NoFileError, "has no generation 9$"):
            lmdbcache.source(self.url, cache=self.cache, cache_size="1M", generation=9)
        with lmdbcache.source(os.path.join(self.dir, "one.shards")) as source:
            with self.assertRaisesRegex(lmdbcache.UnsupportedError, "the source is not of a store"):
                source.fetch_stats()
        self.assertFalse(os.path.exists(os.path.join(self.cache, "obj")))


class Memory:
    """A store in memory with methods that fail on request."""

    def __init__(self) -> None:
        self.objects: Dict[str, bytes] = {}
        self.lock = threading.Lock()
        self.calls: List[str] = []
        self.threads: Set[int] = set()
        self.fault: Callable[[str, bytes], Any] = lambda name, data: data

    def get_range(self, name: str, offset: int, size: int) -> Any:
        with self.lock:
            self.calls.append(name)
            self.threads.add(threading.get_ident())
            if name not in self.objects:
                raise FileNotFoundError(name)
            whole = self.objects[name]
            return self.fault(name, whole[offset : offset + size]), len(whole), 1.7e9

    def put_new(self, name: str, data: bytes) -> bool:
        with self.lock:
            return self.objects.setdefault(name, data) is data

    def put(self, name: str, data: bytes) -> None:
        with self.lock:
            self.objects[name] = bytes(data)

    def list(self, prefix: str) -> Iterator[Tuple[str, int]]:
        with self.lock:
            return iter([(n, len(d)) for n, d in self.objects.items() if n.startswith(prefix)])

    def delete(self, name: str) -> None:
        with self.lock:
            self.objects.pop(name, None)


class Faults:
    """The first so many times that a name is asked for."""

    def __init__(self, name: str, times: int, make: Callable[[bytes], Any]) -> None:
        self.name, self.times, self.make = name, times, make

    def __call__(self, name: str, data: bytes) -> Any:
        if self.name not in name or not data or self.times == 0:
            return data
        self.times -= 1
        return self.make(data)


def raises(error: BaseException) -> Callable[[bytes], Any]:
    def make(data: bytes) -> Any:
        raise error

    return make


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@unittest.skipUnless(os.access(TOOL, os.X_OK), "no cachex")
class Methods(Store):
    """The same store by methods of an object."""

    def setUp(self) -> None:
        super().setUp()
        self.memory = Memory()
        self.top = os.path.join(self.dir, "store")
        for folder, _, names in os.walk(self.top):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    self.memory.objects[os.path.relpath(path, self.top)] = file.read()
        self.store = lmdbcache.Store(self.memory, "mem://feats")
        self.options = {"cache": self.cache, "cache_size": "1M"}

    def read(self, **options: Any) -> List[str]:
        order = {"batch": 16, "shuffle": "block", "shares": 2, "spread": 2, "epochs": 2, "seed": 5}
        with lmdbcache.reader(self.store, **order, **self.options, **options) as batches:
            ids = self.ids(batches)
            self.stats = batches.fetch_stats()
        return ids

    def test_reader(self) -> None:
        """The batches of the URL, fetched by threads of the library."""
        order = {"batch": 16, "shuffle": "block", "shares": 2, "spread": 2, "epochs": 2, "seed": 5}
        with lmdbcache.reader(self.url, cache=self.cache + "2", cache_size="1M", **order) as batches:
            want = self.ids(batches)
        self.assertEqual(self.read(), want)
        self.assertEqual(self.stats["failed"], 0)
        self.assertEqual(self.stats["requests"], len(self.memory.calls) + 1)  # and a listing
        self.assertTrue(self.memory.threads - {threading.get_ident()})
        # Again, from the copies.
        self.memory.calls.clear()
        self.assertEqual(self.read(), want)
        self.assertEqual([name for name in self.memory.calls if name.startswith("obj/")], [])

    def test_source(self) -> None:
        with lmdbcache.source(self.store, like="buffer", **self.options) as source:
            self.assertEqual(len(source), N)
            self.assertEqual(source.id(7), "r0007")
            self.assertEqual(memoryview(source[7]).cast("B").cast("f")[249], 7.0)
        with self.assertRaisesRegex(lmdbcache.NoFileError, "^mem://feats: has no generation 9$"):
            lmdbcache.source(self.store, generation=9, **self.options)

    def test_stream(self) -> None:
        with lmdbcache.Stream(self.store, batch=16, shares=2, **self.options) as stream:
            self.assertEqual(len(self.ids(stream)), N)

    def test_faults(self) -> None:
        """Bytes that came damaged once are fetched again."""
        want = self.read()
        for fault in (flip, lambda data: data[:-1] + b"?"):
            self.options["cache"] = self.cache + "3"
            shutil.rmtree(self.options["cache"], ignore_errors=True)
            self.memory.fault = Faults("obj/", 1, fault)
            self.assertEqual(self.read(), want)
            self.assertEqual(self.stats["refetched"], 1)

    def test_errors(self) -> None:
        """What a method raises comes through with its text, and names the object."""
        name = next(name for name in self.memory.objects if name.startswith("obj/"))
        where = "^mem://feats/" + name
        table: List[Tuple[Any, Any, str]] = [
            (raises(RuntimeError("no such bucket")), lmdbcache.SystemFailure,
             where + ".*: RuntimeError: no such bucket$"),
            (raises(PermissionError(13, "not yours")), lmdbcache.AccessError, ": not yours|not yours"),
            (raises(OSError(28, "disk is full")), lmdbcache.NoSpaceError, "disk is full"),
            (raises(ValueError("two\nlines")), lmdbcache.SystemFailure, "ValueError: two lines$"),
            (lambda data: 7, lmdbcache.SystemFailure, "TypeError: .*bytes-like.*int"),
            (lambda data: data[1:], lmdbcache.SystemFailure, "bytes from 0 were asked for, and"),
            (flip, lmdbcache.CorruptError, "mem://feats/" + name + ", part .*SHA-256"),
        ]
        for make, kind, text in table:
            shutil.rmtree(self.cache, ignore_errors=True)
            self.memory.fault = Faults(name, -1, make)
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                self.read()
        self.memory.fault = lambda name, data: data
        del self.memory.objects[name]
        shutil.rmtree(self.cache, ignore_errors=True)
        with self.assertRaisesRegex(lmdbcache.CorruptError, "mem://feats/" + name):
            self.read()
        self.memory.list = lambda prefix: [1]  # type: ignore
        with self.assertRaisesRegex(lmdbcache.SystemFailure, r"TypeError: list\(\) returned 1, not"):
            lmdbcache.source(self.store, **self.options)

    def test_check(self) -> None:
        """check() calls all five methods, and leaves nothing."""
        before = dict(self.memory.objects)
        self.store.check()
        self.assertEqual(self.memory.objects, before)
        self.memory.put_new = lambda name, data: self.memory.put(name, data)  # type: ignore
        with self.assertRaisesRegex(lmdbcache.UnsupportedError, "^mem://feats: puts an object "):
            self.store.check()
        self.memory.put_new = raises(NotImplementedError("reads only"))  # type: ignore
        self.memory.put_new = lambda name, data: raises(NotImplementedError())(data)  # type: ignore
        with self.assertRaisesRegex(lmdbcache.UnsupportedError, "^mem://feats: cannot put only"):
            self.store.check()

    def test_bad(self) -> None:
        with self.assertRaisesRegex(TypeError, r"Store: .* has no method get_range\(\)"):
            lmdbcache.Store(object())
        with self.assertRaisesRegex(ValueError, "a store needs cache="):
            lmdbcache.source(self.store)
        self.assertEqual(repr(self.store), "<lmdbcache.Store mem://feats>")
        self.assertIs(self.store.object, self.memory)

    def test_freed(self) -> None:
        """The object lives as long as its Store and what reads it."""
        source = lmdbcache.source(self.store, like="buffer", **self.options)
        memory = weakref.ref(self.memory)
        del self.memory, self.store
        self.assertEqual(source.id(3), "r0003")
        source.close()
        del source  # which keeps what it was opened with
        gc.collect()
        self.assertIsNone(memory())

    def test_exit(self) -> None:
        """Python ends although a reader is open and its threads fetch."""
        script = """
import os, sys, lmdbcache
class Files:
    def get_range(self, name, offset, size):
        data = open(os.path.join(sys.argv[1], name), "rb").read()
        return data[offset:offset + size], len(data)
    def list(self, prefix):
        for top, _, names in os.walk(sys.argv[1]):
            for name in names:
                path = os.path.join(top, name)
                yield os.path.relpath(path, sys.argv[1]), os.path.getsize(path)
    put_new = put = delete = None
Files.put_new = Files.put = Files.delete = lambda *args: None
reader = lmdbcache.reader(lmdbcache.Store(Files()), batch=16, shares=2, shuffle="block", epochs=0,
                          cache=sys.argv[2], cache_size="100K", threads=4)
print(next(reader).number)
"""
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", script, self.top, self.cache], timeout=120,
                                  check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.stdout, "0\n")

    def test_fsspec(self) -> None:
        """The example reads a directory through fsspec."""
        try:
            import fsspec  # noqa: F401
        except ImportError:
            self.skipTest("fsspec is not installed")
        example = os.path.join(os.path.dirname(__file__), "..", "examples", "fsspec_store.py")
        done = subprocess.run([sys.executable, example, "file://" + self.top, self.cache], check=True,
                              stdout=subprocess.PIPE, text=True)
        shards = [name for name in self.memory.objects if name.startswith("obj/")]
        self.assertEqual(done.stdout, f"{N} rows, {len(shards) + 1} objects fetched\n")


if __name__ == "__main__":
    unittest.main()
