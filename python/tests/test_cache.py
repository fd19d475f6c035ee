# SPDX-License-Identifier: BSD-2-Clause
"""The handle: values, ids, gather, views, errors, threads, processes, memory."""

import array
import concurrent.futures
import gc
import itertools
import math
import multiprocessing
import os
import pickle
import random
import struct
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import unittest
from typing import Any, Callable, Dict, List, Tuple, Union

import lmdbcache

try:
    import numpy as np
except ImportError:  # NumPy is optional
    np = None  # type: ignore[assignment]

needs_numpy = unittest.skipIf(np is None, "no NumPy")
SEED = int(os.environ.get("T_SEED") or random.randrange(1 << 32))
sanitized = "libasan" in os.environ.get("LD_PRELOAD", "")


class Case(unittest.TestCase):
    """A root directory of its own for each test."""

    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory(prefix="lmdbcache-test.")
        self.addCleanup(place.cleanup)
        self.root = place.name

    def open(self, module: str = "m", **options: Any) -> lmdbcache.Cache:
        options.setdefault("like", "buffer")
        cache = lmdbcache.open(self.root, module, **options)
        self.addCleanup(self.end, cache)
        return cache

    @staticmethod
    def end(cache: lmdbcache.Cache) -> None:
        gc.collect()
        cache.close()

    def run_python(self, text: str, *args: str, status: int = 0) -> str:
        """What another interpreter prints."""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", text, self.root, *args],
            capture_output=True, text=True, timeout=300,
        )
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        return done.stdout


def floats(*values: float) -> "array.array[float]":
    return array.array("f", values)


class Mapping(Case):
    def test_as_a_dict(self) -> None:
        cache = self.open()
        self.assertEqual(len(cache), 0)
        self.assertEqual(list(cache), [])
        cache["b"] = 2
        cache["a"] = "one"
        cache["c"] = None
        self.assertEqual(cache["b"], 2)
        self.assertIn("a", cache)
        self.assertNotIn("x", cache)
        self.assertEqual(cache.get("a"), "one")
        self.assertIsNone(cache.get("x"))
        self.assertEqual(cache.get("x", 7), 7)
        self.assertIsNone(cache.get("c", 7))
        cache.flush()
        self.assertEqual(len(cache), 3)
        self.assertEqual(list(cache), ["a", "b", "c"])
        self.assertEqual(list(cache.items()), [("a", "one"), ("b", 2), ("c", None)])
        self.assertEqual(list(cache.values("a")), ["one"])
        del cache["a"]
        self.assertNotIn("a", cache)
        with self.assertRaises(KeyError):
            del cache["a"]
        self.assertTrue(cache.delete("b"))
        self.assertFalse(cache.delete("b"))
        self.assertEqual(cache.setdefault("d", lambda: 5), 5)
        self.assertEqual(cache.setdefault("d", 6), 5)

    def test_reopened(self) -> None:
        with lmdbcache.open(self.root, "m", like="buffer") as cache:
            self.assertEqual((cache.root, cache.module), (self.root, "m"))
            self.assertEqual(repr(cache), f"<lmdbcache.Cache {self.root}/m>")
            self.assertEqual(cache.like, "buffer")
            cache["x"] = [1, 2.5, "drei", b"vier", None, True, (5,)]
        self.assertTrue(cache.closed)
        self.assertEqual(repr(cache), f"<closed lmdbcache.Cache {self.root}/m>")
        cache.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            cache["x"]
        again = self.open(readonly=True)
        self.assertEqual(again["x"], [1, 2.5, "drei", b"vier", None, True, (5,)])
        with self.assertRaises(lmdbcache.ReadOnlyError):
            again["x"] = 1

    def test_discard(self) -> None:
        cache = self.open()
        cache["kept"] = 1
        cache.flush()
        cache["dropped"] = 2
        cache.discard()
        self.assertEqual(list(self.open()), ["kept"])

    def test_opened_twice(self) -> None:
        one = self.open(flush_interval_ms=0)
        two = self.open(flush_interval_ms=0, flush_every=7)
        reader = self.open(readonly=True)
        one["a"] = 1
        two["b"] = floats(1, 2)
        two["a"] = 2
        for cache in (one, two, reader):
            self.assertEqual(cache["a"], 2)
            self.assertEqual(memoryview(cache["b"]).tolist(), [1.0, 2.0])
            self.assertEqual(cache.missing(["a", "b", "c"]), [2])
            self.assertEqual(cache.stats()["records"], 0)
        block, missing = one.gather(["b", "c"])
        self.assertEqual(memoryview(block).tolist(), [[1.0, 2.0], [0.0, 0.0]])
        self.assertEqual(missing, [1])
        del one["a"]
        self.assertNotIn("a", two)
        with self.assertRaises(KeyError):
            del two["a"]
        two.flush()
        self.assertEqual((one.stats()["records"], len(one)), (1, 1))
        one["c"] = 3
        view = two.view("c")
        one.discard()
        self.assertEqual(two["c"], 3)
        two.close()
        self.assertEqual(view, 3)
        self.assertEqual(sorted(self.open()), ["b", "c"])

    def test_the_module_as_a_whole(self) -> None:
        cache = self.open()
        for i in range(100):
            cache[f"{i:03}"] = floats(*[i] * 64)
        cache.flush()
        for i in range(90):
            del cache[f"{i:03}"]
        cache.flush()
        stats = cache.stats()
        self.assertEqual(stats["records"], 10)
        self.assertEqual(len(stats["uuid"]), 16)
        self.assertEqual(cache.compact(0.9)["dropped"], 90)
        self.assertEqual(cache.verify()["live"], 10)
        with tempfile.TemporaryDirectory() as other:
            cache.backup(other)
            with lmdbcache.open(other, "m", like="buffer") as copy:
                self.assertEqual(bytes(copy["095"]), bytes(floats(*[95] * 64)))

    def test_codecs(self) -> None:
        cache = self.open()
        block = array.array("B", bytes(1 << 16))
        for codec in "none", "lz4", "shuffle-lz4", "u8pack", "u8pack-lz4", "auto":
            cache.put(codec, block, codec=codec)
            self.assertEqual(bytes(cache[codec]), bytes(1 << 16))
        with self.assertRaises(lmdbcache.InvalidError):
            cache.put("x", block, codec="zip")
        with self.assertRaises(lmdbcache.InvalidError):
            lmdbcache.open(self.root, "n", codec="zip")


class Keys(Case):
    def test_bytes_and_text_are_one_key(self) -> None:
        cache = self.open()
        cache["ä"] = 1
        self.assertEqual(cache["ä".encode()], 1)

    def test_what_no_utf8_is(self) -> None:
        cache = self.open()
        names = [b"\xff", b"a\0b", b"\xc3\x28", b"\xed\xa0\x80", "\U0001f600".encode()]
        for i, name in enumerate(names):
            cache[name] = i
        cache.flush()
        for text in cache:
            self.assertEqual(names[cache[text]], os.fsencode(text))
        self.assertEqual(sorted(cache.keys(raw=True)), sorted(names))
        self.assertEqual([cache[os.fsdecode(n)] for n in names], list(range(5)))
        with self.assertRaises(UnicodeEncodeError):
            cache["\ud800"]

    def test_what_is_no_key(self) -> None:
        cache = self.open()
        for bad in 1, None, ("a",), bytearray(b"a"), 1.5:
            with self.assertRaises(TypeError):
                cache[bad]  # type: ignore[index]
            with self.assertRaises(TypeError):
                cache[bad] = 1  # type: ignore[index]
        with self.assertRaises(lmdbcache.InvalidError):
            cache[""] = 1
        with self.assertRaises(TypeError):
            cache.gather("abc")
        with self.assertRaises(TypeError):
            cache.missing(["a", 1])  # type: ignore[list-item]

    def test_long(self) -> None:
        cache = self.open()
        keys = ["k" * n for n in (1, 500, 511, 512, 2000, 60000)]
        stored = []
        for key in keys:
            try:
                cache[key] = len(key)
                stored.append(key)
            except lmdbcache.InvalidError as error:
                self.assertEqual(error.key, key)
        self.assertGreaterEqual(len(stored), 5)
        cache.flush()
        self.assertEqual([cache[k] for k in stored], [len(k) for k in stored])

    def test_prefix_and_order(self) -> None:
        cache = self.open()
        for name in "b2", "a1", "b1", "a2", "c":
            cache[name] = 0
        cache.flush()
        self.assertEqual(list(cache.keys("b")), ["b1", "b2"])
        self.assertEqual(list(cache.keys(b"a", raw=True)), [b"a1", b"a2"])
        self.assertEqual(list(cache.keys(order="commit")), ["b2", "a1", "b1", "a2", "c"])
        with self.assertRaises(ValueError):
            cache.keys(order="random")  # type: ignore[call-overload]

    def test_an_iterator_that_is_held(self) -> None:
        cache = self.open()
        cache["a"] = cache["b"] = 1
        cache.flush()
        keys = cache.keys()
        self.assertEqual(next(keys), "a")
        cache["c"] = 1
        cache.flush()
        cache.close()
        # The commit that was the newest when it began.
        self.assertEqual(list(keys), ["b"])
        with self.assertRaises(StopIteration):
            next(keys)

    def test_an_iterator_and_threads(self) -> None:
        cache = self.open()
        cache.put_many([str(i) for i in range(20000)], [0] * 20000)
        cache.flush()
        keys = cache.keys()
        seen: List[str] = []

        def walk() -> None:
            while True:
                try:
                    seen.append(next(keys))
                except StopIteration:
                    return
                except ValueError as error:
                    self.assertIn("another thread", str(error))

        threads = [threading.Thread(target=walk) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(seen), sorted(str(i) for i in range(20000)))


class Values(Case):
    def test_every_kind(self) -> None:
        cache = self.open()
        values: List[Any] = [
            None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**64 - 1, 0.0, -0.0, 1e308, math.inf,
            "", "text", "\0", "ü\U0001f600", b"", b"\0\xff", [], (), {}, [[]], ({},),
            {"a": 1, "b": [1, (2, {"c": None})]}, [True, 1, 1.0], ["x"] * 1000,
        ]
        for i, value in enumerate(values):
            cache[str(i)] = value
        for turn in "pending", "committed":
            for i, value in enumerate(values):
                with self.subTest(turn, value=value):
                    got = cache[str(i)]
                    self.assertEqual((type(got), repr(got)), (type(value), repr(value)))
                    self.assertEqual(repr(cache.view(str(i))), repr(value))
            cache.flush()
        cache["nan"] = math.nan
        self.assertTrue(math.isnan(cache["nan"]))

    def test_what_cannot_be_stored(self) -> None:
        cache = self.open()
        around: List[Any] = []
        around.append(around)
        deep: Any = 0
        for _ in range(100000):
            deep = [deep]
        for bad, error in [
            (object(), TypeError), ({"a": {1, print}}, TypeError),
            ("\ud800", UnicodeEncodeError), ({"\ud800": 1}, UnicodeEncodeError),
            (around, lmdbcache.InvalidError), (deep, lmdbcache.InvalidError),
            (array.array("u", "x"), TypeError), (print, TypeError),
        ]:
            with self.subTest(type(bad), error=error), self.assertRaises(error):
                cache["x"] = bad
        while deep:
            deep = deep.pop()
        self.assertNotIn("x", cache)

    def test_containers_that_change(self) -> None:
        """Converting an item runs code that shortens what is converted."""
        cache = self.open()

        class Evil:
            def __init__(self, victim: Any) -> None:
                self.victim = victim

            @property
            def dtype(self) -> Any:
                self.victim.clear()
                raise AttributeError

        victim: List[Any] = []
        victim.extend([Evil(victim)] + [b"x" * 1000] * 100)
        table: Dict[str, Any] = {}
        table["a"] = Evil(table)
        table.update({str(i): "y" * 1000 for i in range(100)})
        for bad in victim, table:
            with self.assertRaises(TypeError):
                cache["x"] = bad

    def test_buffers(self) -> None:
        cache = self.open()
        for code in "bBhHiIlLqQfd":
            source = array.array(code, [0, 1, 2, 100])
            cache[code] = source
            got = cache[code]
            self.assertEqual((got.shape, got.readonly), ((4,), False))
            self.assertEqual(bytes(got), source.tobytes())
            self.assertEqual(memoryview(got).tolist(), source.tolist())
        # Not in C order.
        grid = memoryview(bytes(range(24))).cast("B", (4, 6))
        cache["every second"] = memoryview(bytes(range(24)))[::2]
        self.assertEqual(bytes(cache["every second"]), bytes(range(0, 24, 2)))
        cache["grid"] = grid
        self.assertEqual(cache["grid"].shape, (4, 6))
        self.assertEqual(memoryview(cache["grid"]).tolist(), grid.tolist())

    def test_a_copy_is_ones_own(self) -> None:
        cache = self.open()
        source = floats(1, 2, 3)
        cache["a"] = source
        source[0] = 9
        first, second = memoryview(cache["a"]), memoryview(cache["a"])
        first[1] = 7
        self.assertEqual(second.tolist(), [1, 2, 3])
        self.assertEqual(memoryview(cache["a"]).tolist(), [1, 2, 3])

    def test_sixteen_dimensions(self) -> None:
        cache = self.open()
        flat = memoryview(bytes(range(6)))
        cache["16"] = flat.cast("B", (1,) * 14 + (2, 3))
        self.assertEqual(cache["16"].shape, (1,) * 14 + (2, 3))
        self.assertEqual(bytes(cache["16"]), bytes(range(6)))
        with self.assertRaises(ValueError):
            cache["17"] = flat.cast("B", (1,) * 15 + (2, 3))
        with self.assertRaisesRegex(ValueError, "too many dimensions"):
            cache.gather(["16"])

    def test_nested_tensors(self) -> None:
        cache = self.open()
        cache["x"] = {"boxes": [floats(1, 2), floats(3)], "n": 2}
        got = cache["x"]
        self.assertEqual([memoryview(b).tolist() for b in got["boxes"]], [[1, 2], [3]])
        cache["again"] = got
        self.assertEqual(bytes(cache["again"]["boxes"][0]), bytes(floats(1, 2)))


@needs_numpy
class NumPy(Case):
    NAMES = (
        "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64"
        " complex64 complex128"
    ).split()

    def test_every_dtype_bit_for_bit(self) -> None:
        print(f"# T_SEED={SEED}", file=sys.stderr)
        rng = np.random.default_rng(SEED)
        cache = self.open(like="numpy")
        sources = {}
        for name in self.NAMES:
            for shape in (), (0,), (3, 0, 2), (1,), (7,), (2, 3, 4), (1,) * 15 + (5,):
                size = int(np.prod(shape, dtype=int))
                if name == "bool":
                    source = rng.integers(0, 2, shape).astype(bool)
                else:
                    raw = rng.bytes(size * np.dtype(name).itemsize)
                    source = np.frombuffer(raw, name).reshape(shape)
                key = f"{name}{shape}"
                cache[key] = sources[key] = source
        for _ in range(2):
            for key, source in sources.items():
                got = cache[key]
                self.assertIsInstance(got, np.ndarray)
                self.assertEqual((got.dtype, got.shape), (source.dtype, source.shape))
                self.assertEqual(got.tobytes(), source.tobytes())
                self.assertTrue(got.flags.writeable and got.flags.c_contiguous)
                view = cache.view(key)
                self.assertEqual(np.asarray(view).tobytes(), source.tobytes())
                self.assertFalse(np.asarray(view).flags.writeable)
                if source.dtype.itemsize <= 8:
                    bits = np.asarray(view.bits())
                    self.assertEqual(bits.dtype, f"uint{8 * source.dtype.itemsize}")
                    self.assertEqual(bits.tobytes(), source.tobytes())
            cache.flush()

    def test_layouts(self) -> None:
        cache = self.open(like="numpy")
        base = np.arange(60, dtype="i4").reshape(3, 4, 5)
        for name, source in {
            "fortran": np.asfortranarray(base), "transposed": base.T, "steps": base[::2, ::-1],
            "expanded": np.broadcast_to(np.float32(3), (2, 3)), "read-only": base.copy(),
            "big-endian": base.astype(">i4"), "big floats": base.astype(">f8"),
            "big i2": base.astype(">i2"), "scalar": np.float32(2), "0-d": np.array(5),
        }.items():
            if isinstance(source, np.ndarray):
                source.flags.writeable = False
            cache[name] = source
            got = cache[name]
            self.assertEqual(got.dtype, np.asarray(source).dtype.newbyteorder("="), name)
            np.testing.assert_array_equal(got, source)
        for bad in (
            np.array(["a"]), np.array([object()]), np.zeros(2, "M8[s]"), np.zeros(2, "V65"),
            np.zeros(2, [("a", "O"), ("b", "f4")]), np.zeros(2, np.longdouble),
            np.zeros(2, "V0"),
        ):
            with self.subTest(bad.dtype), self.assertRaises(TypeError):
                cache["x"] = bad

    def test_voids_and_fields_bit_for_bit(self) -> None:
        """Elements of bytes and of fields are opaque; plain fields come back."""
        print(f"# T_SEED={SEED}", file=sys.stderr)
        rng = np.random.default_rng(SEED)
        cache = self.open(like="numpy")
        plain = [("x", "<f4"), ("y", ">i2"), ("z", "|u1"), ("w", "<c16")]
        rows = {
            "V1": ("opaque1:void", "V1"),
            "V12": ("opaque12:void", "V12"),
            "V64": ("opaque64:void", "V64"),
            "fields": ("opaque23:x:<f4,y:>i2,z:|u1,w:<c16", plain),
            "padded": ("opaque16:void", "V16"),
            "nested": ("opaque8:void", "V8"),
            "a colon": ("opaque4:void", "V4"),
        }
        dtypes = {
            "fields": np.dtype(plain),
            "padded": np.dtype([("a", "i1"), ("b", "f8")], align=True),
            "nested": np.dtype([("a", "f4", (2,))]),
            "a colon": np.dtype([("a:b", "f4")]),
        }
        for name, (opaque, back) in rows.items():
            dtype = dtypes.get(name, np.dtype(back))
            for shape in (), (0,), (3,), (2, 0), (2, 3, 4), (1,) * 15 + (5,):
                source = np.zeros(shape, dtype)
                raw = rng.bytes(source.nbytes)
                source = np.frombuffer(raw, f"V{dtype.itemsize}").reshape(shape).view(dtype)
                key = f"{name}{shape}"
                cache[key] = source
                for _ in range(2):
                    got = cache[key]
                    self.assertEqual((got.dtype, got.shape), (np.dtype(back), shape))
                    self.assertEqual(got.tobytes(), raw)
                    self.assertTrue(got.flags.writeable)
                    view = cache.view(key)
                    self.assertEqual(view.dtype, opaque)
                    self.assertEqual(view.numpy().tobytes(), raw)
                    self.assertFalse(view.numpy().flags.writeable)
                    cache.flush()
                cache["map"] = {"a": [source]}
                self.assertEqual(cache["map"]["a"][0].tobytes(), raw)
                self.assertEqual(cache["map"]["a"][0].dtype, np.dtype(back))
        # In any order of axes, and many at once.
        wide = np.frombuffer(rng.bytes(23 * 24), np.dtype(plain)).reshape(4, 6)
        cache["t"] = wide.T[1:, ::2]
        self.assertEqual(cache["t"].tobytes(), wide.T[1:, ::2].tobytes())
        cache.put_many(["r0", "r1", "r2", "r3"], wide)
        block, missing = cache.gather(["r3", "none", "r0"])
        self.assertEqual((block.dtype, missing), (np.dtype(plain), [1]))
        self.assertEqual(block[0].tobytes(), wide[3].tobytes())
        self.assertEqual(block[2].tobytes(), wide[0].tobytes())

    def test_opaque_elements_are_refused_by_name(self) -> None:
        cache = self.open(like="numpy")
        cache["a"] = np.zeros(2, "V12")
        view = cache.view("a")
        self.assertEqual(repr(view), "<lmdbcache.Tensor opaque12:void (2,), read-only>")
        self.assertEqual((view.bits().shape, bytes(view.bits())), ((2, 12), bytes(24)))
        with self.assertRaisesRegex(BufferError, "^DLPack has no dtype for opaque12:void$"):
            view.__dlpack__(max_version=(1, 0))
        with self.assertRaisesRegex(
            BufferError, r"^buffers have no format for opaque12:void: use numpy\(\)$"
        ):
            memoryview(view)
        with self.assertRaisesRegex(TypeError, "an opaque element has 1 to 64 bytes, not 65$"):
            cache["b"] = np.zeros(2, "V65")

    def test_values_in_numpy(self) -> None:
        cache = self.open(like="numpy")
        cache["x"] = {"a": np.arange(3), "b": (np.float64(1.5), np.bool_(True))}
        got = cache["x"]
        self.assertEqual(got["a"].tolist(), [0, 1, 2])
        self.assertEqual(got["b"][0], 1.5)

    def test_gather(self) -> None:
        cache = self.open(like="numpy")
        rows = np.arange(40, dtype="f4").reshape(10, 4)
        cache.put_many([f"r{i}" for i in range(10)], rows)
        block, missing = cache.gather(["x", "r3", "y", "r9", "r3"])
        self.assertEqual(missing, [0, 2])
        want = np.stack([0 * rows[0], rows[3], 0 * rows[0], rows[9], rows[3]])
        np.testing.assert_array_equal(block, want)
        out = np.full((5, 4), 7, "f4")
        same, missing = cache.gather(["x", "r3", "y", "r9", "r3"], out)
        self.assertIs(same, out)
        np.testing.assert_array_equal(out, want)
        fresh = out[:2]
        fresh[:] = 5
        cache.gather(["no", "nor"], fresh)
        np.testing.assert_array_equal(out, np.concatenate([np.zeros((2, 4), "f4"), want[2:]]))

    def test_gather_into_what_does_not_fit(self) -> None:
        cache = self.open(like="numpy")
        cache["r"] = np.zeros(4, "f4")
        frozen = np.zeros((1, 4), "f4")
        frozen.flags.writeable = False
        for out, error in [
            (np.zeros((2, 4), "f4"), ValueError), (np.zeros((), "f4"), ValueError),
            (np.zeros((1, 5), "f4"), Exception), (np.zeros((1, 4), "f8"), Exception),
            (np.zeros((1, 4, 1), "f4"), Exception), (np.zeros((1, 8), "f4")[:, ::2], Exception),
            (frozen, Exception), (b"x" * 16, Exception), (5, TypeError), ([0] * 4, TypeError),
        ]:
            with self.subTest(out=out), self.assertRaises(error):
                cache.gather(["r"], out)

    def test_dlpack(self) -> None:
        cache = self.open(like="buffer")
        cache["a"] = np.arange(6, dtype="i2").reshape(2, 3)
        own, view = cache["a"], cache.view("a")
        self.assertEqual(own.__dlpack_device__(), (1, 0))
        np.testing.assert_array_equal(np.from_dlpack(own), [[0, 1, 2], [3, 4, 5]])
        self.assertTrue("dltensor_versioned" in repr(own.__dlpack__(max_version=(1, 0))))
        self.assertTrue('"dltensor"' in repr(own.__dlpack__()))
        # A view is read-only, which the first version cannot say.
        with self.assertRaises(BufferError):
            view.__dlpack__()
        with self.assertRaises(BufferError):
            view.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # it knows DLPack 1.0
            np.from_dlpack(view, copy=True)
            array_ = np.from_dlpack(view)
            self.assertFalse(array_.flags.writeable)
            del view
            cache.close()
            self.assertEqual(array_.tolist(), [[0, 1, 2], [3, 4, 5]])
            del array_
        self.assertEqual(np.from_dlpack(own).sum(), 15)


class Gather(Case):
    def test_fields(self) -> None:
        cache = self.open()
        for i in range(600):
            cache[str(i)] = {"boxes": [floats(i), floats(i, i)], "n": i}
        cache.flush()
        ids = [str(i) for i in range(0, 1200, 3)]
        block, missing = cache.gather(ids, field="boxes.1")
        self.assertEqual(block.shape, (400, 2))
        self.assertEqual(missing, list(range(200, 400)))
        want = [[float(i)] * 2 if i < 600 else [0.0] * 2 for i in range(0, 1200, 3)]
        self.assertEqual(memoryview(block).tolist(), want)
        for field in "nothing", "n", "boxes", "boxes.2", "":
            with self.subTest(field), self.assertRaises(lmdbcache.Error):
                cache.gather(ids, field=field)

    def test_many_fields(self) -> None:
        cache = self.open()
        for i in range(600):
            cache[str(i)] = {"boxes": [floats(i), floats(i, i)], "label": array.array("q", [i])}
        ids = [str(i) for i in range(0, 1200, 3)]
        names = ["label", "boxes.1"]
        for _ in range(2):
            blocks, missing = cache.gather(ids, fields=names)
            self.assertEqual(list(blocks), names)
            self.assertEqual(missing, list(range(200, 400)))
            for name in names:
                block, same = cache.gather(ids, field=name, threads=2)
                self.assertEqual((bytes(block), same), (bytes(blocks[name]), missing))
            cache.flush()
        out: Dict[str, Any] = {"label": memoryview(bytearray(8 * 400)).cast("B").cast("q", (400, 1))}
        filled, _ = cache.gather(ids, out, fields=iter(names))
        self.assertIs(filled["label"], out["label"])
        self.assertEqual(bytes(filled["label"]), bytes(blocks["label"]))
        self.assertEqual(bytes(filled["boxes.1"]), bytes(blocks["boxes.1"]))
        self.assertEqual(cache.gather(["x"], fields=names), ({"label": None, "boxes.1": None}, [0]))
        self.assertEqual(cache.gather(["x", "3"], fields=()), ({}, [0]))
        cache["odd"] = {"label": array.array("q", [1])}
        with self.assertRaises(lmdbcache.SchemaError) as caught:
            cache.gather(["5", "odd"], fields=names)
        self.assertEqual((caught.exception.item, caught.exception.key), (1, "odd"))
        wrong: List[Dict[str, Any]] = [
            {"fields": "label"}, {"fields": names, "field": "label"}, {"fields": [1]},
            {"fields": names, "out": floats(1)}, {"fields": 5},
        ]
        for kwargs in wrong:
            with self.subTest(kwargs), self.assertRaises(TypeError):
                cache.gather(["5"], **kwargs)

    @unittest.skipIf(sanitized, "the sanitizer ends the process")
    def test_no_memory(self) -> None:
        """A block that no memory has room for; the text is not an older error's."""
        cache = self.open()
        cache["a"] = memoryview(bytes(1 << 24)).cast("B", (1 << 12, 1 << 12))
        with self.assertRaises(KeyError):
            cache["b"]
        with self.assertRaises(MemoryError) as caught:
            cache.gather(["a"] * (1 << 24))
        self.assertEqual(str(caught.exception), "")

    def test_rows_that_differ(self) -> None:
        cache = self.open()
        cache.put_many(["a", "b", "c"], [floats(1), floats(2), floats(3, 4)])
        cache["d"] = array.array("i", [1])
        cache["e"] = {"x": 1}
        for last in "cde":
            with self.subTest(last), self.assertRaises((ValueError, lmdbcache.SchemaError)):
                cache.gather(["a", "b", last])
        self.assertEqual(bytes(cache.gather(["a", "b"])[0]), bytes(floats(1, 2)))

    def test_nothing(self) -> None:
        cache = self.open()
        self.assertEqual(cache.gather([]), (None, []))
        self.assertEqual(cache.gather(["a", "b"]), (None, [0, 1]))
        self.assertEqual(cache.missing([]), [])
        self.assertEqual(cache.missing(iter(["a"])), [0])

    def test_missing_takes_any_ids(self) -> None:
        with self.open() as cache:
            long: List[Union[str, bytes]] = ["k" * size for size in range(1, 512, 3)]
            for key in [*long[::2], b"\xff\xfe", "\u00e9", "a"]:
                cache[key] = 1
            asked = [*long, "\udcff\udcfe", b"\xff\xfe", "\u00e9", "e", b"a"]
            absent = list(range(1, len(long), 2)) + [len(long) + 3]
            for given in (asked, tuple(asked), iter(asked), dict.fromkeys(asked)):
                self.assertEqual(cache.missing(given), absent)
            wrong: List[Tuple[int, Union[str, bytes]]] = [
                (0, ""), (len(asked), b""), (3, "x" * 70000)]
            for at, key in wrong:
                with self.assertRaisesRegex(lmdbcache.Error, f"item {at}: ") as caught:
                    cache.missing([*asked[:at], key, *asked[at:]])
                self.assertEqual(caught.exception.key, key)
            with self.assertRaisesRegex(TypeError, "a cache_id is str or bytes, not"):
                cache.missing(["a", 1])  # type: ignore[list-item]
            with self.assertRaisesRegex(TypeError, "one cache_id where many are expected"):
                cache.missing("a")

    def test_missing(self) -> None:
        cache = self.open()
        cache.put_many([str(i) for i in range(0, 1000, 2)], [i for i in range(500)])
        self.assertEqual(cache.missing(map(str, range(1000))), list(range(1, 1000, 2)))
        cache.flush()
        self.assertEqual(cache.missing(map(str, range(1000))), list(range(1, 1000, 2)))

    def test_random_batches(self) -> None:
        """gather() against a dict, pending and committed, deleted and put again."""
        print(f"# T_SEED={SEED}", file=sys.stderr)
        rng = random.Random(SEED)
        cache = self.open()
        model: Dict[str, bytes] = {}
        for _ in range(150):
            ids = [str(rng.randrange(300)) for _ in range(rng.randrange(1, 700))]
            action = rng.randrange(4)
            if action == 0:
                for key in ids[:40]:
                    model[key] = rng.randbytes(24)
                    cache[key] = memoryview(model[key]).cast("B", (2, 12))
            elif action == 1:
                for key in ids[:10]:
                    self.assertEqual(cache.delete(key), model.pop(key, None) is not None)
            elif action == 2:
                cache.flush()
            block, missing = cache.gather(ids)
            self.assertEqual(missing, [i for i, k in enumerate(ids) if k not in model])
            want = b"".join(model.get(k, bytes(24)) for k in ids)
            self.assertEqual(block if block is None else bytes(block),
                             want if any(k in model for k in ids) else None)

    def test_ids_that_change_meanwhile(self) -> None:
        cache = self.open()
        cache.put_many([str(i) for i in range(1000)], [floats(i) for i in range(1000)])
        ids = [str(i) for i in range(1000)]
        stop = threading.Event()

        def change() -> None:
            while not stop.is_set():
                ids.clear()
                ids.extend(str(i) for i in range(1000))

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(200):
                block, missing = cache.gather(ids)
                self.assertEqual(missing, [])
        finally:
            stop.set()
            thread.join()


class PutMany(Case):
    def test_columns(self) -> None:
        cache = self.open()
        grid = memoryview(bytes(range(12))).cast("B", (3, 4))
        cache.put_many(["a", "b", "c"], {"x": grid, "y": [floats(1, 2, 3)], "label": "same"})
        got = cache["b"]
        self.assertEqual((got["x"].shape, bytes(got["x"])), ((4,), bytes(range(4, 8))))
        self.assertEqual((got["y"][0].shape, got["label"]), ((), "same"))
        self.assertEqual(bytes(got["y"][0]), struct.pack("f", 2))
        cache.put_many(("d", "e", "f"), grid)
        self.assertEqual(bytes(cache["f"]), bytes(range(8, 12)))
        cache.put_many([], [])
        for values in [1, 2], floats(1, 2), {"x": floats(1, 2)}, (grid, floats(1)):
            with self.assertRaises(ValueError):
                cache.put_many(["a", "b", "c"], values)

    def test_a_bad_one(self) -> None:
        cache = self.open()
        with self.assertRaises(lmdbcache.InvalidError) as caught:
            cache.put_many(["a", "b", "", "d"], [1, 2, 3, 4])
        self.assertEqual((caught.exception.item, caught.exception.key), (2, ""))
        self.assertIn("a", cache)
        with self.assertRaises(lmdbcache.InvalidError) as caught:
            cache.put_many(["e", "", "f"], floats(1, 2, 3))
        self.assertEqual((caught.exception.item, caught.exception.key), (1, ""))
        self.assertIn("e", cache)


class Views(Case):
    def test_read_only(self) -> None:
        cache = self.open()
        cache["a"] = floats(1, 2)
        cache["big"] = array.array("d", range(100000))
        cache.flush()
        for key in "a", "big":
            view = cache.view(key)
            self.assertTrue(view.readonly)
            self.assertTrue(memoryview(view).readonly)
            self.assertIn("read-only", repr(view))
            with self.assertRaises(TypeError):
                memoryview(view)[0] = 1
            with self.assertRaises(TypeError):
                struct.pack_into("f", view, 0, 1.0)

    def test_keeps_what_it_shows(self) -> None:
        cache = self.open()
        cache["a"] = array.array("d", range(10000))
        cache.flush()
        view = cache.view("a")
        for turn in range(20):
            cache["a"] = array.array("d", [turn] * 10000)
            cache.flush()
            cache.compact(1.0)
        self.assertEqual(memoryview(view).tolist(), list(range(10000)))

    def test_views_stay_after_close(self) -> None:
        for ending in "close", "discard", "del":
            cache = lmdbcache.open(self.root, "m", like="buffer")
            cache["a"] = {"x": [floats(1), floats(2)], "y": 1}
            cache["b"] = floats(3)
            pending = cache.view("b")
            cache.flush()
            parts, whole = cache.view("a")["x"], cache.view("b")
            if ending == "close":
                cache.close()
            elif ending == "discard":
                cache.discard()
            del cache
            gc.collect()
            with lmdbcache.open(self.root, "m", like="buffer") as cache:
                cache.put_many(["a", "b"], [1, 2])
                cache.compact(1)
            self.assertEqual([bytes(p) for p in parts], [bytes(floats(1)), bytes(floats(2))])
            self.assertEqual(bytes(whole), bytes(floats(3)))
            self.assertEqual(bytes(pending), bytes(floats(3)))

    def test_freed_in_every_order(self) -> None:
        for order in itertools.permutations(range(5)):
            cache = lmdbcache.open(self.root, "m", like="buffer")
            cache["a"] = floats(1, 2, 3)
            cache.flush()
            view = cache.view("a")
            objects: List[Any] = [
                cache, view, memoryview(view), view.__dlpack__(max_version=(1, 0)), cache.keys()
            ]
            del cache, view
            for i in order:
                objects[i] = None
                for alive in objects[1:3]:
                    if alive is not None:
                        self.assertEqual(bytes(alive), bytes(floats(1, 2, 3)))
        with lmdbcache.open(self.root, "m", readonly=True, like="buffer") as cache:
            self.assertEqual(list(cache), ["a"])

    def test_in_a_cycle(self) -> None:
        cache = lmdbcache.open(self.root, "m", like="buffer")
        cache["a"] = floats(1)
        cache.itself = cache  # type: ignore[attr-defined]
        del cache
        gc.collect()
        with lmdbcache.open(self.root, "m", like="buffer") as cache:
            self.assertIn("a", cache)

    def test_at_the_end_of_the_interpreter(self) -> None:
        for kept in "view", "memoryview(view)", "cache.keys()", "view.bits()", "[cache, view]":
            self.run_python(f"""if 1:
                import array, builtins, sys, lmdbcache
                cache = lmdbcache.open(sys.argv[1], "m", like="buffer")
                cache["a"] = array.array("f", [1, 2])
                view = cache.view("a")
                builtins.kept = {kept}
                sys.kept = [{kept}]
                """)
            with lmdbcache.open(self.root, "m", like="buffer") as cache:
                self.assertEqual(bytes(cache["a"]), bytes(floats(1, 2)))
                del cache["a"]

    def test_not_found(self) -> None:
        cache = self.open()
        with self.assertRaises(lmdbcache.NotFoundError):
            cache.view("a")
        cache.close()
        with self.assertRaises(ValueError):
            cache.view("a")
        with self.assertRaises(ValueError):
            cache.keys()


class Errors(Case):
    def raises(self, kind: Any, status: str, call: Callable[[], Any], **also: Any) -> None:
        with self.assertRaises(kind) as caught:
            call()
        self.assertEqual(caught.exception.status, status)
        self.assertIsInstance(caught.exception, lmdbcache.Error)
        for name, value in also.items():
            self.assertEqual(getattr(caught.exception, name), value)

    def test_what_they_are(self) -> None:
        for name, base in {
            "NotFoundError": KeyError, "InvalidError": ValueError, "CorruptError": Exception,
            "NotModuleError": Exception, "VersionError": Exception, "ReadOnlyError": Exception,
            "NoSpaceError": OSError, "BusyError": Exception, "AccessError": PermissionError,
            "SystemFailure": OSError, "UnsupportedError": Exception, "SchemaError": TypeError,
            "ExistsError": Exception, "WaitTimeout": TimeoutError, "AbandonedError": Exception,
            "StaleError": Exception, "NoFileError": FileNotFoundError,
            "MemoryFailure": MemoryError,
        }.items():
            kind = getattr(lmdbcache, name)
            self.assertTrue(issubclass(kind, lmdbcache.Error) and issubclass(kind, base))
            self.assertIn(name, lmdbcache.__all__)
            self.assertTrue(kind.__doc__)

    def test_raised(self) -> None:
        cache = self.open()
        self.raises(KeyError, "not found", lambda: cache["x"], key="x", item=None)
        self.raises(lmdbcache.InvalidError, "invalid", lambda: cache.put("", 1), key="")
        self.raises(FileNotFoundError, "no such file",
                    lambda: lmdbcache.open(self.root, "absent", readonly=True))
        self.raises(FileNotFoundError, "no such file",
                    lambda: lmdbcache.open(self.root, "absent", create=False))
        self.raises(lmdbcache.InvalidError, "invalid", lambda: lmdbcache.open(self.root, "a/b"))

    def test_damage(self) -> None:
        cache = self.open()
        cache["a"] = array.array("B", b"find me!" * 1000)
        cache.close()
        path = os.path.join(self.root, "m", "data.mdb")
        with open(path, "rb") as file:
            data = file.read()
        at = data.index(b"find me!" * 100)
        with open(path, "r+b") as file:
            file.seek(at + 50)
            file.write(b"X")
        cache = self.open()
        self.raises(lmdbcache.CorruptError, "corrupt", lambda: cache["a"], key="a")
        self.raises(lmdbcache.CorruptError, "corrupt", lambda: cache.view("a"), key="a")
        self.raises(lmdbcache.CorruptError, "corrupt", lambda: cache.gather(["b", "a"]),
                    key="a", item=1)
        self.raises(lmdbcache.CorruptError, "corrupt", cache.verify)
        cache.close()
        with lmdbcache.open(self.root, "m", verify=False, like="buffer") as cache:
            self.assertEqual(bytes(cache["a"])[:8], b"find me!")

    def test_options(self) -> None:
        for options, error in [
            ({"like": "tensorflow"}, ValueError), ({"durability": "some"}, ValueError),
            ({"flush_every": -1}, OverflowError), ({"level": 2**40}, OverflowError),
            ({"rank": "0"}, TypeError), ({"lru_bytes": 1.5}, TypeError),
        ]:
            with self.subTest(options), self.assertRaises(error):
                lmdbcache.open(self.root, "m", **options)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            lmdbcache.open("a\0b", "m")
        with self.assertRaises(ValueError):
            lmdbcache.open(self.root, "a\0b")
        with self.assertRaises(TypeError):
            lmdbcache.open(self.root, 5)  # type: ignore[arg-type]
        with lmdbcache.open(os.fsencode(self.root).decode(), "m", durability="relaxed"):
            pass

    def test_types_that_cannot_be_made(self) -> None:
        with self.assertRaises(TypeError):
            lmdbcache.Tensor()
        for kind in (type(self.open().keys()),):
            with self.assertRaises(TypeError):
                kind()


class Package(Case):
    def test_torch_is_imported_when_it_is_asked_for(self) -> None:
        said = self.run_python("""if 1:
            import sys, lmdbcache
            assert not {"torch", "lmdbcache.torch"} & set(sys.modules)
            assert not hasattr(lmdbcache, "torsh")
            try:
                import torch
            except ImportError:
                try:
                    lmdbcache.torch
                except ImportError as error:
                    assert error.name == "torch"
                print("no torch")
            else:
                print(lmdbcache.torch.cached.__module__)""")
        self.assertIn(said, ("no torch\n", "lmdbcache.torch\n"))


def _read(pickled: bytes, key: str) -> Any:
    cache = pickle.loads(pickled)
    with cache:
        return bytes(cache[key])


class Processes(Case):
    def test_pickle(self) -> None:
        cache = self.open(flush_every=7)
        cache["a"] = 1
        cache.flush()
        again = pickle.loads(pickle.dumps(cache))
        self.addCleanup(self.end, again)
        self.assertEqual((again["a"], again.root, again.like), (1, self.root, "buffer"))
        with self.assertRaises(TypeError):
            pickle.dumps(cache.keys())

    def test_spawn(self) -> None:
        cache = self.open()
        cache["a"] = floats(1, 2)
        cache.flush()
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            jobs = [pool.submit(_read, pickle.dumps(cache), "a") for _ in range(4)]
            self.assertEqual([j.result() for j in jobs], [bytes(floats(1, 2))] * 4)

    def child(self, body: Callable[[], None]) -> int:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                body()
                status = 0
            except BaseException as error:
                print("child:", repr(error), file=sys.stderr, flush=True)
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_fork_with_pending_puts(self) -> None:
        cache = self.open(flush_interval_ms=0)
        cache["parent"] = floats(1)

        def child() -> None:
            cache["child"] = floats(2)
            cache.flush()
            self.assertEqual(bytes(cache["child"]), bytes(floats(2)))
            cache.close()

        self.assertEqual(self.child(child), 0)
        cache["later"] = floats(3)
        cache.close()
        again = self.open()
        self.assertEqual(sorted(again), ["child", "later", "parent"])
        again.verify()

    def test_fork_with_views_and_keys(self) -> None:
        cache = self.open()
        cache.put_many(["a", "b"], [floats(1, 2), floats(3)])
        cache.flush()
        view = cache.view("a")

        def child() -> None:
            self.assertEqual(bytes(cache["a"]), bytes(floats(1, 2)))
            self.assertEqual(bytes(view), bytes(floats(1, 2)))
            self.assertEqual(list(cache), ["a", "b"])

        self.assertEqual(self.child(child), 0)
        self.assertEqual(bytes(view), bytes(floats(1, 2)))

    def test_fork_under_threads(self) -> None:
        """A child closes what threads of its parent were writing to."""
        cache = self.open()
        cache["fixed"] = floats(5)
        cache.flush()
        stop = threading.Event()
        count = [0]

        def write() -> None:
            while not stop.is_set():
                cache[f"w{count[0]}"] = floats(count[0])
                count[0] += 1
                if count[0] % 50 == 0:
                    cache.flush()

        thread = threading.Thread(target=write)
        thread.start()

        def child() -> None:
            self.assertEqual(bytes(cache["fixed"]), bytes(floats(5)))
            cache[f"child{os.getpid()}"] = floats(1)
            cache.close()

        try:
            for _ in range(5 if sanitized else 20):
                self.assertEqual(self.child(child), 0)
        finally:
            stop.set()
            thread.join()
        cache.close()
        again = self.open()
        self.assertEqual(len(list(again.keys("child"))), 5 if sanitized else 20)
        self.assertEqual(again.missing(f"w{i}" for i in range(count[0])), [])

    def test_an_end_without_flush(self) -> None:
        endings = {
            "none": "pass", "exit": "sys.exit(0)", "del": "del cache",
            "kept": "builtins.kept = cache", "thread": "threading.Thread(target=put).start()",
        }
        for name, ending in endings.items():
            self.run_python("""if 1:
                import array, builtins, sys, threading, lmdbcache
                cache = lmdbcache.open(sys.argv[1], sys.argv[2], like="buffer",
                                       flush_interval_ms=0)
                def put():
                    for i in range(960):
                        cache[str(i)] = array.array("f", [i] * 16)
                """ + ("\n" if name == "thread" else "\n                put()\n")
                + f"                {ending}\n", name)
            with self.subTest(name), lmdbcache.open(self.root, name, like="buffer") as cache:
                self.assertEqual(cache.missing(map(str, range(960))), [])
                self.assertEqual(bytes(cache["7"]), bytes(floats(*[7] * 16)))

    def test_an_end_by_an_exception(self) -> None:
        done = subprocess.run([sys.executable, "-c", """if 1:
            import sys, lmdbcache
            cache = lmdbcache.open(sys.argv[1], "m", like="buffer", flush_interval_ms=0)
            cache["a"] = 1
            raise SystemError("on purpose")""", self.root], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("on purpose", done.stderr)
        self.assertEqual(self.open()["a"], 1)


class Threads(Case):
    def test_readers_and_writers(self) -> None:
        cache = self.open()
        failures: List[BaseException] = []

        def work(n: int) -> None:
            try:
                rng = random.Random(n)
                for turn in range(60):
                    ids = [f"{n}-{i}" for i in range(20)]
                    cache.put_many(ids, [floats(turn, i) for i in range(20)])
                    block, missing = cache.gather(ids)
                    assert missing == []
                    rows: Any = memoryview(block).tolist()
                    assert rows == [[turn, i] for i in range(20)]
                    key = f"{rng.randrange(8)}-{rng.randrange(20)}"
                    view = cache.view(key) if key in cache else None
                    assert view is None or view.shape == (2,)
                    if turn % 20 == 0:
                        cache.flush()
                        list(cache.keys(f"{n}-"))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        cache.flush()
        self.assertEqual(len(cache), 160)

    def test_close_under_readers(self) -> None:
        """close() waits for running reads; later ones raise."""
        for _ in range(10):
            cache = lmdbcache.open(self.root, "m", like="buffer")
            cache["a"] = floats(*range(1000))
            failures: List[BaseException] = []

            def read() -> None:
                try:
                    for _ in range(300):
                        assert bytes(cache["a"])[:4] == bytes(4)
                except ValueError:
                    pass
                except BaseException as error:
                    failures.append(error)

            threads = [threading.Thread(target=read) for _ in range(3)]
            for thread in threads:
                thread.start()
            cache.close()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])


def resident() -> int:
    """Bytes of this process that are not pages of files."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    raise unittest.SkipTest("no RssAnon in /proc/self/status")


class Memory(Case):
    @unittest.skipIf(sanitized, "the sanitizer keeps what is freed")
    def test_gets_keep_nothing(self) -> None:
        cache = self.open()
        ids = [str(i) for i in range(900)]
        cache.put_many(ids, [floats(*[i] * 512) for i in range(900)])
        cache["map"] = {"a": floats(1), "b": [1, "x", floats(2)]}
        cache.flush()
        rounds = 1200 if os.environ.get("T_SLOW") else 100

        def some() -> None:
            for key in ids:
                cache[key]
            for key in ids[:50]:
                cache.view(key)
                cache["map"]
                cache.view("map")
                cache.get("absent" + key)
            cache.gather(ids)
            cache.missing(ids)

        for _ in range(5):
            some()
        before = resident()
        for _ in range(rounds):
            some()
        self.assertLess(resident() - before, 4 << 20)

    def test_no_reference_is_lost(self) -> None:
        """Each call, also each that fails, with sentinels and the sizes of Python's heap."""
        cache = self.open()
        key, text, data, block = "k" * 20, "t" * 2000, b"b" * 2000, floats(1, 2)
        long_key = b"\xff" * 30
        nested = {"name" * 5: [text, data, (block, None)]}
        calls: List[Callable[[], Any]] = [
            lambda: cache.put(key, nested), lambda: cache[key], lambda: cache.view(key),
            lambda: cache.put(key, block), lambda: cache[key], lambda: cache.view(key),
            lambda: cache.put(long_key, text), lambda: cache.get(long_key),
            lambda: cache.put(key, block, codec="lz4"), lambda: cache.gather([key, long_key]),
            lambda: cache.gather([key, "x"]), lambda: cache.gather([key], floats(1, 2, 3)),
            lambda: cache.gather([key], memoryview(floats(1, 2)).cast("B").cast("f", (1, 2))),
            lambda: cache.missing([key, os.fsdecode(long_key), "x"]), lambda: cache["nothing"],
            lambda: cache.put(key, {"a": text, "b": object()}), lambda: cache.put(key, 2**70),
            lambda: cache.put(key, {text: {"\ud800": 1}}), lambda: cache.put("", nested),
            lambda: cache.put_many([key, long_key], [text, nested]),
            lambda: cache.put_many([key, ""], floats(1, 2)),
            lambda: cache.put_many([key], {"a": block}), lambda: cache.put(key, 1, codec="x"),
            lambda: list(cache.keys("k")), lambda: next(cache.keys(raw=True)),
            lambda: getattr(cache, "keys")(order=text), lambda: cache.stats(), lambda: cache.verify(),
            lambda: cache.delete(long_key), lambda: cache.delete(long_key), lambda: key in cache,
            lambda: memoryview(cache.gather([key])[0]), lambda: cache.view(key).bits(),
            lambda: cache.view(key).__dlpack__(max_version=(1, 1)), lambda: cache.compact(),
            lambda: cache.view(key).__dlpack__(), lambda: cache.view(key).shape,
            lambda: pickle.loads(pickle.dumps(cache)).close(), lambda: repr(cache.view(key)),
            lambda: lmdbcache.open(self.root, "no/module"), lambda: cache.put(key, [nested] * 3),
        ]
        kept = [key, text, data, block, nested, long_key, cache, lmdbcache.Tensor]
        if sys.version_info < (3, 12):  # later versions do not count the references to None
            kept.append(None)

        def all_calls() -> None:
            for call in calls:
                try:
                    call()
                except (lmdbcache.Error, TypeError, ValueError, BufferError, OverflowError):
                    pass

        for _ in range(3):
            all_calls()
        gc.collect()
        tracemalloc.start()
        try:
            all_calls()
            gc.collect()
            counts = [sys.getrefcount(o) for o in kept]
            for _ in range(100):
                all_calls()
            after = [sys.getrefcount(o) for o in kept]
            # Tables of the interpreter grow once, a leak each time.
            grown = []
            for _ in range(3):
                gc.collect()
                size = tracemalloc.get_traced_memory()[0]
                for _ in range(100):
                    all_calls()
                gc.collect()
                grown.append(tracemalloc.get_traced_memory()[0] - size)
        finally:
            tracemalloc.stop()
        for kind, was, now in zip(kept, counts, after):
            self.assertLess(now - was, 75)  # one a round would be 100
            # The interpreter's cache of methods releases None while it fills.
            self.assertGreater(now - was, -75 if kind is not None else -4096)
        self.assertLess(min(grown), 16384)


if __name__ == "__main__":
    unittest.main()
