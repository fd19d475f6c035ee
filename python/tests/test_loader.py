# SPDX-License-Identifier: BSD-2-Clause
"""lmdbcache.torch.Loader: each example once, for any number of ranks and workers, also
across interruptions; its tensors are the caller's."""

import gc
import itertools
import os
import pickle
import random
import tempfile
import unittest
from typing import Any, Dict, List, Optional

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

from torch.utils.data import DataLoader

from lmdbcache.torch import Loader

try:
    from torchdata.stateful_dataloader import StatefulDataLoader
except ImportError:
    StatefulDataLoader = None

N, WIDTH = 500, 4
SEED = int(os.environ.get("T_SEED", random.SystemRandom().randrange(2**32)))
ROWS = torch.arange(N * WIDTH, dtype=torch.float32).reshape(N, WIDTH)


class Module(unittest.TestCase):
    """A test with a module of N records."""

    def setUp(self) -> None:
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.cache = lmdbcache.open(self.dir.name, "m", like="torch")
        self.addCleanup(self.cache.close)
        self.addCleanup(gc.collect)
        self.cache.put_many([f"{i:03}" for i in range(N)], ROWS)
        self.cache.flush()
        self.chance = random.Random(SEED)

    def numbers(self, batch: Dict[str, Any]) -> List[int]:
        """Which rows a batch has; each must be whole and have its cache_id."""
        numbers = [int(id) for id in batch["ids"]]
        self.assertTrue(torch.equal(batch["."], ROWS[numbers]))
        return numbers


class Loaders(Module):
    def damage(self, i: int) -> None:
        """Change a bit of the last element of row i in the file."""
        with open(os.path.join(self.dir.name, "m", "data.mdb"), "r+b") as file:
            content = file.read()
            at = content.index(ROWS[i].numpy().tobytes()) + WIDTH * 4 - 1
            file.seek(at)
            file.write(bytes([content[at] ^ 1]))

    def test_verified_once(self) -> None:
        """By default: damage after the first epoch goes unseen, damage before does not."""
        loader = Loader(self.cache, batch=64)
        before = torch.cat([batch["."] for batch in loader])
        self.assertTrue(torch.equal(before, ROWS))
        self.damage(7)
        after = torch.cat([batch["."] for batch in loader])
        self.assertEqual(int((after != ROWS).sum()), 1)
        self.assertNotEqual(float(after[7, -1]), float(ROWS[7, -1]))
        with self.assertRaises(lmdbcache.CorruptError) as caught:
            list(Loader(self.cache, batch=64, verify="always"))
        self.assertIn("key '007': checksum mismatch", str(caught.exception))
        with self.assertRaises(ValueError):
            list(Loader(self.cache, verify="twice"))

    def test_batches_are_the_callers(self) -> None:
        """They stay as they are while others are read, and as they are changed."""
        loader = Loader(self.cache, batch=16, extras=("ids", "examples", "mask"), ahead=2)
        batches = list(loader)
        self.assertEqual(len(batches), 32)
        for i, batch in enumerate(batches):
            batch["."] += i
        for i, batch in enumerate(batches):
            there = batch["mask"] == 1
            self.assertEqual(int(there.sum()), 16 if i < 31 else 4)
            numbers = [int(id) for id in batch["ids"] if id is not None]
            self.assertTrue(torch.equal(batch["."][there], ROWS[numbers] + i))
            self.assertEqual(batch["examples"][there].tolist(), numbers)
        self.assertTrue(torch.equal(self.cache["007"], ROWS[7]))
        tensor = batches[3]["."]
        del batches, batch, loader
        gc.collect()
        self.assertTrue(torch.equal(tensor, ROWS[48:64] + 3))

    def test_extras(self) -> None:
        loader = Loader(self.cache, batch=100, extras=("epochs", "sources", "lengths"), epochs=2)
        batch = list(loader)[7]
        self.assertEqual(batch["epochs"].tolist(), [1] * 100)
        self.assertEqual(batch["sources"].tolist(), [0] * 100)
        self.assertEqual(batch["lengths"].tolist(), [1] * 100)
        with self.assertRaisesRegex(ValueError, "^extras: \\['nothing'\\]$"):
            Loader(self.cache, extras=("ids", "nothing"))
        with self.assertRaisesRegex(ValueError, "another version"):
            loader.load_state_dict({"version": 2, "token": b""})

    def test_windows(self) -> None:
        """Windows of tokens over records of several lengths, with their documents."""
        texts = lmdbcache.open(self.dir.name, "texts", like="torch")
        self.addCleanup(texts.close)
        tokens = torch.arange(1000, dtype=torch.int32)
        ends = sorted(self.chance.sample(range(1, 1000), 20)) + [1000]
        for begin, end in zip([0] + ends, ends):
            texts[f"{begin:04}"] = tokens[begin:end]
        texts.flush()
        loader = Loader(
            texts, batch=7, window=32, length_field=".", extras=("documents", "lengths"),
            documents=True,
        )  # fmt: skip
        seen = list(loader)
        found = torch.cat([batch["."].reshape(-1) for batch in seen])[:1000]
        self.assertTrue(torch.equal(found, tokens))
        self.assertEqual(sum(int(batch["lengths"].sum()) for batch in seen), 1000)
        self.assertEqual(seen[0]["documents"].shape, (7, 32))

    def test_mixture(self) -> None:
        """Several sources, without end; it resumes like others."""
        other = lmdbcache.open(self.dir.name, "other", like="torch")
        self.addCleanup(other.close)
        other.put_many([f"{i:03}" for i in range(N)], -ROWS - 1)
        other.flush()
        options: Any = {
            "weights": [3, 1], "batch": 40, "shuffle": "block", "seed": 3, "limit": 4000,
            "extras": ("sources", "ids"),
        }  # fmt: skip
        plain = list(Loader([self.cache, other], **options))
        self.assertEqual(len(plain), 100)
        shares = torch.cat([batch["sources"].int() for batch in plain]).bincount()
        self.assertAlmostEqual(int(shares[0]), 3000, delta=16)
        state: Any = None
        seen: List[Any] = []
        while len(seen) < 100:
            loader = Loader([self.cache, other], **options)
            if state is not None:
                loader.load_state_dict(pickle.loads(pickle.dumps(state)))
            seen += itertools.islice(loader, self.chance.randrange(1, 40))
            state = loader.state_dict()
        for batch, expected in zip(seen, plain):
            self.assertEqual(batch["ids"], expected["ids"])
            self.assertTrue(torch.equal(batch["."], expected["."]))

    def test_follow(self) -> None:
        """What is stored while it reads comes, too."""
        loader = Loader(
            self.cache, batch=N // 2, follow=True, timeout=0, extras=("ids",)
        )
        batches = iter(loader)
        seen = self.numbers(next(batches)) + self.numbers(next(batches))
        self.cache.put_many([f"{i:03}" for i in range(N, N + N // 2)], -ROWS[: N // 2])
        self.cache.flush()
        batch = next(batches)
        self.assertTrue(torch.equal(batch["."], -ROWS[: N // 2]))
        with self.assertRaises(lmdbcache.WaitTimeout):
            next(batches)
        self.assertEqual(seen, list(range(N)))
        with self.assertRaisesRegex(ValueError, "does not work with DataLoader workers"):
            next(iter(DataLoader(loader, None, num_workers=1)))

    @unittest.skipUnless(torch.cuda.is_available(), "no CUDA")
    def test_pinned(self) -> None:
        batch = next(iter(Loader(self.cache, batch=10, pin_memory=True)))
        self.assertTrue(batch["."].is_pinned())
        self.assertTrue(torch.equal(batch["."].cuda(non_blocking=True).cpu(), ROWS[:10]))


class Resume(Module):
    """Interrupted at random, with other ranks and workers each time."""

    def pieces(self, way: Any, worlds: int = 8) -> None:
        """Read all of the stream in pieces, each with up to that many ranks. way(loader,
        state, n) resumes from a state, None at first, and returns n batches and the state
        after them."""
        print(f"# T_SEED={SEED}")
        options: Any = {
            "batch": self.chance.choice([24, 40]),
            "shuffle": self.chance.choice(["none", "full", "block", "era"]),
            "seed": self.chance.randrange(100),
            "epochs": 2,
            "extras": ("ids", "state"),
        }
        whole = [sorted(self.numbers(batch)) for batch in Loader(self.cache, **options)]
        self.assertEqual(sorted(sum(whole, [])), sorted(list(range(N)) * 2))
        seen: List[List[int]] = []
        state: Optional[Any] = None
        pieces = 0
        while len(seen) < len(whole):
            world = self.chance.randrange(1, worlds + 1)
            n = self.chance.randrange(1, 12) if pieces < 4 else len(whole)
            pieces += 1
            given: List[List[int]] = []
            states = []
            for rank in range(world):
                loader = Loader(self.cache, rank=rank, world=world, **options)
                batches, after = way(loader, state, n)
                given = given or [[] for _ in batches]
                self.assertEqual(len(batches), len(given))
                for share, batch in zip(given, batches):
                    share += self.numbers(batch)
                states.append(after)
            seen += [sorted(share) for share in given]
            state = self.chance.choice(states)  # any rank's will do
        self.assertEqual(seen, whole)

    def test_loader(self) -> None:
        def way(loader: Loader, state: Any, n: int) -> Any:
            if state is not None:
                loader.load_state_dict(state)
            batches = list(itertools.islice(loader, n))
            self.assertEqual(loader.state_dict(), batches[-1]["state"])
            return batches, loader.state_dict()

        for _ in range(8):
            self.pieces(way)

    def through_workers(self, workers: Any, context: Optional[str]) -> Any:
        """Through a DataLoader, resuming from the state of the last batch."""

        def way(loader: Loader, state: Any, n: int) -> Any:
            if state is not None:
                loader.load_state_dict(state)
            count = workers()
            data: Any = DataLoader(
                loader, None, num_workers=count,
                multiprocessing_context=context if count > 0 else None,
            )  # fmt: skip
            batches = list(itertools.islice(data, n))
            return batches, batches[-1]["state"] if batches else state

        return way

    def test_workers(self) -> None:
        self.pieces(self.through_workers(lambda: self.chance.randrange(4), "fork"))

    def test_spawned_workers(self) -> None:
        loader = Loader(self.cache, batch=60, shuffle="full", seed=8, extras=("ids", "state"))
        whole = [self.numbers(batch) for batch in loader]
        way = self.through_workers(lambda: 2, "spawn")
        first, state = way(loader, None, 3)
        rest, _ = way(loader, state, len(whole))
        self.assertEqual([self.numbers(batch) for batch in first + rest], whole)

    @unittest.skipIf(StatefulDataLoader is None, "torchdata is not installed")
    def test_stateful_data_loader(self) -> None:
        for workers in range(4):

            def way(loader: Loader, state: Any, n: int) -> Any:
                data = StatefulDataLoader(loader, None, num_workers=workers)
                if state is not None:
                    data.load_state_dict(pickle.loads(pickle.dumps(state)))
                batches = list(itertools.islice(data, n))
                return batches, data.state_dict()

            self.pieces(way, worlds=3)

    def test_a_state_of_other_workers(self) -> None:
        loader = Loader(self.cache)
        loader.load_state_dict({**loader.state_dict(), "workers": 2})
        with self.assertRaisesRegex(ValueError, "^the state of one of 2 workers, here are 0$"):
            next(iter(loader))


if __name__ == "__main__":
    unittest.main()
