# SPDX-License-Identifier: BSD-2-Clause
"""The life of modules, and records by their ordinals: settings, copies, exports, shards,
damaged and missing files, what is held after it was closed."""

import array
import gc
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Callable, List, Tuple

import lmdbcache

try:
    import numpy as np
except ImportError:  # NumPy is optional
    np = None  # type: ignore[assignment]
try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_numpy = unittest.skipIf(np is None, "no NumPy")
SEED = int(os.environ.get("T_SEED") or random.randrange(1 << 32))
N = 40


def row(i: int, width: int = 6) -> "array.array[float]":
    """What record i holds."""
    return array.array("f", [i + k / 8 for k in range(width)])


def flat(tensor: Any) -> List[float]:
    """The elements of a Tensor or an array, in order."""
    values = memoryview(tensor).tolist()
    while values and isinstance(values[0], list):
        values = [x for part in values for x in part]
    return list(values)


def flip(path: str, pattern: bytes, count: int = 1) -> None:
    """Change a bit of the bytes in a file that are this pattern, at each of `count` places."""
    with open(path, "r+b") as file:
        content = file.read()
        at = -1
        for _ in range(count):
            at = content.index(pattern, at + 1)
            file.seek(at)
            file.write(bytes([content[at] ^ 1]))


def child_sees(source: lmdbcache.Source, out: Any) -> None:
    out.put((len(source), flat(source[3]), source.id(3), flat(source.gather([1, 2]))))


class Case(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory(prefix="lmdbcache-test.")
        self.addCleanup(place.cleanup)
        self.root = place.name

    def open(self, module: str = "m", **options: Any) -> lmdbcache.Cache:
        options.setdefault("like", "buffer")
        cache = lmdbcache.open(self.root, module, **options)
        self.addCleanup(cache.close)
        return cache

    def filled(self, module: str = "m", n: int = N, **options: Any) -> lmdbcache.Cache:
        cache = self.open(module, **options)
        for i in range(n):
            cache[f"k{i:03}"] = row(i)
        cache.flush()
        return cache

    def exported(self, **options: Any) -> str:
        path = os.path.join(self.root, "shards")
        self.filled().export(path, **options)
        return path

    def raises(self, kind: Any, text: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        with self.assertRaises(kind) as caught:
            call(*args, **kwargs)
        self.assertIn(text, str(caught.exception))
        return caught.exception


class Verifying(Case):
    def test_words(self) -> None:
        cache = self.filled()
        shards = os.path.join(self.root, "shards")
        cache.export(shards)
        ways: List[Callable[[Any], Any]] = [
            lambda verify: self.open(verify=verify),
            lambda verify: lmdbcache.source(cache, verify=verify),
            lambda verify: lmdbcache.source(shards, verify=verify),
            lambda verify: lmdbcache.reader(cache, verify=verify),
        ]
        for way in ways:
            for verify in ("always", "once", "never", True, False):
                way(verify).close()
            for wrong in ("twice", "True", "", 1, 0, 0.5, b"once", ["once"], "once\0"):
                error = self.raises(ValueError, "", way, wrong)
                self.assertEqual(
                    str(error),
                    f'verify: {wrong!r} is not one of "always", "once", "never", True, False',
                )

    def damaged_after(self, read: Callable[[], Any]) -> lmdbcache.Cache:
        """Record 7 is damaged after it was read so."""
        cache = self.filled()
        read()
        flip(os.path.join(self.root, "m", "data.mdb"), row(7).tobytes())
        return cache

    def test_handle(self) -> None:
        """Damage after the first read is not seen by handles that verify once."""
        self.damaged_after(lambda: self.open(verify="once")["k007"])
        for verify in ("once", "never", False):
            cache = self.open(verify=verify)
            self.assertEqual(flat(cache["k007"])[1:], list(row(7))[1:])
            self.assertEqual(flat(cache.gather(["k007"])[0])[1:], list(row(7))[1:])
        for verify in ("always", True, None):
            cache = self.open(**({} if verify is None else {"verify": verify}))
            self.raises(lmdbcache.CorruptError, "k007", cache.__getitem__, "k007")
            self.raises(lmdbcache.CorruptError, "k007", cache.gather, ["k007"])

    def test_source(self) -> None:
        """The same of sources and readers, which verify once by default."""
        cache = self.open(verify="once")
        self.damaged_after(lambda: lmdbcache.source(cache).gather([7]))
        for options in ({}, {"verify": "once"}, {"verify": "never"}):
            source = lmdbcache.source(cache, **options)
            self.assertEqual(flat(source.gather([7]))[1:], list(row(7))[1:])
            self.assertEqual(flat(source[7])[1:], list(row(7))[1:])
            with lmdbcache.reader(cache, batch=N, **options) as batches:
                values = flat(next(batches).fields("buffer")["."])
                self.assertEqual(values[7 * 6 + 1 : 8 * 6], list(row(7))[1:])
        source = lmdbcache.source(cache, verify="always")
        self.raises(lmdbcache.CorruptError, "k007", source.gather, [7])
        with lmdbcache.reader(cache, verify="always") as batches:
            self.raises(lmdbcache.CorruptError, "k007", next, batches)

    def test_before(self) -> None:
        """Damage before the first read is seen each time."""
        self.damaged_after(lambda: None)
        cache = self.open(verify="once")
        source = lmdbcache.source(cache)
        for _ in range(2):
            self.raises(lmdbcache.CorruptError, "k007", cache.__getitem__, "k007")
            self.raises(lmdbcache.CorruptError, "k007", source.gather, [7])


class Life(Case):
    def test_settings(self) -> None:
        cache = self.open()
        settings = cache.settings
        self.assertEqual(dict(settings), {
            "codec": "none", "level": 0, "policy": "evolve", "evict": "oldest", "max_bytes": 0,
            "auto_compact": True, "length_field": "",
        })  # fmt: skip
        settings["codec"] = "lz4"
        settings.update(level=9, max_bytes=1 << 30, evict="unread", length_field="tokens")
        self.assertEqual(len(settings), 7)
        settings["auto_compact"] = False
        with self.open() as other:
            self.assertEqual(dict(other.settings), {
                "codec": "lz4", "level": 9, "policy": "evolve", "evict": "unread",
                "max_bytes": 1 << 30, "auto_compact": False, "length_field": "tokens",
            })  # fmt: skip
        self.raises(KeyError, "there is no setting 'codecs'", settings.update, codecs="lz4")
        self.raises(KeyError, "nothing", lambda: settings["nothing"])
        self.raises(lmdbcache.InvalidError, "zip", settings.update, codec="zip")
        self.raises(lmdbcache.InvalidError, "255", settings.update, length_field="x" * 256)
        self.raises(TypeError, "None", settings.update, codec=None)
        self.raises(OverflowError, "", settings.update, max_bytes=-1)
        self.raises(lmdbcache.InvalidError, "level", settings.update, level=77)
        self.assertEqual(settings["level"], 9)
        with self.open(readonly=True) as reader:
            self.raises(lmdbcache.ReadOnlyError, "read-only", reader.settings.update, level=1)
        cache.close()
        self.raises(ValueError, "closed", lambda: settings["codec"])
        self.raises(ValueError, "closed", settings.update, level=1)

    def test_codecs_and_schemas(self) -> None:
        cache = self.open()
        cache["plain"] = array.array("f", [0.0] * 4096)
        cache.settings["codec"] = "shuffle-lz4"
        cache["coded"] = array.array("f", [0.0] * 4096)
        cache.put("as asked", {"a": array.array("f", [0.0] * 4096), "b": 3}, codec="lz4")
        self.assertEqual(flat(cache["coded"]), [0.0] * 4096)
        schemas = cache.schemas()
        self.assertEqual([s["structure"] for s in schemas], ["f32[*]", "{a: f32[*], b: plain}"])
        self.assertEqual(schemas[0]["codecs"], {"none": 1, "shuffle-lz4": 1})
        self.assertEqual(schemas[1]["codecs"], {"lz4": 1})
        self.assertEqual(schemas[0]["records"], 2)
        self.assertEqual(schemas[0]["raw_bytes"], 2 * 16384)
        self.assertLess(schemas[0]["stored_bytes"], 20000)
        self.assertEqual(sorted(schemas[0]), [
            "codecs", "id", "raw_bytes", "records", "stored_bytes", "structure",
        ])  # fmt: skip

    def test_a_strict_module(self) -> None:
        cache = self.open()
        cache["first"] = row(1)
        cache.settings["policy"] = "strict"
        cache["same"] = row(2)
        error = self.raises(
            lmdbcache.SchemaError, "f32", cache.__setitem__, "other", array.array("d", [1.0])
        )
        self.assertEqual((error.status, error.key), ("other structure", "other"))
        self.raises(TypeError, "", cache.__setitem__, "other", {"a": row(1)})
        self.assertEqual(list(cache), ["first", "same"])

    def test_counters_and_clear(self) -> None:
        cache = self.filled()
        cache["k000"], cache.get("none")
        counters = cache.counters()
        self.assertEqual(counters["puts"], N)
        self.assertEqual(len(counters["flush_us"]), 4)
        cache["pending"] = 1
        cache.clear()
        self.assertEqual(len(cache), 0)
        self.assertNotIn("pending", cache)

    def test_copy(self) -> None:
        cache, to = self.filled(), self.open("to")
        done = cache.copy(to, prefix="k00", dry_run=True)
        self.assertEqual((done["copied"], len(to)), (10, 0))
        done = cache.copy(to, prefix="k00")
        self.assertEqual((done["copied"], done["replaced"], done["kept"]), (10, 0, 0))
        self.assertEqual(list(to), [f"k{i:03}" for i in range(10)])
        error = self.raises(lmdbcache.InvalidError, "k000", cache.copy, to)
        self.assertEqual((error.status, len(to)), ("invalid", 10))
        cache["k001"] = row(500)
        self.raises(lmdbcache.InvalidError, "k001", cache.copy, to, "same")
        self.assertEqual(cache.copy(to, "keep")["kept"], 10)
        self.assertEqual(flat(to["k001"]), flat(row(1)))
        self.assertEqual(cache.copy(to, conflict="replace")["replaced"], N)
        self.assertEqual(flat(to["k001"]), flat(row(500)))
        self.raises(TypeError, "a Cache", cache.copy, "to")
        self.raises(lmdbcache.InvalidError, "maybe", cache.copy, to, "maybe")
        self.raises(lmdbcache.InvalidError, "the same", cache.copy, cache, "keep")
        to.close()
        self.raises(ValueError, "closed", cache.copy, to)

    def fill_parts(self, parts: int) -> List[str]:
        """Modules "feats" in roots of their own, each with a part of four inputs."""
        built = os.environ.get("builddir", ".")
        tool, producer = (os.path.join(built, x) for x in ("cachex", "t/support/bad_producer"))
        if not os.access(tool, os.X_OK) or not os.access(producer, os.X_OK):
            self.skipTest("no cachex, or no producer")
        for i in range(4):
            with open(f"{self.root}/s{i}.txt", "w") as file:
                file.writelines(f"{i}-{k}\n" for k in range(5 + 3 * i))
        for i in range(parts):
            subprocess.run(
                [os.path.abspath(tool), "fill", "feats", "-q", "--root", f"node{i}",
                 "--exec", f"exec '{os.path.abspath(producer)}' good", "--chunk", "4",
                 "--shard", f"{i}/{parts}", "--from", *(f"s{k}.txt" for k in range(4))],
                check=True, cwd=self.root)
        return [f"{self.root}/node{i}/feats" for i in range(parts)]

    def test_merge_inputs(self) -> None:
        parts = self.fill_parts(3)
        to, lines = self.open("feats"), [""]
        error = self.raises(
            lmdbcache.NotFoundError, "1 of 4 inputs", to.merge_inputs, parts[:2],
            damage=lines.append)
        self.assertEqual(error.status, "not found")
        self.assertEqual(lines[1:], [
            f"input s2.txt is not finished: it has 0 chunks in {parts[0]}"])
        done = to.merge_inputs(map(Path, parts), dry_run=True)
        self.assertEqual((done["inputs"], done["records"], len(to)), (4, 38, 0))
        self.assertEqual(to.merge_inputs(map(Path, parts)), done)
        again = self.fill_parts(1)
        with lmdbcache.open(os.path.dirname(again[0]), "other", like="buffer") as other:
            other.merge_inputs(again + parts)
            with lmdbcache.source(to) as a, lmdbcache.source(other) as b:
                self.assertEqual([a.id(i) for i in range(38)], [b.id(i) for i in range(38)])
                self.assertEqual(a.info(), b.info())
        self.assertEqual(to.merge_inputs(parts)["there"], 4)
        self.raises(TypeError, "a list of paths", to.merge_inputs, parts[0])
        self.raises(TypeError, "int", to.merge_inputs, [1])
        self.raises(ValueError, "null", to.merge_inputs, ["a\0b"])
        self.raises(lmdbcache.InvalidError, "no modules", to.merge_inputs, [])
        self.raises(lmdbcache.NoFileError, "gone", to.merge_inputs, [self.root + "/gone"])
        to.close()
        self.raises(ValueError, "closed", to.merge_inputs, parts)

    def test_progress(self) -> None:
        cache = self.filled(n=400)
        calls: List[Callable[[Any], object]] = [
            lambda f: cache.verify(f),
            lambda f: cache.verify(progress=f),
            lambda f: cache.compact(1.0, progress=f),
            lambda f: cache.copy(self.open("to"), "replace", progress=f),
            lambda f: cache.export(os.path.join(self.root, "x"), progress=f, dry_run=False),
        ]
        for call in calls:
            seen: List[Tuple[str, int, int]] = []
            here = threading.current_thread()

            def tell(phase: str, done: int, total: int) -> None:
                self.assertIs(threading.current_thread(), here)
                self.assertLessEqual(done, total)
                seen.append((phase, done, total))

            call(tell)
            if seen:  # it may have nothing to do
                self.assertEqual(seen[-1][1], seen[-1][2])
        self.raises(TypeError, "not a function", cache.verify, 7)
        self.raises(TypeError, "not a function", cache.verify, None, "x")

    def test_what_progress_raises_ends_the_call(self) -> None:
        cache = self.filled(n=400)

        def stop(*_: Any) -> None:
            raise RuntimeError("enough")

        for _ in range(5):
            self.raises(RuntimeError, "enough", cache.verify, stop)
            self.raises(RuntimeError, "enough", cache.copy, self.open("to"), "replace", progress=stop)
        self.assertEqual(cache.verify()["live"], 400)
        cache.close()

    def test_ctrl_c(self) -> None:
        cache = self.filled(n=400)
        to = self.open("to")

        def interrupt(*_: Any) -> None:
            os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            cache.copy(to, "replace", progress=interrupt)
            for _ in range(1000):  # the handler runs at the next chance
                pass
        self.assertEqual(cache.verify()["live"], 400)

    def test_backup(self) -> None:
        cache = self.filled()
        for compact in (False, True):
            other = os.path.join(self.root, f"other{compact}")
            cache["pending"] = row(3)
            cache.backup(other, compact=compact)
            with lmdbcache.open(other, "m", readonly=True, like="buffer") as copy:
                self.assertEqual(len(copy), N + 1)
                self.assertEqual(copy.stats()["uuid"], cache.stats()["uuid"])
            self.raises(lmdbcache.Error, other, cache.backup, other)

    def test_modules_of_a_root(self) -> None:
        self.assertEqual(lmdbcache.modules(os.path.join(self.root, "none")), [])
        for name in ("b", "a", "c"):
            self.open(name).close()
        os.mkdir(os.path.join(self.root, "nothing"))
        self.assertEqual(lmdbcache.modules(self.root), ["a", "b", "c"])
        lmdbcache.rename(self.root, "b", "d")
        self.raises(lmdbcache.ExistsError, "c", lmdbcache.rename, self.root, "a", "c")
        lmdbcache.drop(self.root, "a")
        self.assertEqual(lmdbcache.modules(self.root), ["c", "d"])
        self.raises(lmdbcache.NoFileError, "a", lmdbcache.drop, self.root, "a")
        self.raises(lmdbcache.InvalidError, "..", lmdbcache.drop, self.root, "..")
        cache = self.open("c")
        cache["x"] = row(1)
        cache.flush()
        view = cache.view("x")
        for call in (lmdbcache.drop, lmdbcache.shrink):
            self.raises(lmdbcache.BusyError, "c", call, self.root, "c")
        cache.close()
        self.raises(lmdbcache.BusyError, "c", lmdbcache.drop, self.root, "c")
        self.assertEqual(flat(view), flat(row(1)))
        del view
        before, after = lmdbcache.shrink(self.root, "c")
        self.assertLessEqual(after, before)
        lmdbcache.drop(self.root, "c")

    def test_recover_and_salvage(self) -> None:
        self.filled().close()
        data = os.path.join(self.root, "m", "data.mdb")
        self.assertEqual(lmdbcache.recover(self.root, "m")["kept"], 0)
        flip(data, row(7).tobytes())
        lines: List[str] = []
        with self.open() as cache:
            error = self.raises(lmdbcache.CorruptError, "", cache.verify, damage=lines.append)
            self.assertEqual(error.status, "corrupt")
            self.assertTrue(any("k007" in line for line in lines), lines)
            self.raises(lmdbcache.CorruptError, "k007", cache.__getitem__, "k007")
            lines.clear()
            with self.open("to") as to:
                self.raises(lmdbcache.CorruptError, "1 damaged", cache.copy, to, damage=lines.append)
                self.assertEqual((len(to), len(lines)), (N - 1, 1))
            self.raises(lmdbcache.BusyError, "m", lmdbcache.recover, self.root, "m")
        lines.clear()
        found = lmdbcache.salvage(data, self.root, "rescued", damage=lines.append)
        self.assertEqual((found["records"], found["lost"]), (N - 1, 1))
        self.assertIs(found["settings_lost"], False)
        lines.clear()
        found = lmdbcache.recover(self.root, "m", dry_run=True)
        self.assertEqual((found["records"], found["lost"]), (N - 1, 1))
        phases: List[str] = []
        found = lmdbcache.recover(
            self.root, "m", damage=lines.append, progress=lambda phase, *_: phases.append(phase)
        )
        self.assertEqual((found["records"], found["lost"], found["kept"]), (N - 1, 1, 1))
        self.assertTrue(any("k007" in line for line in lines), lines)
        for name in ("m", "rescued", "to"):
            with self.open(name) as cache:
                self.assertEqual(cache.verify()["live"], N - 1)
                self.assertEqual(flat(cache["k008"]), flat(row(8)))
        self.raises(lmdbcache.ExistsError, "rescued", lmdbcache.salvage, data, self.root, "rescued")
        self.raises(lmdbcache.NoFileError, "none", lmdbcache.recover, self.root, "none")
        self.raises(lmdbcache.NoFileError, "gone", lmdbcache.salvage, "gone", self.root, "y")
        self.raises(lmdbcache.NotModuleError, "", lmdbcache.salvage, __file__, self.root, "y")

    def test_functions_are_let_go(self) -> None:
        cache = self.filled()

        def tell(*_: Any) -> None:
            pass

        before = sys.getrefcount(tell)
        for _ in range(20):
            cache.verify(tell, tell)
            cache.copy(self.open("to"), "replace", progress=tell, damage=tell)
        gc.collect()
        self.assertEqual(sys.getrefcount(tell), before)


class Sources(Case):
    def check(self, source: lmdbcache.Source) -> None:
        """All of it, in every way that it can be asked."""
        self.assertEqual(len(source), N)
        self.assertEqual([flat(r) for r in source], [flat(row(i)) for i in range(N)])
        self.assertEqual([flat(r) for r in source[5:12:3]], [flat(row(i)) for i in (5, 8, 11)])
        self.assertEqual([flat(r) for r in source[-2:]], [flat(row(i)) for i in (N - 2, N - 1)])
        self.assertEqual(source[7:3], [])
        self.assertEqual(flat(source[-1]), flat(row(N - 1)))
        for bad in (N, -N - 1, 1 << 70):
            self.raises(IndexError, "", source.__getitem__, bad)
        self.raises(TypeError, "", source.__getitem__, "k000")
        order = [3, 0, -1, 3, N - 2]
        block = source.gather(order)
        self.assertEqual(flat(block), sum((flat(row(i % N)) for i in order), []))
        self.raises(IndexError, f"item 1: there is no record {N}", source.gather, [0, N])
        self.raises(ValueError, "no ordinals", source.gather, [])
        self.raises(TypeError, "", source.gather, ["x"])

    def parts(self) -> Tuple[lmdbcache.Cache, str, lmdbcache.Cache]:
        """A module, shards and a module that have the records of filled() in order."""
        first, last = self.open("first"), self.open("last")
        path = os.path.join(self.root, "set")
        with self.open("middle") as middle:
            for cache, numbers in (
                (first, range(10)), (middle, range(10, 25)), (last, range(25, N))
            ):  # fmt: skip
                for i in numbers:
                    cache[f"k{i:03}"] = row(i)
                cache.flush()
            middle.export(path)
        return first, path, last

    def test_list(self) -> None:
        first, path, last = parts = self.parts()
        source = lmdbcache.source(parts, like="buffer")
        self.addCleanup(source.close)
        self.check(source)
        self.assertEqual(list(source.ids()), [f"k{i:03}" for i in range(N)])
        self.assertEqual(source.info()["chunks"], 3)
        self.assertIn(path, repr(source))
        self.raises(lmdbcache.UnsupportedError, "no index", source.find, ["k039"])
        source.verify()
        with lmdbcache.source([last, first], like="buffer") as turned:
            self.assertEqual(turned.find(["k000", "k025", "none"]), [15, 0, None])
        with lmdbcache.source([first]) as one:
            self.assertEqual(len(one), 10)
        self.raises(ValueError, "not 1 to 65536", lmdbcache.source, [])
        self.raises(ValueError, "is a list: name its", lmdbcache.source, [first, [path, last]])
        self.raises(ValueError, "1 values for 2 sources", lmdbcache.source, [first, last],
                    generation=[1])

        # Only the last one grows, and a copy has what the original had.
        text = pickle.dumps(source)
        first["later"] = row(1)
        first.flush()
        last["last"] = row(N)
        last.flush()
        self.assertEqual(source.refresh(), N + 1)
        self.assertEqual(source.id(N), "last")
        self.assertEqual(flat(source[9]), flat(row(9)))
        with pickle.loads(text) as again:
            self.check(again)
        text = pickle.dumps(source)
        last["newest"] = row(N)
        last.flush()
        with pickle.loads(text) as again:
            self.assertEqual(len(again), N + 1)
            self.assertEqual(again.id(N), "last")
        with lmdbcache.source(parts, generation=[1, None, 1], like="buffer") as then:
            self.check(then)
        record = source[30]
        source.close()
        self.raises(ValueError, "closed", source.__getitem__, 0)
        self.assertEqual(flat(record), flat(row(30)))

    def test_many_fields(self) -> None:
        with self.open("fields") as cache:
            for i in range(N):
                cache[f"k{i:03}"] = {"a": row(i), "b": [array.array("B", [i % 256])], "c": i}
            cache.flush()
            source = lmdbcache.source(cache, like="buffer")
            self.addCleanup(source.close)
            order = [5, 0, 5, N - 1]
            blocks = source.gather(order, fields=("a", "b.0"))
            self.assertEqual(list(blocks), ["a", "b.0"])
            self.assertEqual(flat(blocks["a"]), flat(source.gather(order, field="a")))
            self.assertEqual(bytes(blocks["b.0"]), bytes([5, 0, 5, (N - 1) % 256]))
            out = {"b.0": memoryview(bytearray(2)).cast("B", (2, 1))}
            some = source.gather([1, 2], out, threads=2, fields=iter(["b.0", "a"]))
            self.assertIs(some["b.0"], out["b.0"])
            self.assertEqual(bytes(out["b.0"]), b"\1\2")
            self.assertEqual(flat(some["a"]), flat(row(1)) + flat(row(2)))
            self.assertEqual(source.gather([1], fields=[]), {})
            self.raises(TypeError, "excludes field", source.gather, [0], None, "a",
                        fields=["a"])
            self.raises(TypeError, "excludes field", source.gather, [0], fields="a")
            self.raises(TypeError, "a dict of arrays", source.gather, [0], row(0), fields=["a"])
            self.raises(TypeError, "", source.gather, [0], fields=[1])
            self.raises(lmdbcache.SchemaError, "has no tensor x", source.gather, [0],
                        fields=["a", "x"])

    def test_shards(self) -> None:
        path = self.exported(shard_bytes=4096)
        source = lmdbcache.source(path, like="buffer")
        self.addCleanup(source.close)
        self.check(source)
        self.assertEqual(list(source.ids()), [f"k{i:03}" for i in range(N)])
        self.assertEqual(source.fields(), {".": ("f32", (6,))})
        info = source.info()
        self.assertEqual((info["records"], info["final"]), (N, True))
        self.assertEqual(source.refresh(), N)
        self.raises(lmdbcache.UnsupportedError, "no index", source.find, ["k000"])
        self.assertIn(path, repr(source))
        record = source[0]
        self.assertTrue(record.readonly)
        with self.assertRaises(TypeError):
            memoryview(record).cast("B")[0] = 1
        source.verify()
        lmdbcache.verify_shards(path)
        shard = sorted(n for n in os.listdir(path) if n != "manifest.json")[0]
        one = lmdbcache.source(os.path.join(path, shard), like="buffer")
        self.assertLess(len(one), N + 1)
        self.assertEqual(flat(one[0]), flat(row(0)))
        one.verify()

    def test_open_shards(self) -> None:
        """Of more shards than may be open, one that is missing is an error of its records."""
        path = os.path.join(self.root, "wide")
        cache = self.open("w")
        for i in range(N):
            cache[f"k{i:03}"] = row(i, 600)
        cache.export(path, shard_bytes=16384)
        shards = sorted(n for n in os.listdir(path) if n != "manifest.json")
        self.assertGreater(len(shards), 4)
        with lmdbcache.reader(path, batch=8, open_shards=1) as batches:
            self.assertEqual(sum(len(batch.ids) for batch in batches), N)
        for wrong, error in ((-1, OverflowError), (1 << 32, OverflowError), ("1", TypeError)):
            self.raises(error, "", lmdbcache.source, path, open_shards=wrong)
        os.unlink(os.path.join(path, shards[1]))
        self.raises(lmdbcache.CorruptError, shards[1], lmdbcache.source, path)
        source = lmdbcache.source(path, like="buffer", open_shards=1)
        self.addCleanup(source.close)
        lost = 0
        for i in range(N):
            try:
                self.assertEqual(flat(source[i]), flat(row(i, 600)))
            except lmdbcache.CorruptError as error:
                self.assertIn(shards[1], str(error))
                lost += 1
        self.assertGreater(lost, 0)
        self.assertLess(lost, N // 2)

    def test_shards_without_metadata(self) -> None:
        source = lmdbcache.source(self.exported(metadata=False), like="buffer")
        self.check(source)
        self.assertEqual(set(source.ids()), {None})
        self.assertEqual(source.fields(), {".": ("f32", (1, 1, 6))})

    def test_records_outlive_the_source(self) -> None:
        path = self.exported(shard_bytes=4096)
        chance = random.Random(SEED)
        print(f"# T_SEED={SEED}")
        for what in (path, self.open()):
            for _ in range(6):
                held: List[Tuple[int, Any]] = []
                source = lmdbcache.source(what, like="buffer")
                for i in chance.sample(range(N), 10):
                    held.append((i, source[i]))
                if chance.random() < 0.5:
                    source.close()
                    self.raises(ValueError, "closed", len, source)
                    self.raises(ValueError, "closed", source.__getitem__, 0)
                    self.raises(ValueError, "closed", source.gather, [0])
                    self.raises(ValueError, "closed", source.id, 0)
                    self.raises(ValueError, "closed", source.find, ["k000"])
                    source.close()
                del source
                gc.collect()
                chance.shuffle(held)
                while held:
                    i, record = held.pop()
                    self.assertEqual(flat(record), flat(row(i)))
        for name in os.listdir(path):
            if name.endswith(".json"):
                continue
            source = lmdbcache.source(os.path.join(path, name), like="buffer")
            record = source[0]
            os.unlink(os.path.join(path, name))
            del source
            gc.collect()
            self.assertEqual(len(flat(record)), 6)

    @needs_numpy
    def test_arrays_are_read_only_and_in_place(self) -> None:
        path = self.exported()
        source = lmdbcache.source(path)
        self.assertEqual(source.like, "numpy")
        record = source[4]
        self.assertIsInstance(record, np.ndarray)
        self.assertFalse(record.flags.writeable)
        with self.assertRaises(ValueError):
            record[...] = 0
        self.assertEqual(record.shape, (6,))
        again = source[4]
        self.assertEqual(record.ctypes.data, again.ctypes.data)
        part = record[2:]
        del record, again, source
        gc.collect()
        self.assertEqual(part.tolist(), flat(row(4))[2:])
        with lmdbcache.source(path) as source:
            block = source.gather(np.arange(N)[::-1], threads=3)
            self.assertEqual(block.shape, (N, 6))
            self.assertTrue(block.flags.writeable)
            out = np.zeros((2, 6), "f4")
            self.assertIs(source.gather(range(2), out=out), out)
            self.assertEqual(out.ravel().tolist(), flat(row(0)) + flat(row(1)))
            wrong = np.zeros((2, 1, 6), "f4")
            self.raises(lmdbcache.SchemaError, "item 0", source.gather, [0, 1], out=wrong)
            self.raises(ValueError, "first axis", source.gather, [0], out=wrong)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors_of_torch_are_copies(self) -> None:
        path = self.exported()
        with lmdbcache.source(path, like="torch") as source:
            record = source[1]
            record += 1
            self.assertEqual(source[1].flatten().tolist(), flat(row(1)))
            self.assertEqual(source.gather([1, 0]).shape, (2, 6))

    def test_a_module(self) -> None:
        cache = self.filled()
        source = lmdbcache.source(cache)
        self.assertEqual(source.like, "buffer")
        self.check(source)
        self.assertEqual(source.find(["k005", "none", "k000"]), [5, None, 0])
        error = self.raises(lmdbcache.InvalidError, "item 1", source.find, ["k005", ""])
        self.assertEqual((error.item, error.key), (1, ""))
        self.raises(TypeError, "", source.find, "k005")
        cache["new"] = {"a.b": row(1), "list": [row(2), "text"], "n": 3}
        cache.flush()
        self.assertEqual(len(source), N)
        self.assertEqual(source.find(["new"]), [None])
        self.assertEqual(source.refresh(), N + 1)
        self.assertEqual(source.find(["new"]), [N])
        record = source[N]
        self.assertEqual((flat(record["a.b"]), record["list"][1], record["n"]), (flat(row(1)), "text", 3))
        self.assertTrue(record["a.b"].readonly)
        self.assertEqual(flat(source.gather([N], field="list.0")), flat(row(2)))
        self.assertEqual(flat(source.gather([N], field="a\\.b")), flat(row(1)))
        self.raises(lmdbcache.SchemaError, "new", source.gather, [N], field="none")
        error = self.raises(lmdbcache.SchemaError, "item 1", source.gather, [0, N])
        self.assertEqual(error.item, 1)
        source.verify()
        cache.close()
        self.assertEqual(flat(source[2]), flat(row(2)))
        self.assertEqual(source.refresh(), N + 1)
        self.raises(lmdbcache.BusyError, "m", lmdbcache.drop, self.root, "m")
        source.close()
        del record
        gc.collect()
        lmdbcache.drop(self.root, "m")

    def test_fields(self) -> None:
        cache = self.open()
        cache["x"] = {"a.b": row(1), "c": [row(2, 3), 5], "d": "text"}
        source = lmdbcache.source(cache)
        fields = {"a\\.b": ("f32", (6,)), "c.0": ("f32", (3,))}
        self.assertEqual(source.fields(), fields)
        for path, (_, shape) in fields.items():
            self.assertEqual(source.gather([0], field=path).shape, (1, *shape))
        self.assertEqual(lmdbcache.source(self.open("empty")).fields(), {})

    def test_a_module_that_changed(self) -> None:
        cache = self.filled()
        source = lmdbcache.source(cache)
        del cache["k003"]
        cache.flush()
        error = self.raises(lmdbcache.StaleError, "other records", source.__getitem__, 0)
        self.assertEqual(error.status, "changed")
        self.raises(lmdbcache.StaleError, "other records", source.gather, [0, 1])
        self.raises(lmdbcache.StaleError, "", source.refresh)
        self.assertEqual(len(lmdbcache.source(cache)), N - 1)

    def test_parts_of_a_split(self) -> None:
        cache = self.filled()
        seen: List[Any] = []
        for part in ("train", "val"):
            with lmdbcache.source(cache, part=part, split="train=0.7,val=0.3") as source:
                ids = list(source.ids())
                self.assertEqual(flat(source[0]), flat(row(int(str(ids[0])[1:]))))
                seen += ids
                self.raises(lmdbcache.UnsupportedError, "", source.find, ids)
        self.assertEqual(sorted(seen), list(cache))
        self.raises(lmdbcache.Error, "test", lmdbcache.source, cache, part="test", split="train=1")

    def test_damaged_shards(self) -> None:
        path = self.exported(shard_bytes=4096)
        whole = lmdbcache.source(path, like="buffer")
        records = [flat(r) for r in whole]
        whole.close()
        for name in sorted(os.listdir(path)):
            with open(os.path.join(path, name), "rb") as file:
                if row(5).tobytes() in file.read():
                    break
        flip(os.path.join(path, name), row(5).tobytes())
        lines: List[str] = []
        self.raises(lmdbcache.CorruptError, "", lmdbcache.verify_shards, path, damage=lines.append)
        self.assertTrue(any(name in line for line in lines), lines)
        source = lmdbcache.source(path, like="buffer")
        self.raises(lmdbcache.CorruptError, name, source.__getitem__, 5)
        self.raises(lmdbcache.CorruptError, "item 1: ", source.gather, [N - 1, 5])
        self.assertEqual(flat(source[N - 1]), records[N - 1])
        self.raises(lmdbcache.CorruptError, "", source.verify)
        unchecked = lmdbcache.source(path, like="buffer", verify=False)
        self.assertNotEqual(flat(unchecked[5]), records[5])
        with open(os.path.join(path, name), "r+b") as file:
            file.truncate(100)
        source.close()
        self.raises(lmdbcache.CorruptError, name, lmdbcache.source, path)
        os.unlink(os.path.join(path, name))
        self.raises(lmdbcache.Error, name, lmdbcache.source, path)
        with open(os.path.join(path, "manifest.json"), "w") as file:
            file.write("{")
        self.raises(lmdbcache.CorruptError, "manifest.json", lmdbcache.source, path)

    def test_what_is_not_there(self) -> None:
        none = os.path.join(self.root, "none")
        error = self.raises(lmdbcache.NoFileError, none, lmdbcache.source, none)
        self.assertIsInstance(error, FileNotFoundError)
        self.raises(FileNotFoundError, none, lmdbcache.verify_shards, none)
        self.raises(lmdbcache.NotModuleError, "", lmdbcache.source, __file__)
        self.raises(lmdbcache.NotModuleError, "", lmdbcache.verify_shards, __file__)
        self.raises(lmdbcache.Error, self.root, lmdbcache.source, self.root)
        self.raises(TypeError, "", lmdbcache.source, 7)
        self.raises(ValueError, "like", lmdbcache.source, none, like="list")
        cache = self.open()
        self.raises(lmdbcache.InvalidError, "no records", cache.export, none)
        cache["a"], cache["b"] = row(1), row(1, 3)
        self.raises(lmdbcache.InvalidError, "f32[3]", cache.export, none)
        self.raises(ValueError, "order", cache.export, none, order="size")
        self.raises(lmdbcache.InvalidError, "shard_bytes", cache.export, none, shard_bytes=1)
        cache.close()
        self.raises(ValueError, "closed", lmdbcache.source, cache)

    def test_pickle_and_processes(self) -> None:
        path = self.exported()
        cache = self.open()
        sources = [lmdbcache.source(path, like="buffer"), lmdbcache.source(cache)]
        want = (N, flat(row(3)), "k003", flat(row(1)) + flat(row(2)))
        for source in sources:
            again = pickle.loads(pickle.dumps(source))
            self.addCleanup(again.close)
            self.assertEqual(len(again), N)
            self.assertEqual([flat(r) for r in again], [flat(r) for r in source])
            for way in ("fork", "spawn"):
                if way == "spawn" and source is not sources[0]:
                    continue  # it is slow
                context: Any = multiprocessing.get_context(way)
                out = context.Queue()
                child = context.Process(target=child_sees, args=(source, out))
                child.start()
                self.assertEqual(out.get(timeout=60), want)
                child.join()
                self.assertEqual(child.exitcode, 0)
            self.assertEqual(flat(source[3]), want[1])
        # The copy has what the original had, whatever came since.
        text = pickle.dumps(sources[1])
        cache["later"] = row(1)
        cache.flush()
        with pickle.loads(text) as again:
            self.assertEqual(len(again), N)

    def test_threads(self) -> None:
        path = self.exported(shard_bytes=4096)
        whats: Tuple[Any, ...] = (path, self.open(), self.parts())
        for what in whats:
            source = lmdbcache.source(what, like="buffer")
            failures: List[BaseException] = []

            def work(seed: int) -> None:
                chance = random.Random(seed)
                try:
                    for _ in range(150):
                        i = chance.randrange(N)
                        self.assertEqual(flat(source[i]), flat(row(i)))
                        self.assertEqual(source.id(i), f"k{i:03}")
                        self.assertEqual(flat(source.gather([i, 0], threads=2))[6:], flat(row(0)))
                except ValueError as error:  # it was closed
                    if "closed" not in str(error):
                        failures.append(error)
                except BaseException as error:
                    failures.append(error)

            threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            for thread in threads:
                thread.start()
            threads[0].join()
            source.close()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])

    def test_memory(self) -> None:
        """Memory of reads and gathers is released."""
        path = self.exported()
        none = sys.getrefcount(None)
        source = lmdbcache.source(path, like="buffer")

        def resident() -> int:
            with open("/proc/self/status") as file:
                return int(next(x for x in file if x.startswith("RssAnon")).split()[1])

        def use(times: int) -> None:
            for _ in range(times):
                source[3], source[2:5], source.gather(range(N)), source.id(3)
                source.info(), source.fields()
                try:
                    source.gather([0, N + 5])
                except IndexError:
                    pass

        use(300)
        before = resident()
        use(3000)
        gc.collect()
        if "libasan" not in os.environ.get("LD_PRELOAD", ""):
            self.assertLess(resident() - before, 2048)
        self.assertLess(abs(sys.getrefcount(None) - none), 1000)


if __name__ == "__main__":
    unittest.main()
