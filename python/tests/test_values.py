# SPDX-License-Identifier: BSD-2-Clause
"""Values: what goes in comes out, of the same types; what cannot is refused by its place."""

import array
import gc
import math
import os
import pickle
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Tuple, Type

import lmdbcache
from lmdbcache import Tagged

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

SEED = int(os.environ.get("T_SEED") or random.randrange(1 << 32))
TOOL = os.path.join(os.environ.get("builddir") or ".", "cachex")
LARGE = [2**64, -(2**63) - 1, 2**127 - 1, 2**127, -(2**127), -(2**127) - 1, 10**5000, -(2**800)]


def same(a: Any, b: Any) -> bool:
    """The same types, bits and order."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, complex):
        return same((a.real, a.imag), (b.real, b.imag))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, (set, frozenset)):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Tagged):
        return a.tag == b.tag and same(a.value, b.value)
    if isinstance(a, lmdbcache.Tensor):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and bytes(a.bits()) == bytes(b.bits())
    if np is not None and isinstance(a, np.ndarray):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
    if torch is not None and isinstance(a, torch.Tensor):
        bits = [t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
        return (a.dtype, a.shape) == (b.dtype, b.shape) and torch.equal(*bits)
    return bool(a == b)


class MadeTensors(unittest.TestCase):
    """Tensors of any dtype over the bytes of a buffer."""

    def test_there_and_back(self) -> None:
        rgb = bytes(range(18))
        made = lmdbcache.Tensor(rgb, "opaque3:rgb", (2, 3))
        self.assertEqual(repr(made), "<lmdbcache.Tensor opaque3:rgb (2, 3), read-only>")
        with tempfile.TemporaryDirectory() as root:
            with lmdbcache.open(root, "m", like="buffer") as cache:
                cache["a"] = made
                cache["b"] = {"x": lmdbcache.Tensor(bytearray(rgb), "bf16")}
                cache["none"] = lmdbcache.Tensor(b"", "f8_e4m3", (0, 5))
                cache["one"] = lmdbcache.Tensor(memoryview(rgb)[:4], "float32", ())
            with lmdbcache.open(root, "m", like="buffer") as cache:
                found = [cache["a"], cache["b"]["x"], cache["none"], cache["one"]]
                self.assertEqual(
                    [(t.dtype, t.shape, t.nbytes, t.readonly) for t in found],
                    [("opaque3:rgb", (2, 3), 18, False), ("bf16", (9,), 18, False),
                     ("f8_e4m3", (0, 5), 0, False), ("f32", (), 4, False)])
                self.assertEqual((found[0].bits().dtype, found[0].bits().shape),
                                 ("u8", (2, 3, 3)))
                self.assertEqual(bytes(found[0].bits()), rgb)
                self.assertEqual(bytes(found[1].bits()), rgb)
                self.assertEqual(bytes(found[3]), rgb[:4])
                self.assertEqual(lmdbcache.key(found[0]), lmdbcache.key(made))

    def test_it_keeps_its_buffer(self) -> None:
        data = bytearray(b"abcdef")
        made = lmdbcache.Tensor(data, "u8", [2, 3])
        with self.assertRaises(BufferError):
            data.append(0)
        memoryview(made)[0, 0] = 65
        self.assertEqual(data, b"Abcdef")
        del made
        data.append(0)
        self.assertTrue(lmdbcache.Tensor(b"a", "u8").readonly)

    def test_what_fits_no_tensor(self) -> None:
        cases: List[Tuple[Tuple[Any, ...], type, str]] = [
            ((b"a", "nope"), TypeError, "^unknown dtype 'nope'$"),
            ((b"a", "opaque65:x"), TypeError, "has 1 to 64 bytes, not 65"),
            ((b"a", "opaque1:"), TypeError, "is not a name of an opaque dtype"),
            ((b"abc", "f32"), ValueError, "data: 3 bytes, not the 0 of"),
            ((b"abcd", "f32", (2,)), ValueError, "data: 4 bytes, not the 8 of"),
            ((b"a", "u8", (1,) * 17), ValueError, "at most 16 dimensions"),
            ((b"a", "u8", (-1,)), OverflowError, "negative"),
            ((b"a", "u8", "x"), TypeError, "integer"),
            ((b"a", "u8", 1), TypeError, "iterable"),
            ((b"a", "u8", (2**62, 2**62)), lmdbcache.InvalidError, "overflows"),
            (("text", "u8"), TypeError, "bytes-like"),
            ((memoryview(b"abcdef")[::2], "u8"), BufferError, "contiguous"),
            ((b"a",), TypeError, "dtype"),
        ]
        for arguments, error, text in cases:
            with self.subTest(arguments), self.assertRaisesRegex(error, text):
                lmdbcache.Tensor(*arguments)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory(prefix="lmdbcache-test.")
        self.addCleanup(place.cleanup)
        self.root = place.name

    def open(self, **options: Any) -> lmdbcache.Cache:
        options.setdefault("like", "buffer")
        cache = lmdbcache.open(self.root, "m", **options)
        self.addCleanup(cache.close)
        return cache

    def check(self, cache: lmdbcache.Cache, value: Any) -> None:
        """It comes out of the pending puts and of the file."""
        cache["x"] = value
        for _ in range(2):
            self.assertTrue(same(cache["x"], value), type(value))
            cache.flush()


class Kinds(Case):
    def test_keys_of_every_kind(self) -> None:
        cache = self.open()
        keys: List[Any] = [
            None, False, True, 0, 1, -1, 2**64 - 1, -(2**63), 0.5, -0.0, math.inf, "", "a",
            "a\0b", "ü", b"", b"a", (), (1, (2.5, None), "b"), frozenset(), frozenset({1, "a"}),
            1j, Tagged("mine", (1, 2)), *LARGE,
        ]
        for key in keys:
            self.check(cache, {key: "part"})
        every = {("all", key): i for i, key in enumerate(keys)}
        self.check(cache, every)
        self.check(cache, {"a": 1, 1: "a", None: [every]})
        self.check(cache, {"names": 1, "only": 2})
        self.check(cache, {math.nan: 1, float("nan"): 2})

    def test_what_the_engine_has_no_kind_for(self) -> None:
        cache = self.open()
        for value in [
            *LARGE, bytearray(), bytearray(b"\0\1"), b"\0\1", 1j, complex(-0.0, math.nan),
            set(), {1, 2.5, "a", (None,)}, frozenset(), frozenset({frozenset({1}), b"x"}),
            Tagged("mine", None), Tagged("mine", {"a": Tagged("other", {1: {2}})}),
        ]:
            self.check(cache, value)
            self.check(cache, [value, {"part": (value,)}])

    def test_types_apart(self) -> None:
        cache = self.open()
        self.check(cache, [True, 1, 1.0, 1 + 0j, "1", b"1", bytearray(b"1"), [1], (1,), {1}])
        self.check(cache, ([], (), {}, set(), frozenset(), "", b"", bytearray()))
        for bits in 0x7FF8000000000001, 0xFFF4000000000123, 1, 0x8000000000000000:
            self.check(cache, struct.unpack("<d", struct.pack("<Q", bits))[0])

    def test_bytes_as_text(self) -> None:
        """Text that was read from bytes that are not UTF-8 becomes these bytes."""
        cache = self.open()
        text = b"\xff\xe9".decode("utf-8", "surrogateescape")
        self.check(cache, text)
        self.check(cache, {text: {text: 1, 2: text}})

    def test_tagged(self) -> None:
        one = Tagged("a", [1])
        self.assertEqual(one, Tagged("a", [1]))
        self.assertNotEqual(one, Tagged("b", [1]))
        self.assertEqual(repr(one), "Tagged(tag='a', value=[1])")
        self.assertEqual(pickle.loads(pickle.dumps(one)), one)
        self.assertEqual(len({Tagged("a", 1), Tagged("a", 1)}), 1)
        cache = self.open()
        for known, value in [
            (Tagged("py.int", b""), 0),
            (Tagged("py.int", b"\xff"), -1),
            (Tagged("py.set", {"a": None}), {"a"}),
        ]:
            cache["x"] = known
            self.assertTrue(same(cache["x"], value))
        # What is not of these forms comes as it is.
        for odd in [
            Tagged("py.int", "text"), Tagged("py.int", [b"a"]), Tagged("py.set", {"a": 1}),
            Tagged("py.set", [1]), Tagged("py.complex", (1.0,)), Tagged("py.complex", (1, 2)),
            Tagged("py.complex", [1.0, 2.0]), Tagged("py.bytearray", "a"),
            Tagged("py.frozenset", None), Tagged("py.later", {}), Tagged("PY.INT", b""),
        ]:
            self.check(cache, odd)

    def test_subclasses_come_as_what_they_are_made_of(self) -> None:
        class Text(str):
            pass

        class Names(Dict[Any, Any]):
            pass

        cache = self.open()
        cache["x"] = [Text("a"), Names({Text("b"): 1})]
        self.assertTrue(same(cache["x"], ["a", {"b": 1}]))

    def test_many_rows(self) -> None:
        """put_many() cuts tensors in what has tags and any keys, too."""
        cache = self.open()
        rows = array.array("f", [1, 2, 3, 4])
        columns = {1: rows, "t": Tagged("t", [rows, {2, 3}]), (0,): "same"}
        cache.put_many(["a", "b", "c", "d"], columns)
        for i, name in enumerate("abcd"):
            got = cache[name]
            self.assertEqual(list(got), [1, "t", (0,)])
            self.assertEqual(memoryview(got[1]).tolist(), float(i + 1))
            self.assertEqual(memoryview(got["t"].value[0]).tolist(), float(i + 1))
            self.assertEqual((got["t"].value[1], got[(0,)]), ({2, 3}, "same"))

    def test_a_part_of_pairs(self) -> None:
        cache = self.open()
        row = array.array("f", [1, 2])
        cache["a"] = {7: row, 9: row}
        block, missing = cache.gather(["a", "a"], field="3")
        self.assertEqual((memoryview(block).tolist(), missing), ([[1, 2], [1, 2]], []))

    def test_views(self) -> None:
        cache = self.open()
        cache["a"] = {1: array.array("f", [1, 2]), 2: {2**70, 1j}, "t": Tagged("t", [])}
        cache.flush()
        view = cache.view("a")
        self.assertEqual((view[2], view["t"]), ({2**70, 1j}, Tagged("t", [])))
        self.assertTrue(view[1].readonly)


@unittest.skipUnless(os.access(TOOL, os.X_OK), "no cachex")
class Tool(Case):
    """What the tool writes, and what it says of what Python wrote."""

    def tool(self, *args: str, text: str = "") -> str:
        done = subprocess.run([TOOL, *args, "--root", self.root], input=text, text=True,
            stdout=subprocess.PIPE, check=True)
        return done.stdout.rstrip("\n")

    def test_there_and_back(self) -> None:
        cache = self.open(flush_every=1)
        for value, text in [
            ({1: {2, }, None: (True,)},
                '{"$pairs":[[1,{"$tagged":["py.set",{"$pairs":[[2,null]]}]}],'
                '[null,{"$tuple":[true]}]]}'),
            (2**64, '{"$tagged":["py.int",{"$bytes":"AAAAAAAAAAAB"}]}'),
            (Tagged("a", {"b": 1j}),
                '{"$tagged":["a",{"b":{"$tagged":["py.complex",{"$tuple":[0.0,1.0]}]}}]}'),
        ]:
            cache["x"] = value
            cache.flush()
            self.assertEqual(self.tool("get", "m", "x"), text)
            self.tool("put", "m", "y", "--format", "json", text=text)
            self.assertTrue(same(cache["y"], value))

    def test_what_no_dict_has(self) -> None:
        cache = self.open()
        self.tool("put", "m", "x", "--format", "json", text='{"$pairs":[[1,2],[1.0,3]]}')
        self.tool("put", "m", "y", "--format", "json", text='{"$pairs":[[[],2]]}')
        with self.assertRaisesRegex(lmdbcache.SchemaError, "two keys that are one in a dict"):
            cache["x"]
        with self.assertRaisesRegex(TypeError, "unhashable type: 'list'"):
            cache["y"]


class Refused(Case):
    def refuse(self, value: Any, error: Type[Exception], text: str) -> None:
        cache = self.open()
        with self.assertRaises(error) as caught:
            cache["x"] = value
        self.assertEqual(str(caught.exception), text)
        self.assertIs(type(caught.exception), error)
        self.assertNotIn("x", cache)

    def test_each_with_its_place(self) -> None:
        bad = "a <class 'object'> cannot be stored"
        self.refuse(object(), TypeError, bad)
        self.refuse([object()], TypeError, f"value[0]: {bad}")
        self.refuse({"a": [1, (2, object())]}, TypeError, f"value['a'][1][1]: {bad}")
        self.refuse({1: {b"x": object()}}, TypeError, f"value[1][b'x']: {bad}")
        self.refuse({(1, 2): {"": object()}}, TypeError, f"value[(1, 2)]['']: {bad}")
        self.refuse([Tagged("t", [object()])], TypeError, f"value[0][0]: {bad}")
        self.refuse(Tagged("t", object()), TypeError, bad)
        self.refuse({"a": {print}}, TypeError,
            "value['a']: key <built-in function print>: "
            "a <class 'builtin_function_or_method'> cannot be stored")
        self.refuse({"a": {(1, print): 2}}, TypeError,
            "value['a']: key (1, <built-in function print>)[1]: "
            "a <class 'builtin_function_or_method'> cannot be stored")
        for tag in "", "a\0b", 5, "\ud800":
            self.refuse([Tagged(tag, 1)], ValueError,  # type: ignore[arg-type]
                "value[0]: a tag is text, not empty, without NUL")

    def test_text_that_is_none(self) -> None:
        cache = self.open()
        for value in "\ud800", ["\ud800"], {"\ud800": 1}, {1: "\udc00"}, {("\ud800",): 1}:
            with self.assertRaises(UnicodeEncodeError):
                cache["x"] = value
        self.assertNotIn("x", cache)

    def test_too_deep(self) -> None:
        around: List[Any] = []
        around.append((around, 1))
        circle: Dict[Any, Any] = {}
        circle["self"] = circle
        for value in around, circle:
            self.refuse(value, lmdbcache.InvalidError, "a value is nested deeper than 64")
        for wrap in (
            lambda v: [v], lambda v: (v,), lambda v: {"a": v}, lambda v: {1: v},
            lambda v: Tagged("t", v),
        ):
            deep: Any = 1
            for _ in range(63):
                deep = wrap(deep)
            self.check(self.open(), deep)
            with self.assertRaisesRegex(lmdbcache.InvalidError, "deeper than 64$"):
                self.open()["y"] = [deep]
            key: Any = 1
            for _ in range(62):
                key = (key,)
            self.check(self.open(), {key: 1})
            with self.assertRaisesRegex(lmdbcache.InvalidError, "deeper than 64$"):
                self.open()["y"] = {(key,): 1}

    @unittest.skipIf(np is None, "no NumPy")
    def test_arrays_in_keys(self) -> None:
        cache = self.open(like="numpy")
        cache["x"] = {np.int64(3): 1, np.uint8(200): 2, (np.int16(-1),): 3}
        self.assertTrue(same(cache["x"], {3: 1, 200: 2, (-1,): 3}))
        for value in {(np.float32(1.5),): 1}, {np.float32(1.5)}:
            with self.assertRaisesRegex(TypeError, "^value: key .*float32'> cannot be in a key$"):
                cache["y"] = value

    @unittest.skipIf(torch is None, "no torch")
    def test_tensors_in_keys(self) -> None:
        cache = self.open(like="torch")
        with self.assertRaisesRegex(TypeError,
                "^value\\['a'\\]: key tensor\\(1\\): a <class 'torch.Tensor'> cannot be in a key$"):
            cache["x"] = {"a": {torch.tensor(1)}}


class Scalars(Case):
    @unittest.skipIf(np is None, "no NumPy")
    def test_of_numpy(self) -> None:
        """float64 is a float, text and bytes are what they are; others have rank 0."""
        cache = self.open(like="numpy")
        cache["x"] = [np.float64(0.5), np.str_("a"), np.bytes_(b"a")]
        self.assertTrue(same(cache["x"], [0.5, "a", b"a"]))
        for scalar in np.float32(0.5), np.int64(5), np.bool_(True), np.complex64(1j), np.uint8(3):
            cache["x"] = {"a": scalar}
            self.assertTrue(same(cache["x"], {"a": np.asarray(scalar)}))


class Trials(Case):
    """Values at random, through pending puts and the file, by each kind of tensors."""

    def tensor(self, chance: random.Random, like: str) -> Any:
        shape = [chance.randrange(4) for _ in range(chance.randrange(4))]
        n = math.prod(shape)
        if like == "torch":
            dtype = chance.choice(self.torch_dtypes())
            size = torch.empty(0, dtype=dtype).element_size()
            bits = bytearray(chance.choices(range(2), k=n * size))
            if not bits:
                return torch.empty(shape, dtype=dtype)
            return torch.frombuffer(bits, dtype=torch.uint8).view(dtype).reshape(shape)
        dtypes = "? u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 c8 c16".split()
        dtype = np.dtype(chance.choice(dtypes))
        bits = bytearray(chance.choices(range(2), k=n * dtype.itemsize))
        return np.frombuffer(bits, dtype).reshape(shape)

    @staticmethod
    def torch_dtypes() -> List[Any]:
        names = """bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16
            float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2""".split()
        return [getattr(torch, name) for name in names]

    def plain(self, chance: random.Random, hashable: bool) -> Any:
        kind = chance.randrange(9 if hashable else 10)
        if kind == 0:
            return chance.choice([None, True, False])
        if kind == 1:
            return chance.randrange(-5, 5)
        if kind == 2:
            number = chance.getrandbits(chance.choice([8, 31, 63, 64, 65, 200]))
            return number if chance.randrange(2) else -number
        if kind == 3:
            return struct.unpack("<d", chance.randbytes(8))[0]
        if kind == 4:
            return chance.choice([0.0, -0.0, math.inf, 1e300])
        if kind == 5:
            return "".join(chance.choices("aü\0\U0001f600.", k=chance.choice([0, 1, 5, 40])))
        if kind == 6:
            return chance.randbytes(chance.choice([0, 1, 31, 300]))
        if kind == 7:
            return complex(chance.random(), -0.0)
        if kind == 8:
            return Tagged(chance.choice(["t", "py.x"]), chance.randrange(3))
        return bytearray(chance.randbytes(3))

    def key(self, chance: random.Random, depth: int) -> Any:
        if depth > 0 and chance.randrange(3) == 0:
            parts = [self.key(chance, depth - 1) for _ in range(chance.randrange(3))]
            return tuple(parts) if chance.randrange(2) else frozenset(parts)
        return self.plain(chance, True)

    def value(self, chance: random.Random, depth: int, like: str) -> Any:
        kind = chance.randrange(10)
        if depth <= 0 or kind < 2:
            return self.plain(chance, False)
        if kind < 4 and like != "buffer":
            return self.tensor(chance, like)
        n = chance.choice([0, 1, 2, 3, 30])
        if kind == 4:
            return {self.key(chance, 1) for _ in range(n)}
        depth = depth - 1 if n < 30 else 0
        parts = [self.value(chance, depth, like) for _ in range(n)]
        if kind == 5:
            return parts
        if kind == 6:
            return tuple(parts)
        if kind == 7:
            return Tagged("any", parts)
        if kind == 8:
            return {f"n{i}": part for i, part in enumerate(parts)}
        return {self.key(chance, 2): part for part in parts}

    def trial(self, like: str, times: int) -> None:
        print(f"# T_SEED={SEED}")
        chance = random.Random(f"{SEED} {like}")
        cache = self.open(like=like, flush_interval_ms=0)
        values = [self.value(chance, chance.randrange(1, 6), like) for _ in range(times)]
        for i, value in enumerate(values):
            cache[str(i)] = value
            self.assertTrue(same(cache[str(i)], value), f"value {i}")
        cache.flush()
        for i, value in enumerate(values):
            got = cache[str(i)]
            self.assertTrue(same(got, value), f"value {i}")
            self.assertEqual(lmdbcache.key(got), lmdbcache.key(value))

    def test_plain(self) -> None:
        self.trial("buffer", 600)

    @unittest.skipIf(np is None, "no NumPy")
    def test_numpy(self) -> None:
        self.trial("numpy", 600)

    @unittest.skipIf(torch is None, "no torch")
    def test_torch(self) -> None:
        self.trial("torch", 600)


class Memory(Case):
    def test_references(self) -> None:
        """Neither what is stored nor what is read is kept."""
        cache = self.open()
        parts: List[Any] = [
            object(), 2**100, "x" * 50, b"y" * 50, 1.25, 3j, bytearray(b"z"), (1, 2**90),
            frozenset({9}), Tagged("t", [7]), array.array("f", [1]),
        ]
        value: Dict[Any, Any] = {i: part for i, part in enumerate(parts[1:])}
        value[parts[7]] = {parts[2]: parts[1:]}
        bad = [value, {parts[3]: (parts[0],)}]
        named = {"a": parts[1:]}

        def turn() -> None:
            for good in value, named:
                cache["x"] = good
                cache["x"]
                cache.view("x")
                lmdbcache.key(good)
            for _ in range(2):
                with self.assertRaises(TypeError):
                    cache["x"] = bad
                with self.assertRaises(TypeError):
                    cache["x"] = {parts[7]: {print: 1}}

        turn()
        gc.collect()
        before = [sys.getrefcount(part) for part in parts]
        objects = len(gc.get_objects())
        for _ in range(50):
            turn()
        gc.collect()
        self.assertEqual([sys.getrefcount(part) for part in parts], before)
        self.assertLess(len(gc.get_objects()) - objects, 40)


if __name__ == "__main__":
    unittest.main()
