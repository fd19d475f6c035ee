# SPDX-License-Identifier: BSD-2-Clause
"""Keys made of content: pinned, the same in C (t/lib/test_key.c) and in every process."""

import array
import os
import random
import struct
import subprocess
import sys
import unittest
from typing import Any, Dict

import lmdbcache
from lmdbcache import Tagged, key

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

SEED = int(os.environ.get("T_SEED", random.SystemRandom().randrange(2**32)))
FOX = "a photograph of a red fox"
FLOATS = array.array("f", [1, 2, 3, 4])

VECTORS = [
    (FOX, "k1-f3e432c36bcb46ef3abcff787697f79a"),
    ("", "k1-3eb8fc3acfabe3ca2ab2adcd1a02bf17"),
    (FOX.encode(), "k1-af159379014c16db6ad5be9066879311"),
    (bytearray(FOX.encode()), "k1-755098dbf0092f289c2b0e7c48d06f42"),
    (None, "k1-2ff39367394f506c73b2284b32bf8672"),
    (True, "k1-0f7b4f9bc91bf8e89078015758e39bc0"),
    (False, "k1-6ae09fc4628ce3470c66fa5ab7facd44"),
    (1, "k1-cf3d96e880b0e3059482177262dbf5dc"),
    (-1, "k1-99f9476d3cbb8ba3a63987a417ca116e"),
    (2**64 - 1, "k1-6592750dc1d80e0c3e8bc5acbb44f417"),
    (-(2**63), "k1-5a1742665dd05cb85ba981fceea3fd33"),
    (1.5, "k1-2d9a9b1d3227b08d1215cdbd928c5159"),
    (0.0, "k1-9d36cec0588c988b1db4bf1ebd1a09d6"),
    (-0.0, "k1-e70c8e7e0289b612c86f9e11f9b84a4e"),
    (FLOATS, "k1-7411419a41dff7a3f2e5de05efd0fe3b"),
    ([1, "a"], "k1-bd24fdcd03754269759a03d3e72165ac"),
    ((1, "a"), "k1-efbbfd2939e826a012ca61e3af799d09"),
    ([], "k1-e3ab152fcb1762bfc9f42e6c9e93dfff"),
    ({}, "k1-51025a4491835505e12ef9d2eb86ceeb"),
    (Tagged("a", 1), "k1-2ff7dc401035af06586a70ba232d3cd4"),
    ({(1, "a"): {}, 1: "a"}, "k1-de48485521864ae91e96173260bb7368"),
    ({1: "a", (1, "a"): {}}, "k1-de48485521864ae91e96173260bb7368"),
    ({"a": 1, "b": [None, FLOATS], "c": {"d": b"\0"}}, "k1-8007d955c61a4d65e0e19ae36912aca7"),
    ({"c": {"d": b"\0"}, "b": [None, FLOATS], "a": 1}, "k1-8007d955c61a4d65e0e19ae36912aca7"),
]
SQUARE = "k1-8a321598f1aab915040eda2abdb32cff"
SCALAR = "k1-9268abf99a3e1b7a991d80df5f295c1d"
NOTHING = "k1-80a0f3e17b89471a852723122f30f971"


class Keys(unittest.TestCase):
    def test_vectors(self) -> None:
        for value, text in VECTORS:
            self.assertEqual(key(value), text, repr(value))

    def test_other_processes_have_the_same(self) -> None:
        program = (
            "import lmdbcache, sys\n"
            "print(lmdbcache.key({'b': 'x', 'a': [1.5, sys.argv[1]], 's': set('abcdefgh')}))"
        )
        keys = set()
        for seed in ("0", "1"):
            done = subprocess.run(
                [sys.executable, "-c", program, FOX],
                env={**os.environ, "PYTHONHASHSEED": seed},
                stdout=subprocess.PIPE,
                check=True,
            )
            keys.add(done.stdout.decode().strip())
        self.assertEqual(keys, {key({"a": [1.5, FOX], "b": "x", "s": set("hgfedcba")})})

    def test_refuses_what_cannot_be_put(self) -> None:
        with self.assertRaises(TypeError):
            key(object())
        with self.assertRaises(TypeError):
            key([key])
        with self.assertRaises(TypeError):
            key()  # type: ignore[call-arg]
        loop: Any = []
        loop.append(loop)
        with self.assertRaises((RecursionError, lmdbcache.InvalidError)):
            key(loop)

    @unittest.skipIf(np is None, "NumPy is not installed")
    def test_arrays_as_their_contents(self) -> None:
        base = np.array([[1, 2], [3, 4]], "f4")
        self.assertEqual(key(base), SQUARE)
        self.assertEqual(key(base.T.copy().T), SQUARE)
        self.assertEqual(key(base.reshape(4)), key(FLOATS))
        self.assertEqual(key(np.asfortranarray(base)), SQUARE)
        self.assertEqual(key(np.repeat(base, 2, axis=1)[:, ::2]), SQUARE)
        self.assertEqual(key(np.array(7)), SCALAR)
        self.assertEqual(key(np.zeros((0, 3), "u1")), NOTHING)
        kinds = {key(base.astype(kind)) for kind in ("f2", "f4", "f8", "i4", "u4", "i8")}
        self.assertEqual(len(kinds), 6)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors_as_their_contents(self) -> None:
        base = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(key(base), SQUARE)
        self.assertEqual(key(base.t().contiguous().t()), SQUARE)
        self.assertEqual(key(base.repeat_interleave(2, 1)[:, ::2]), SQUARE)
        self.assertEqual(key(base.clone().requires_grad_()), SQUARE)
        self.assertEqual(key(torch.tensor(7)), SCALAR)
        images = torch.rand(2, 3, 8, 8)
        self.assertEqual(key(images.to(memory_format=torch.channels_last)), key(images))
        self.assertNotEqual(key(base.bfloat16()), key(base.half()))
        if torch.cuda.is_available():
            self.assertEqual(key(base.cuda()), SQUARE)

    def test_random_values_differ(self) -> None:
        print(f"# T_SEED={SEED}")
        chance = random.Random(SEED)
        values: Dict[str, str] = {}
        for _ in range(2000):
            value = random_value(chance, 3)
            values.setdefault(key(value), bits(value))
            self.assertEqual(values[key(value)], bits(value))
        self.assertEqual(len(values), len(set(values.values())))


def random_value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(8 if depth > 0 else 5)
    if kind == 0:
        return chance.choice([None, True, False])
    if kind == 1:
        return chance.randrange(-3, 3)
    if kind == 2:
        return chance.choice([0.0, -0.0, 1.0, float("nan")])
    if kind == 3:
        return "".join(chance.choices("ab", k=chance.randrange(3)))
    if kind == 4:
        return bytes(chance.choices(b"ab", k=chance.randrange(3)))
    parts = [random_value(chance, depth - 1) for _ in range(chance.randrange(3))]
    if kind == 5:
        return parts
    if kind == 6:
        return tuple(parts)
    names = chance.sample(["a", "b", "c"], len(parts))
    return dict(zip(names, parts))


def bits(value: Any) -> str:
    """A text that tells values apart as keys do."""
    if isinstance(value, float):
        return struct.pack("<d", value).hex()
    if isinstance(value, dict):
        return "{" + ",".join(f"{k!r}:{bits(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(" + ",".join(map(bits, value)) + ")"
    return repr(value)


if __name__ == "__main__":
    unittest.main()
