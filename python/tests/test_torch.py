# SPDX-License-Identifier: BSD-2-Clause
"""Tests of lmdbcache.torch: cached modules, data sets, and every dtype of torch."""

import contextlib
import copy
import io
import os
import pickle
import random
import re
import runpy
import shutil
import tempfile
import threading
import unittest
from collections import OrderedDict, UserDict
from typing import Any, NamedTuple

import lmdbcache

try:
    import torch
except ImportError:

    @unittest.skip("torch is not installed")
    class Torch(unittest.TestCase):
        def test_torch(self) -> None:
            pass

    if __name__ == "__main__":
        unittest.main()
    raise unittest.SkipTest("torch is not installed") from None

from torch import nn
from torch.utils.data import DataLoader, Subset

from lmdbcache._trees import map_tree
from lmdbcache.compat.torchcachex import ArrowIPCCacheBackend, CacheModuleDecorator
from lmdbcache.torch import MapDataset, cached, collate

SEED = int(os.environ.get("T_SEED", random.SystemRandom().randrange(2**32)))

# All that there are, in the order of their names.
DTYPES = sorted(
    {value for value in vars(torch).values() if isinstance(value, torch.dtype)}, key=str
)


def same(a: Any, b: Any) -> bool:
    """Are nested data the same: structure, dtypes, shapes and bits?"""
    if isinstance(a, torch.Tensor):
        return (
            isinstance(b, torch.Tensor)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and bits(a) == bits(b)
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def bits(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().resolve_conj().resolve_neg()
    # Integers of the same bits can be moved whatever the dtype.
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    plain = plain.view(kinds.get(plain.element_size(), plain.dtype))
    dense = torch.empty(plain.shape, dtype=plain.dtype).copy_(plain)
    return dense.reshape(-1).view(torch.uint8).numpy().tobytes()


class Directory(unittest.TestCase):
    """A test with a root directory of its own."""

    def setUp(self) -> None:
        self.root = tempfile.mkdtemp(prefix="lmdbcache-test.")
        self.addCleanup(shutil.rmtree, self.root)

    def open(self, module: str = "m", **options: Any) -> lmdbcache.Cache:
        cache = lmdbcache.open(self.root, module, **{"like": "torch", **options})
        self.addCleanup(cache.close)
        return cache


# ---- every function of a cached module against the module itself ---------------------


def inputs_tensor(x: torch.Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (x,), {}


def inputs_two(x: torch.Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (x, x * 3), {"scale": torch.tensor(2.0), "name": "two"}


def inputs_keyword(x: torch.Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (), {"x": x, "table": torch.arange(1000.0)}


def inputs_dict(x: torch.Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ({"x": x, "more": [x + 1, (x[:, 0], None)], "k": 7},), {}


def inputs_tuple(x: torch.Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ((x, {"y": x.to(torch.float64)}),), {}


def inputs_text(x: torch.Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ([repr(row.tolist()) for row in x],), {}


INPUTS = [
    inputs_tensor, inputs_two, inputs_keyword, inputs_dict, inputs_tuple, inputs_text,
]  # fmt: skip


def outputs_tensor(x: torch.Tensor) -> Any:
    return x * 2 + 1


def outputs_scalar(x: torch.Tensor) -> Any:
    return (x.sum(dim=1) * 100).to(torch.int64)


def outputs_dict(x: torch.Tensor) -> Any:
    return {"half": x.to(torch.bfloat16), "ma.sk\\": x > 0, "\\.": (x,)}


def outputs_list(x: torch.Tensor) -> Any:
    return [x, x.to(torch.complex64)]


def outputs_tuple(x: torch.Tensor) -> Any:
    return (x, {"a": x[:, :1], "b": [x.to(torch.float8_e5m2)]}, (x[:, :0],))


def outputs_none(x: torch.Tensor) -> Any:
    return {"x": x, "attentions": None, "version": 3, "model": "m", "ratio": 0.5}


def outputs_names(x: torch.Tensor) -> Any:
    return {1: x, "a.b": -x, "": x + 1}


def outputs_view(x: torch.Tensor) -> Any:
    wide = torch.complex(x, -x).conj()
    return (x.t().contiguous().t(), wide, wide.imag, x.unsqueeze(1).expand(-1, 4, -1))


OUTPUTS = [
    outputs_tensor, outputs_scalar, outputs_dict, outputs_list, outputs_tuple,
    outputs_none, outputs_names, outputs_view,
]  # fmt: skip


class Model(nn.Module):
    """Any of the inputs to any of the outputs, row by row; notes how many rows."""

    def __init__(self, outputs: Any) -> None:
        super().__init__()
        self.outputs = outputs
        self.seen = 0
        self.register_buffer("weight", torch.ones(1))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else kwargs["x"]
        if isinstance(first, dict):
            x = first["x"] + first["more"][0] + first["more"][1][0].unsqueeze(1)
        elif isinstance(first, tuple):
            x = first[0] + first[1]["y"].to(torch.float32)
        elif isinstance(first, list):
            x = torch.tensor([[float(len(row)), 1.0, -2.0] for row in first]).view(-1, 3)
        else:
            x = first
        if len(args) > 1:
            x = x + args[1] * kwargs["scale"]
        if "table" in kwargs:
            x = x + kwargs["table"][5]
        self.seen += len(x)
        return self.outputs(x)


KEYS: dict[str, Any] = {
    "str": lambda numbers: [f"näme-{i}" for i in numbers],
    "int": lambda numbers: list(numbers),
    "bytes": lambda numbers: [b"\xff\x00%d" % i for i in numbers],
    "long": lambda numbers: [f"{i}" * 700 for i in numbers],
    "tensor": lambda numbers: torch.tensor(numbers, dtype=torch.int64),
    "mixed": lambda numbers: [
        torch.tensor(i) if i % 3 == 0 else str(i) if i % 3 == 1 else i for i in numbers
    ],
    "content": None,  # lmdbcache.key
}


class Equivalence(Directory):
    def test_calls(self) -> None:
        """Every kind of input, output and key: the same as the module, computed once."""
        random_ = random.Random(SEED)
        torch.manual_seed(SEED)
        calls = 0
        print(f"# T_SEED={SEED}")
        for number, (inputs, outputs, keys) in enumerate(
            (i, o, k) for i in INPUTS for o in OUTPUTS for k in KEYS
        ):
            data = torch.randn(60, 3)
            name = f"m{number}"
            plain, model = Model(outputs).eval(), Model(outputs).eval()
            cache = lmdbcache.open(self.root, name, like=random_.choice(["torch", None]))
            by: Any = "cache_ids" if KEYS[keys] else lmdbcache.key
            wrapped = cached(model, cache, by)
            known: set[int] = set()
            for call in range(6):
                if call == 3:  # from disk, by a handle of its own
                    cache.close()
                    cache = lmdbcache.open(self.root, name, like="torch")
                    wrapped = cached(model, cache, by)
                size = random_.choice([0, 1, 2, 3, 5, 8, 13])
                numbers = [random_.randrange(60) for _ in range(size)]
                if call == 4:
                    numbers = sorted(known)
                args, kwargs = inputs(data[numbers])
                ids = {"cache_ids": KEYS[keys](numbers)} if KEYS[keys] else {}
                before = model.seen
                with self.subTest(SEED=SEED, i=inputs, o=outputs, k=keys, n=numbers):
                    expected = plain(*args, **kwargs)
                    found = wrapped(*args, **ids, **kwargs)
                    self.assertTrue(same(found, expected), (found, expected))
                    self.assertEqual(model.seen - before, len(set(numbers) - known))
                known |= set(numbers)
                calls += 1
            self.assertEqual(len(cache), len(known))
            cache.close()
        self.assertGreaterEqual(calls, 1600)


class Cached(Directory):
    def test_ids(self) -> None:
        """The argument's name is the caller's; a function; in a dict among the arguments."""
        x = torch.randn(4, 3)
        model = Model(outputs_tensor)
        wrapped = cached(model, self.open("named"), "names")
        first = wrapped(x, names=[1, 2, 3, 4])
        self.assertTrue(same(wrapped(x, names=torch.arange(1, 5)), first))
        wrapped = cached(model, self.open("made"), lambda x: (repr(row) for row in x.tolist()))
        self.assertTrue(same(wrapped(x), first))
        self.assertTrue(same(wrapped(x), x * 2 + 1))
        self.assertEqual(model.seen, 8)
        model = Model(outputs_tensor)
        batch = {"x": x, "more": [x, (x[:, 0], 0)], "cache_ids": list("abcd")}
        wrapped = cached(model, self.open("dict"))
        first = wrapped(batch)
        self.assertTrue(same(wrapped(batch), first))
        self.assertEqual(model.seen, 4)

    def test_content(self) -> None:
        """cache_ids made of what goes in: a key a row, and of every setting."""

        class Encoder(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.seen: list[Any] = []

            def forward(self, prompts: Any, *, scale: float = 1.0, mask: Any = None) -> Any:
                self.seen.append(prompts)
                x = torch.tensor([[float(len(p)), scale] for p in prompts])
                return {"x": x if mask is None else x * mask.unsqueeze(1)}

        model, cache = Encoder(), self.open()
        wrapped = cached(model, cache, ids=lmdbcache.key)
        found = wrapped(["a fox", "a goose", "a fox"])
        self.assertEqual(found["x"].tolist(), [[5, 1], [7, 1], [5, 1]])
        self.assertEqual(model.seen, [["a fox", "a goose"]])
        self.assertEqual(cache[lmdbcache.key("a goose")]["x"].tolist(), [7, 1])
        wrapped(("a hen", "a fox"))
        self.assertEqual(model.seen[1:], [("a hen",)])
        self.assertEqual(len(cache), 3)
        # By name it is another call; a setting counts, and so does each row of a mask.
        wrapped(["a fox"], scale=2.0)
        self.assertIn(lmdbcache.key(("a fox", {"scale": 2.0})), cache)
        wrapped(["a fox", "a fox"], scale=2.0, mask=torch.tensor([True, False]))
        self.assertIn(
            lmdbcache.key(("a fox", {"scale": 2.0, "mask": torch.tensor(False)})), cache
        )
        self.assertEqual(model.seen[2:], [["a fox"], ["a fox", "a fox"]])
        self.assertEqual(wrapped([])["x"].shape, (0,))

        images = torch.rand(4, 3, 8, 8)
        wrapped = cached(Model(outputs_tensor), self.open("images"), ids=lmdbcache.key)
        self.assertTrue(same(wrapped(images[[0, 1, 0]]), images[[0, 1, 0]] * 2 + 1))
        self.assertTrue(same(wrapped(images), images * 2 + 1))
        self.assertEqual(wrapped.seen, 4)
        self.assertIn(lmdbcache.key(images[3]), wrapped.cache)
        pixels = images[:, 0, 0]
        tokens = {"x": pixels[:, :3], "more": [pixels, (pixels[:, 0], 1)]}
        wrapped = cached(nn.Identity(), self.open("tokens"), ids=lmdbcache.key)
        wrapped(tokens)
        wrapped(dict(reversed(tokens.items())))
        wrapped(UserDict(tokens))
        self.assertEqual(len(wrapped.cache), 4)
        with self.assertRaisesRegex(ValueError, "^no argument has rows: "):
            wrapped("a fox")
        with self.assertRaisesRegex(TypeError, "^ids=lmdbcache.key: .* cannot be stored: "):
            wrapped(images, device=object())
        off = cached(model, cache, ids=lmdbcache.key, enabled=False)
        off(["a fox"])
        self.assertEqual(model.seen[-1], ["a fox"])

    def test_example(self) -> None:
        """examples/latents.py computes what it says."""
        path = os.path.join(os.path.dirname(__file__), "..", "examples", "latents.py")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            runpy.run_path(path, run_name="__main__")
        lines = re.sub(r"-?[0-9.]+ (s|of [0-9.]+ s)\b", "N s", out.getvalue()).splitlines()
        self.assertEqual(
            lines,
            [
                "without a cache: 24 images and 27 prompts in N s an epoch",
                "epoch 1: computes 24 of 24 images and 7 of 27 prompts in N s",
                "epoch 2: computes 0 of 24 images and 0 of 27 prompts in N s",
                "two captions are changed",
                "epoch 3: computes 0 of 24 images and 2 of 27 prompts in N s",
                "saves N s in three epochs",
                "vae: 24 records, 0.7 MiB",
                "t5: 9 records, 1.4 MiB",
                "'a red fox asleep': 4 words, (77, 1024)",
            ],
        )

    def test_keys_are_stable(self) -> None:
        cache = self.open()
        x = torch.arange(4.0).unsqueeze(1)
        wrapped = cached(nn.Identity(), cache)
        wrapped(x, cache_ids=[7, "7", b"\xff", -1])
        cache.flush()
        self.assertEqual(list(cache.keys(raw=True)), [b"-1", b"7", b"\xff"])
        self.assertEqual(cache["7"].tolist(), [0.0])
        found = wrapped(x[:2] * 0, cache_ids=torch.tensor([-1, 7], dtype=torch.int16))
        self.assertEqual(found.tolist(), [[3.0], [0.0]])
        for wrong in ("abcd", b"abcd", [1.5] * 4, [True] * 4, [None] * 4, torch.ones(4), 5,
                      torch.ones(2, 2, dtype=torch.int64), torch.ones(4, dtype=torch.bool)):
            with self.assertRaises(TypeError, msg=repr(wrong)):
                wrapped(x, cache_ids=wrong)
        with self.assertRaises(lmdbcache.InvalidError):
            wrapped(x, cache_ids=["", "a", "b", "c"])
        with self.assertRaisesRegex(ValueError, "cache_ids="):
            wrapped(x)
        with self.assertRaisesRegex(ValueError, "3 cache_ids"):
            wrapped(x, cache_ids=[1, 2, 3])
        self.assertEqual(len(cache), 3)

    def test_refused(self) -> None:
        """Trainable in training mode, and inputs that want gradients."""
        cache = self.open()
        x = torch.randn(2, 3)
        linear = nn.Linear(3, 3)
        wrapped = cached(linear, cache)
        with self.assertRaisesRegex(RuntimeError, "trainable parameters"):
            wrapped(x, cache_ids="ab".split())
        wrapped.eval()
        self.assertFalse(linear.training)
        self.assertFalse(wrapped(x, cache_ids=["a", "b"]).requires_grad)
        with self.assertRaisesRegex(RuntimeError, "gradient"):
            wrapped([{"x": x.requires_grad_()}], cache_ids=["a", "b"])
        with torch.no_grad():
            self.assertTrue(same(wrapped(x, cache_ids=["a", "b"]), linear(x)))
        loose = cached(linear.train(), cache, stateless=False)
        self.assertFalse(loose(x, cache_ids=["c", "d"]).requires_grad)
        frozen = nn.Linear(3, 3).requires_grad_(False)
        cached(frozen, cache)(x.detach(), cache_ids=["e", "f"])
        self.assertEqual(len(cache), 6)

    def test_exception(self) -> None:
        """The module's own exception, and nothing stored; nor of an output without rows."""

        class Bad(Exception):
            pass

        class Fails(nn.Module):
            def forward(self, x: torch.Tensor) -> Any:
                raise Bad("mine")

        cache = self.open()
        x = torch.randn(2, 3)
        with self.assertRaisesRegex(Bad, "^mine$"):
            cached(Fails(), cache)(x, cache_ids=["a", "b"])
        for output in (x.sum(), x[:1], [x, x[:1]], {"x": x, "text": ["a", "b"]}):
            with self.assertRaises(ValueError):
                cached(Constant(output), cache)(x, cache_ids=["a", "b"])
        with self.assertRaises(TypeError):
            cached(Constant({"x": x, "y": object()}), cache)(x, cache_ids=["a", "b"])
        self.assertEqual(len(cache), 0)

    def test_plain_data(self) -> None:
        """What the engine has no kind for comes back as it was."""
        x = torch.randn(3, 2)
        plain = {
            "x": x, "set": {1, "a"}, "frozen": frozenset([b"b"]), "big": 2**100, "z": 3 - 4j,
            "nested": {(1, 2): None, "\x01py": "set", "a\0b": [True]}, "nan": float("nan"),
        }  # fmt: skip
        wrapped = cached(Constant(plain), self.open())
        wrapped(x, cache_ids=[1, 2, 3])
        found = wrapped(x, cache_ids=[1, 2, 3])
        self.assertNotEqual(found["nan"], found["nan"])
        del plain["nan"], found["nan"]
        self.assertTrue(same(found, plain), found)

    def test_shapes_that_differ(self) -> None:
        """Records of several shapes are a list; each is right."""
        cache = self.open()
        wrapped = cached(nn.Identity(), cache)
        x, y = torch.randn(2, 3), torch.randn(3, 5)
        wrapped(x, cache_ids=["a", "b"])
        found = wrapped(y, cache_ids=["a", "c", "b"])
        self.assertTrue(same(found, [x[0], y[1], x[1]]))
        self.assertTrue(same(wrapped(y, cache_ids=["c", "a", "c"]), [y[1], x[0], y[1]]))

    def test_state_dict(self) -> None:
        """The inner module's, alone and inside of another."""

        class Parent(nn.Module):
            def __init__(self, encoder: nn.Module) -> None:
                super().__init__()
                self.encoder = encoder
                self.head = nn.Linear(2, 2)

        cache = self.open()
        inner, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
        inner.running_mean.fill_(5)
        inner.config = {"a": 1}
        wrapped = cached(inner, cache)
        self.assertEqual(wrapped.config, {"a": 1})
        self.assertEqual(list(wrapped.state_dict()), list(inner.state_dict()))
        self.assertEqual(list(dict(wrapped.named_parameters())), ["weight", "bias"])
        self.assertIs(next(wrapped.parameters()), inner.weight)
        self.assertEqual(len(dict(wrapped.named_buffers())), 3)
        with self.assertRaises(AttributeError):
            wrapped.absent
        state = Parent(wrapped).state_dict()
        self.assertIn("encoder.running_mean", state)
        parent = Parent(cached(other, cache))
        parent.load_state_dict(state)
        self.assertEqual(other.running_mean.tolist(), [5.0] * 3)
        Parent(other).load_state_dict(state)  # with and without the cache
        other.reset_running_stats()
        parent.encoder.load_state_dict(inner.state_dict())
        self.assertEqual(other.running_mean.tolist(), [5.0] * 3)
        del state["encoder.weight"]
        with self.assertRaisesRegex(RuntimeError, "weight"):
            parent.load_state_dict(state)

    def test_whole_enabled_readonly(self) -> None:
        class Mix(nn.Module):
            def forward(self, x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
                return x @ table

        x, table = torch.randn(3, 3), torch.randn(3, 3)
        cache = self.open()
        wrapped = cached(Mix(), cache, whole=["table"])
        wrapped(x[:2], table=table, cache_ids=["a", "b"])
        found = wrapped(x, table=table, cache_ids=["a", "b", "c"])
        torch.testing.assert_close(found, x @ table)
        off = cached(Mix(), cache, enabled=False)
        self.assertTrue(same(off(x, table, cache_ids=[7, 8, 9]), x @ table))
        self.assertTrue(same(off(x, table), x @ table))
        cache.flush()
        self.assertEqual(len(cache), 3)
        reader = self.open(readonly=True)
        found = cached(Mix(), reader, whole=[1])(x, table, cache_ids=["a", "x", "y"])
        torch.testing.assert_close(found, x @ table)
        self.assertEqual(len(reader), 3)

    def test_own_memory(self) -> None:
        """Writing into an output changes no record."""
        wrapped = cached(nn.Identity(), self.open())
        x = torch.zeros(2, 3)
        for _ in range(3):
            found = wrapped(x.clone(), cache_ids=["a", "b"])
            self.assertEqual(found.tolist(), x.tolist())
            found += 1

    def test_copies(self) -> None:
        cache = self.open()
        wrapped = cached(nn.Identity(), cache)
        x = torch.randn(2, 3)
        wrapped(x, cache_ids=["a", "b"])
        cache.flush()
        for again in (pickle.loads(pickle.dumps(wrapped)), copy.deepcopy(wrapped)):
            self.assertTrue(same(again(x * 0, cache_ids=["a", "b"]), x))
            again.cache.close()

    def test_modes(self) -> None:
        """Inference mode inside and outside, mappings and tuples of other kinds."""

        class Pair(NamedTuple):
            a: torch.Tensor
            b: torch.Tensor

        class Infers(nn.Module):
            @torch.inference_mode()
            def forward(self, names: Any, pair: Any) -> Any:
                assert isinstance(names, UserDict) and isinstance(pair, Pair)
                return OrderedDict(sum=names["x"] + pair.a, pair=Pair(pair.b, pair.a))

        wrapped = cached(Infers(), self.open())
        x = torch.randn(4, 3)
        for rows in ([0, 1], [0, 1, 2, 3], [3, 3, 0]):
            found = wrapped(UserDict(x=x[rows]), Pair(x[rows], -x[rows]), cache_ids=rows)
            expected = {"sum": x[rows] * 2, "pair": (-x[rows], x[rows])}
            self.assertTrue(same(found, expected), found)
        with torch.inference_mode():
            found = wrapped(UserDict(x=x), Pair(x, -x), cache_ids=[4, 1, 2, 3])
            self.assertTrue(same(found["sum"], x * 2))

    def test_threads(self) -> None:
        """Threads that read records of two structures through one module."""
        cache = self.open()
        x = torch.randn(40, 3)
        both = [{"a": x, "b": (x + 1,)}, {"b": x * 2}]
        cache.put_many([f"0-{i}" for i in range(40)], both[0])
        cache.put_many([f"1-{i}" for i in range(40)], both[1])
        wrapped = cached(nn.Identity(), cache)
        failed: list[Any] = []

        def work(seed: int) -> None:
            order = random.Random(seed)
            try:
                for _ in range(100):
                    kind, n = order.randrange(2), order.randrange(1, 9)
                    rows = [order.randrange(40) for _ in range(n)]
                    found = wrapped(x[rows], cache_ids=[f"{kind}-{i}" for i in rows])
                    index = torch.tensor(rows)
                    if not same(found, map_tree(lambda t: t[index], both[kind])):
                        failed.append((kind, rows, found))
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(SEED + i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_device(self) -> None:
        """Outputs are where the inputs are."""
        if not torch.cuda.is_available():
            self.skipTest("no CUDA")
        cache = self.open()
        wrapped = cached(Model(outputs_tuple), cache)
        x = torch.randn(4, 3, device="cuda")
        wrapped(x[:2], cache_ids=[0, 1])
        for _ in range(2):
            found = wrapped(x, cache_ids=[0, 1, 2, 3])
            self.assertEqual(found[1]["b"][0].device, x.device)
            self.assertTrue(torch.equal(found[0], x))


class Constant(nn.Module):
    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output

    def forward(self, x: torch.Tensor) -> Any:
        return self.output


# ---- bit for bit ---------------------------------------------------------------------


def random_tensor(dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """Any bits, NaNs of every kind among them; truths are 0 and 1."""
    if dtype == torch.bool:
        return torch.randint(0, 2, shape).to(torch.bool)
    size = dtype.itemsize
    elements = 1
    for axis in shape:
        elements *= axis
    raw = torch.randint(0, 256, (elements * size,), dtype=torch.uint8)
    return raw.view(dtype).reshape(shape)


SHAPES: list[tuple[int, ...]] = [
    (), (0,), (1,), (7,), (3, 0, 2), (2, 3, 5), (1,) * 8, (2, 1) * 7, (1,) * 15, (1,) * 16,
]  # fmt: skip


class Dtypes(Directory):
    def check(self, cache: lmdbcache.Cache, name: str, tensor: torch.Tensor) -> None:
        cache[name] = tensor
        found = cache[name]
        self.assertTrue(same(found, tensor), (name, found, tensor))
        cache[name + " in a map"] = {"a": [tensor]}
        self.assertTrue(same(cache[name + " in a map"]["a"][0], tensor))
        if tensor.dim() < 16:
            block, missing = cache.gather([name, "absent", name])
            self.assertEqual(missing, [1])
            expected = bits(tensor)
            self.assertEqual(block.shape, (3, *tensor.shape))
            self.assertEqual(block.dtype, tensor.dtype)
            self.assertEqual(bits(block), expected + b"\0" * len(expected) + expected)
            block, _ = cache.gather([name + " in a map"], field="a.0")
            self.assertEqual(bits(block), expected)

    def test_bits(self) -> None:
        """Every dtype and rank, as it was and after reopening."""
        torch.manual_seed(SEED)
        cache = self.open()
        kept = {}
        for dtype in DTYPES:
            for shape in SHAPES:
                name = f"{dtype} {shape}"
                kept[name] = random_tensor(dtype, shape)
                self.check(cache, name, kept[name])
        cache.close()
        again = self.open()
        for name, tensor in kept.items():
            self.assertTrue(same(again[name], tensor), name)

    def test_strides(self) -> None:
        """What lies in memory in another order, twice, or with its sign to be done."""
        torch.manual_seed(SEED)
        cache = self.open()
        for dtype in DTYPES:
            wide = random_tensor(dtype, (4, 6, 3))
            for name, tensor in {
                "transposed": wide.transpose(0, 2),
                "sliced": wide[1:, ::2, 1:],
                "expanded": wide[:, :1].expand(4, 5, 3),
                "offset": wide[2],
                "column": wide[:, 0, 0],
                "empty": wide[:, 3:3],
            }.items():
                self.check(cache, f"{dtype} {name}", tensor)
            if dtype.is_complex:
                plain = torch.randn(4, 3, dtype=dtype)
                self.check(cache, f"{dtype} conj", plain.conj())
                self.check(cache, f"{dtype} conj.T", plain.conj().t())
                self.check(cache, f"{dtype} neg", plain.conj().imag)
                self.assertTrue(plain.conj().is_conj() and plain.conj().imag.is_neg())
        last = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
        self.check(cache, "channels_last", last)
        self.check(cache, "parameter", nn.Parameter(torch.randn(3)))

    def test_names(self) -> None:
        """What the engine calls dtypes, and those that it has no name for."""
        cache = self.open()
        for dtype, name in {
            "float8_e8m0fnu": "f8_e8m0", "float8_e4m3fnuz": "f8_e4m3fnuz",
            "float8_e5m2fnuz": "f8_e5m2fnuz", "float4_e2m1fn_x2": "f4_e2m1_x2",
            "complex32": "c32", "uint4": "opaque1:torch.uint4",
            "bits16": "opaque2:torch.bits16", "float32": "f32",
        }.items():  # fmt: skip
            if not hasattr(torch, dtype):
                continue
            cache["a"] = random_tensor(getattr(torch, dtype), (2, 3))
            view = cache.view("a")
            self.assertEqual(view.dtype, name)
            self.assertEqual(view.torch().dtype, getattr(torch, dtype))

    def test_no_dtype_of_torch(self) -> None:
        """Opaque elements of others, and of a torch that has other dtypes."""
        cache = self.open()
        cache["a"] = random_tensor(torch.uint4, (3,))
        self.assertEqual(cache.view("a").torch().dtype, torch.uint4)
        kept = vars(torch).pop("uint4")
        try:
            with self.assertRaisesRegex(
                TypeError, '^torch has no dtype for opaque1:torch.uint4: read it as "numpy"'
            ):
                cache["a"]
            vars(torch)["uint4"] = torch.nn
            with self.assertRaisesRegex(TypeError, "^torch has no dtype for opaque1"):
                cache["a"]
            vars(torch)["uint4"] = torch.float32
            with self.assertRaisesRegex(TypeError, "^torch has no dtype for opaque1"):
                cache["a"]
        finally:
            vars(torch)["uint4"] = kept
        self.assertEqual(cache["a"].dtype, torch.uint4)

    def test_refused(self) -> None:
        cache = self.open()
        with self.assertRaisesRegex(
            TypeError,
            r"^a quantized tensor of torch.qint8 cannot be stored: store its int_repr\(\)",
        ):
            cache["a"] = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
        with self.assertRaises(ValueError):
            cache["a"] = torch.zeros((1,) * 17)
        for odd in (
            torch.zeros(2).to_sparse(),
            torch.zeros(2, device="meta"),
        ):
            with self.assertRaises((TypeError, RuntimeError, NotImplementedError)):
                cache["a"] = odd
        self.assertEqual(len(cache), 0)

    def test_block_has_16_axes(self) -> None:
        """A row of 16 axes cannot be gathered, and is cached all the same."""
        x = torch.randn((2,) + (1,) * 16)
        wrapped = cached(nn.Identity(), self.open())
        for _ in range(2):
            self.assertTrue(same(wrapped(x, cache_ids=[1, 2]), x))


# ---- data sets -----------------------------------------------------------------------


class DataSets(Directory):
    def fill(self, cache: lmdbcache.Cache, n: int = 50) -> torch.Tensor:
        rows = torch.randn(n, 4)
        cache.put_many([f"{i:03}" for i in range(n)], rows)
        return rows

    def test_records(self) -> None:
        cache = self.open()
        rows = self.fill(cache)
        data = MapDataset(cache)
        self.assertEqual(len(data), 50)
        self.assertTrue(same(data[3], rows[3]))
        self.assertTrue(same(data[-1], rows[-1]))
        self.assertTrue(same(data.__getitems__([4, 4, 0]), rows[[4, 4, 0]]))
        with self.assertRaises(IndexError):
            data[50]
        some = MapDataset(cache, ids=torch.tensor([100, 7]))
        with self.assertRaises(KeyError) as caught:
            some.__getitems__([1, 0])
        self.assertEqual(caught.exception.key, "7")
        with self.assertRaises(KeyError):
            some[0]

    def test_verified_once(self) -> None:
        """By default: damage after the first read goes unseen, damage before does not."""
        cache = self.open()
        rows = self.fill(cache)
        data = MapDataset(cache)
        pending = torch.ones(4)
        cache["later"] = pending
        self.assertTrue(same(MapDataset(cache, ids=["later"])[0], pending))
        self.assertTrue(same(data[7], rows[7]))
        path = os.path.join(self.root, "m", "data.mdb")
        for i in (7, 8):
            with open(path, "r+b") as file:
                content = file.read()
                at = content.index(rows[i].numpy().tobytes()) + 15
                file.seek(at)
                file.write(bytes([content[at] ^ 1]))
        self.assertTrue(same(data[7][:3], rows[7, :3]))
        self.assertTrue(same(pickle.loads(pickle.dumps(data))[7][:3], rows[7, :3]))
        self.assertTrue(same(MapDataset(cache, verify=False)[8][:3], rows[8, :3]))
        for verify, i in (("once", 8), ("always", 7), (True, 7)):
            with self.assertRaises(lmdbcache.CorruptError):
                MapDataset(cache, verify=verify)[i]
        with self.assertRaises(lmdbcache.CorruptError):
            cache["007"]
        with self.assertRaises(ValueError):
            MapDataset(cache, verify="twice")

    def test_structures(self) -> None:
        cache = self.open(like=None)
        x = torch.randn(6, 4)
        cache.put_many(list("abcdef"), {"x": x, "y": (x[:, 0], x > 0)})
        batch = MapDataset(cache).__getitems__([5, 0])
        index = torch.tensor([5, 0])
        self.assertTrue(
            same(batch, {"x": x[index], "y": (x[index][:, 0], x[index] > 0)}), batch
        )
        self.assertTrue(same(MapDataset(cache)[2], {"x": x[2], "y": (x[2, 0], x[2] > 0)}))
        inner = MapDataset(cache, field="y.1")
        self.assertTrue(same(inner.__getitems__([1, 2]), x[1:3] > 0))
        self.assertTrue(same(inner[3], x[3] > 0))
        deep = MapDataset(cache, ids=["a", "c"], field="y")
        self.assertTrue(same(deep.__getitems__([1]), (x[2:3, 0], x[2:3] > 0)))
        cache["g"] = {"x": x[0], "label": "seven"}
        cache["h"] = {"x": x[1], "label": "eight"}
        batch = MapDataset(cache, ids=["g", "h"]).__getitems__([0, 1])
        self.assertTrue(same(batch, {"x": x[:2], "label": ["seven", "eight"]}), batch)

    def test_loader(self) -> None:
        """The same batches with workers of each kind and without."""
        cache = self.open()
        rows = self.fill(cache)
        for workers, context in ((0, None), (2, "fork"), (2, "spawn")):
            data = MapDataset(cache)
            cache["late"] = rows[0]  # pending as the workers begin
            loader = DataLoader(
                data, 8, num_workers=workers, multiprocessing_context=context,
                collate_fn=data.collate,
            )  # fmt: skip
            for _ in range(2):
                batches = list(loader)
                self.assertEqual([len(b) for b in batches], [8] * 6 + [2])
                self.assertTrue(same(torch.cat(batches), rows), (workers, context))
            del cache["late"]
            cache.flush()
        part = Subset(MapDataset(cache), [9, 3, 3])
        self.assertTrue(
            same(next(iter(DataLoader(part, 3, collate_fn=collate))), rows[[9, 3, 3]])
        )
        shuffled = DataLoader(MapDataset(cache), 7, shuffle=True, collate_fn=collate)
        found = torch.cat(list(shuffled))
        self.assertEqual(sorted(found[:, 0].tolist()), sorted(rows[:, 0].tolist()))


# ---- the interface of torchcachex ----------------------------------------------------


class Compat(Directory):
    def backend(self, **options: Any) -> ArrowIPCCacheBackend:
        backend = ArrowIPCCacheBackend(self.root, "m", **options)
        self.addCleanup(backend.close)
        return backend

    def test_backend(self) -> None:
        backend = self.backend(flush_every=3)
        a, b = torch.randn(3), {"x": torch.randn(2, 2), "n": {1, 2}, "none": None}
        self.assertEqual(backend.get_batch(["a"]), ([None], [0]))
        backend.put_batch({"a": a, "b": b, 7: None})
        found, missing = backend.get_batch(["b", "c", "a", 7, "a"])
        self.assertEqual(missing, [1])
        self.assertTrue(same(found, [b, None, a, None, a]), found)
        found[2] += 1
        self.assertTrue(same(backend.get_batch(["a"])[0], [a]))
        backend.flush()
        self.assertEqual(backend.key_to_idx, {"a": 0, "b": 1, "7": 2})
        self.assertEqual(backend.output_structure, "tensor")
        self.assertIn("a", backend.lru)
        with self.assertRaisesRegex(TypeError, "object") as caught:
            backend.put_batch({"d": a, "bad": object(), "e": a})
        self.assertIn("bad", caught.exception.__notes__[0])
        self.assertEqual(backend.get_batch(["d", "bad", "e"])[1], [1])
        del backend.lru
        backend.close()
        again = self.backend(lru_size=0)
        self.assertTrue(same(again.get_batch(["a", "b"])[0], [a, b]))
        self.assertIs(type(again.lru), dict)

    def test_other_rank(self) -> None:
        """A rank that does not write sees what it computed, and what the writer stored."""
        writer = self.backend()
        reader = self.backend(current_rank=1, lru_size=2)
        x = torch.randn(4, 2)
        writer.put_batch({"w": x[0]})
        writer.flush()
        reader.put_batch({"a": x[1], "b": x[2], "c": x[3]})
        found, missing = reader.get_batch(["a", "b", "c", "w"])
        self.assertEqual(missing, [0])
        self.assertTrue(same(found, [None, x[2], x[3], x[0]]))
        reader.close()
        writer.close()
        self.assertEqual(list(self.backend().index), ["w"])

    def test_decorator(self) -> None:
        backend = self.backend()
        model = Model(outputs_tuple)
        wrapped = CacheModuleDecorator(model, backend, map_location_on_read="cpu")
        x = torch.randn(5, 3)
        for ids in ([1, 2, 3, 1, 2], torch.arange(5), list("01201")):
            expected = x if torch.is_tensor(ids) else x[[0, 1, 2, 0, 1]]
            first = wrapped(x if torch.is_tensor(ids) else expected, cache_ids=ids)
            self.assertEqual(len(first[0]), 5)
        self.assertEqual(model.seen, 5)
        self.assertIs(wrapped.cache, backend)
        made = CacheModuleDecorator(
            model, backend, key_from_batch_fn=lambda x, **kwargs: kwargs["mine"]
        )
        self.assertTrue(same(made(x, mine=[0, 1, 2, 3, 4]), wrapped(x, cache_ids=range(5))))
        with self.assertRaisesRegex(ValueError, "cache_ids"):
            wrapped(x)
        trains = CacheModuleDecorator(nn.Linear(3, 3), backend)
        with self.assertRaisesRegex(RuntimeError, "trainable parameters"):
            trains(x, cache_ids=range(5))
        trains.enforce_stateless = False
        self.assertEqual(trains(x, cache_ids=range(10, 15)).shape, (5, 3))
        off = CacheModuleDecorator(model, backend, enabled=False)
        self.assertTrue(same(off(x), model(x)))


if __name__ == "__main__":
    unittest.main()
