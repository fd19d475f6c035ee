# SPDX-License-Identifier: BSD-2-Clause
"""Readers of streams, and the loader of torch over them: each example once, for any number
of ranks, also across interruptions."""

import gc
import os
import random
import signal
import tempfile
import threading
import unittest
from typing import Any, List

import lmdbcache

try:
    import numpy as np
except ImportError:

    @unittest.skip("no NumPy")
    class Numpy(unittest.TestCase):
        def test_numpy(self) -> None:
            pass

    if __name__ == "__main__":
        unittest.main()
    raise unittest.SkipTest("no NumPy") from None

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

N, WIDTH = 1000, 4
SEED = int(os.environ.get("T_SEED", random.SystemRandom().randrange(2**32)))


class Readers(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.TemporaryDirectory()
        self.cache = lmdbcache.open(self.dir.name, "m")
        self.rows = np.arange(N * WIDTH, dtype="f4").reshape(N, WIDTH)
        self.cache.put_many([f"{i:04}" for i in range(N)], self.rows)

    def tearDown(self) -> None:
        gc.collect()
        self.cache.close()
        self.dir.cleanup()

    def numbers(self, batch: Any) -> List[int]:
        """Which rows the batch has; each must be whole and have its cache_id."""
        field = batch.fields("numpy")["."]
        mask = np.asarray(batch.mask)
        numbers = [int(x) for x in field[mask == 1][:, 0] // WIDTH]
        self.assertEqual(batch.filled, len(numbers))
        for row, key, there in zip(field, batch.ids, mask):
            if there:
                self.assertTrue((row == self.rows[int(key)]).all())
            else:
                self.assertIsNone(key)
                self.assertEqual(row.tobytes(), bytes(4 * WIDTH))
        return numbers

    def test_in_order(self) -> None:
        with lmdbcache.reader(self.cache, batch=64) as reader:
            self.assertEqual(reader.info()["examples"], N)
            self.assertEqual(reader.info()["batches"], 16)
            seen = [i for batch in reader for i in self.numbers(batch)]
        self.assertEqual(seen, list(range(N)))

    def test_lists(self) -> None:
        parts: List[Any] = [lmdbcache.open(self.dir.name, name) for name in ("a", "b", "c")]
        for k, cache in enumerate(parts):
            numbers = range(k * 400, min(k * 400 + 400, N))
            cache.put_many([f"{i:04}" for i in numbers], self.rows[numbers.start : numbers.stop])
            cache.flush()
        parts[1].export(os.path.join(self.dir.name, "set"))
        parts[1].close()
        parts[1] = os.path.join(self.dir.name, "set")
        for shuffle in ("none", "full", "block"):
            options: Any = {"batch": 60, "shuffle": shuffle, "seed": 5, "fields": ["."]}
            with lmdbcache.reader(self.cache, **options) as r:
                whole = [self.numbers(batch) for batch in r]
            with lmdbcache.reader([parts], **options) as r:
                first = self.numbers(next(r))
                token = r.token()
                self.assertEqual(r.info()["examples"], N)
            self.assertEqual(first, whole[0])
            with lmdbcache.reader([tuple(parts)], token=token, **options) as r:
                self.assertEqual([self.numbers(batch) for batch in r], whole[1:])
            with self.assertRaises(lmdbcache.StaleError):
                lmdbcache.reader([parts[::-1]], token=token, **options)
        with lmdbcache.reader(
            [parts[::2], parts[1]], batch=60, limit=600, weights=[1, 2], mixture_block=6,
            fields=["."],
        ) as r:  # fmt: skip
            sources = [int(x) for batch in r for x in np.asarray(batch.sources)]
        self.assertEqual((sources.count(0), sources.count(1)), (200, 400))
        with self.assertRaises(TypeError):
            lmdbcache.reader([[parts[0], (parts[1], parts[2])]])
        parts[0].close()
        parts[2].close()

    def test_any_world_reads_the_same_batches(self) -> None:
        for share in ("strided", "contiguous"):
            for shuffle in ("full", "block", "era"):
                whole: List[List[int]] = []
                with lmdbcache.reader(self.cache, batch=60, shuffle=shuffle, seed=5) as r:
                    whole = [sorted(self.numbers(batch)) for batch in r]
                self.assertEqual(sorted(sum(whole, [])), list(range(N)))
                for world in (2, 3):
                    parts: List[List[int]] = [[] for _ in whole]
                    for rank in range(world):
                        with lmdbcache.reader(
                            self.cache, batch=60, shuffle=shuffle, seed=5, rank=rank,
                            world=world, share=share, threads=rank,
                        ) as r:  # fmt: skip
                            for batch in r:
                                parts[batch.number] += self.numbers(batch)
                    self.assertEqual([sorted(part) for part in parts], whole)

    def test_tokens_go_on_with_another_world(self) -> None:
        print(f"# T_SEED={SEED}")
        chance = random.Random(SEED)
        options: Any = {"batch": 50, "shuffle": "block", "seed": 9, "epochs": 3}
        for _ in range(10):
            seen: List[int] = []
            token = None
            while True:
                world = chance.randrange(1, 5)
                stop = chance.randrange(1, 25)
                readers = [
                    lmdbcache.reader(
                        self.cache, token=token, rank=rank, world=world, **options
                    )
                    for rank in range(world)
                ]
                for _ in range(stop):
                    batches = [next(r, None) for r in readers]
                    for batch in batches:
                        if batch is not None:
                            seen += self.numbers(batch)
                    if None in batches:
                        break
                tokens = {r.token() for r in readers}
                ended = None in batches
                del batch, batches
                for r in readers:
                    r.close()
                self.assertEqual(len(tokens), 1)
                token = tokens.pop()
                self.assertEqual(len(token), 96)
                if ended:
                    break
            self.assertEqual(sorted(seen), sorted(list(range(N)) * 3))

    def shares_module(self) -> Any:
        """Chunks of 50, of which one of four shares has five."""
        cache = lmdbcache.open(self.dir.name, "chunks")
        self.addCleanup(cache.close)
        for first in range(0, N, 50):
            keys = [f"{i:04}" for i in range(first, first + 50)]
            cache.put_many(keys, self.rows[first : first + 50])
            cache.flush()
        return cache

    def test_ranks_stay_with_their_shares(self) -> None:
        cache = self.shares_module()
        options: Any = {
            "batch": 40, "shuffle": "block", "spread": 2, "shares": 4, "seed": 3, "epochs": 3,
        }  # fmt: skip
        with lmdbcache.reader(cache, **options) as reader:
            whole = [sorted(self.numbers(batch)) for batch in reader]
            self.assertEqual(reader.chunks(), list(range(20)))
        for epoch in range(3):
            once = sum(whole[25 * epoch : 25 * epoch + 25], [])
            self.assertEqual(sorted(once), list(range(N)))
        for world in (2, 4):
            parts: List[List[int]] = [[] for _ in whole]
            owned: List[int] = []
            for rank in range(world):
                with lmdbcache.reader(cache, rank=rank, world=world, **options) as reader:
                    owned += reader.chunks()
                    for batch in reader:
                        numbers = self.numbers(batch)
                        self.assertLessEqual({i // 50 for i in numbers}, set(reader.chunks()))
                        parts[batch.number] += numbers
            self.assertEqual([sorted(part) for part in parts], whole)
            self.assertEqual(sorted(owned), list(range(20)))

    def test_tokens_of_shares(self) -> None:
        cache = self.shares_module()
        options: Any = {"batch": 40, "shuffle": "block", "shares": 4, "seed": 3}
        with lmdbcache.reader(cache, **options) as reader:
            first = [self.numbers(next(reader)) for _ in range(10)]
            token = reader.token()
            rest = [sorted(self.numbers(batch)) for batch in reader]
        seen: List[List[int]] = [[] for _ in rest]
        for rank in range(2):
            with lmdbcache.reader(cache, rank=rank, world=2, token=token, **options) as reader:
                for batch in reader:
                    seen[batch.number - 10] += self.numbers(batch)
        self.assertEqual([sorted(part) for part in seen], rest)
        self.assertEqual(sorted(sum(first + rest, [])), list(range(N)))
        for other, text in (
            ({"shares": 2}, "token: of 4 shares, the stream has 2"),
            ({"spread": 3}, "token: of shares in windows of 16 chunks, the stream's are of 3"),
        ):
            with self.assertRaises(lmdbcache.StaleError) as caught:
                lmdbcache.reader(cache, token=token, **{**options, **other})
            self.assertIn(text, str(caught.exception))

    def test_shares_are_refused(self) -> None:
        for options, text in (
            ({"shuffle": "full", "shares": 2}, "shares need the shuffle in blocks"),
            ({"shares": 3}, "a batch of 256 examples is not a multiple of 3 shares"),
            ({"shares": 4, "world": 3}, "4 shares are not a multiple of 3 readers"),
            ({"shares": 4, "share": "contiguous"}, "a reader of shares has every R'th one"),
        ):
            with self.assertRaises(lmdbcache.InvalidError) as caught:
                lmdbcache.reader(self.cache, **{"shuffle": "block", **options})  # type: ignore
            self.assertIn(text, str(caught.exception))
        with self.assertRaises(OverflowError):
            lmdbcache.reader(self.cache, shuffle="block", shares=-1)
        with lmdbcache.reader(self.cache) as reader:
            with self.assertRaises(lmdbcache.InvalidError):
                reader.chunks()
        with self.assertRaises(ValueError):
            reader.chunks()

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_state_of_a_loader_of_shares(self) -> None:
        from lmdbcache.torch import Loader

        options: Any = {"batch": 40, "shuffle": "block", "shares": 4, "seed": 3}
        cache = self.shares_module()
        loader = Loader(cache, extras=("ids",), **options)
        seen: List[str] = []
        for batch in loader:
            seen += batch["ids"]
            if len(seen) == 400:
                break
        for rank in range(4):
            other = Loader(cache, extras=("ids",), rank=rank, world=4, **options)
            other.load_state_dict(loader.state_dict())
            for batch in other:
                seen += batch["ids"]
        self.assertEqual(sorted(seen), [f"{i:04}" for i in range(N)])

    def test_any_batch_can_be_read(self) -> None:
        with lmdbcache.reader(self.cache, batch=100) as reader:
            self.assertEqual(self.numbers(reader.read(7)), list(range(700, 800)))
            self.assertEqual(self.numbers(next(reader)), list(range(100)))
            reader.seek(9)
            self.assertEqual(self.numbers(next(reader)), list(range(900, 1000)))
            with self.assertRaises(IndexError):
                reader.read(10)
            self.assertEqual(reader.token(9), reader.token(9))
            self.assertNotEqual(reader.token(9), reader.token(8))

    def test_views_are_read_only_and_keep_all(self) -> None:
        reader = lmdbcache.reader(self.cache, batch=4, views=True)
        batch = next(reader)
        rows = batch.fields("numpy")["."]
        self.cache.close()
        del batch, reader
        gc.collect()
        self.assertFalse(rows[1].flags.writeable)
        self.assertEqual(rows[1].tolist(), self.rows[1].tolist())

    def test_copies_are_the_callers(self) -> None:
        reader = lmdbcache.reader(self.cache, batch=4)
        batch = next(reader)
        batch.fields("numpy")["."][:] = -1
        self.assertEqual(batch.fields("numpy")["."].sum(), -4 * WIDTH)
        self.assertEqual(self.cache["0000"].tolist(), self.rows[0].tolist())

    def test_any_number_of_batches_can_be_held(self) -> None:
        for threads, ahead in ((2, 8), (1, 2), (0, 1)):
            reader = lmdbcache.reader(self.cache, batch=10, threads=threads, ahead=ahead)
            batches = list(reader)
            reader.close()
            self.assertEqual(len(batches), N // 10)
            batches[3].fields("numpy")["."][0] = -1
            del batches[3]
            seen = [i for batch in batches for i in self.numbers(batch)]
            self.assertEqual(seen, [i for i in range(N) if i // 10 != 3])

    def test_any_number_of_views_can_be_held(self) -> None:
        reader = lmdbcache.reader(self.cache, batch=10, ahead=3, views=True)
        batches = list(reader)
        rows = [row.tolist() for batch in batches for row in batch.fields("numpy")["."]]
        self.assertEqual(rows, self.rows.tolist())
        del batches
        reader.close()

    def files(self) -> int:
        """Open descriptors of the module."""
        paths = [os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd")]
        return sum(os.path.islink(path) and os.readlink(path).endswith("/m/data.mdb")
                   for path in paths)

    @unittest.skipUnless(os.path.isdir("/proc/self/fd"), "no /proc")
    def test_a_close_is_done_when_the_last_view_is_released(self) -> None:
        self.cache.close()
        before = self.files()
        for last in ("batch", "reader"):
            with self.subTest(last), lmdbcache.open(self.dir.name, "m") as cache:
                reader = lmdbcache.reader(cache, batch=10, ahead=3, views=True)
                batches = [next(reader), next(reader)]
                row = batches[1].fields("numpy")["."][3]
                cache.close()
                reader.close()
                reader.close()
                with self.assertRaisesRegex(ValueError, "^the reader is closed$"):
                    next(reader)
                with self.assertRaisesRegex(ValueError, "^the reader is closed$"):
                    reader.info()
                if last == "batch":
                    del reader
                del batches
                self.assertEqual(row.tolist(), self.rows[13].tolist())
                self.assertGreater(self.files(), before)
                del row
                gc.collect()
                self.assertEqual(self.files(), before)

    def test_a_close_ends_the_calls_of_other_threads(self) -> None:
        raised: List[BaseException] = []

        def read() -> None:
            try:
                next(reader)
            except ValueError as error:
                raised.append(error)

        with lmdbcache.open(self.dir.name, "grows") as cache:
            cache["a"] = np.ones(WIDTH, np.float32)
            cache.flush()
            reader = lmdbcache.reader(cache, batch=2, follow=True)
            thread = threading.Thread(target=read)
            thread.start()
            reader.close()
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertRegex(str(raised[0]), "^the reader (was closed during the call|is closed)$")

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_child_leaves_the_parents_reader(self) -> None:
        reader = lmdbcache.reader(self.cache, batch=10)
        first, second = next(reader), next(reader)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(60)
                self.assertEqual(self.numbers(first), list(range(10)))
                with self.assertRaisesRegex(lmdbcache.InvalidError, "forked from"):
                    next(reader)
                del first
                reader.close()
                del second, reader
                gc.collect()
                with lmdbcache.reader(self.cache, batch=10) as own:
                    self.assertEqual(self.numbers(next(own)), list(range(10)))
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0), (child, 0))
        self.assertEqual(self.numbers(next(reader)), list(range(20, 30)))

    def test_errors(self) -> None:
        with self.assertRaises(lmdbcache.NoFileError):
            lmdbcache.reader(os.path.join(self.dir.name, "none"))
        with self.assertRaises(lmdbcache.InvalidError):
            lmdbcache.reader(self.cache, rank=2, world=2)
        with self.assertRaises(ValueError):
            lmdbcache.reader(self.cache, token=b"short")
        with self.assertRaises(lmdbcache.InvalidError):
            lmdbcache.reader(self.cache, shuffle="none at all")
        with self.assertRaises(OverflowError):
            lmdbcache.reader(self.cache, batch=-1)
        with lmdbcache.reader(self.cache, seed=1, shuffle="full") as reader:
            token = reader.token()
        with self.assertRaises(lmdbcache.StaleError):
            lmdbcache.reader(self.cache, seed=2, shuffle="full", token=token)
        with self.assertRaises(ValueError):
            next(reader)

    def test_a_stream_that_follows_can_time_out(self) -> None:
        reader = lmdbcache.reader(
            self.cache, batch=N, follow=True, timeout=0
        )
        self.assertEqual(len(self.numbers(next(reader))), N)
        with self.assertRaises(lmdbcache.WaitTimeout):
            next(reader)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_loader_resumes_once_each(self) -> None:
        from lmdbcache.torch import Loader

        options: Any = {"batch": 96, "shuffle": "full", "seed": 4}
        loader = Loader(self.cache, extras=("ids", "examples"), **options)
        seen: List[str] = []
        for batch in loader:
            rows = batch["."]
            self.assertEqual(rows.dtype, torch.float32)
            self.assertEqual(rows.shape, (len(batch["ids"]), WIDTH))
            self.assertEqual(rows[:, 0].tolist(), [int(k) * WIDTH for k in batch["ids"]])
            seen += batch["ids"]
            if len(seen) == 3 * 96:
                break
        state = loader.state_dict()
        for rank in range(2):
            other = Loader(self.cache, extras=("ids",), rank=rank, world=2, **options)
            other.load_state_dict(state)
            for batch in other:
                seen += batch["ids"]
        self.assertEqual(sorted(seen), [f"{i:04}" for i in range(N)])
        # After an early stop it continues; after its end it starts again.
        self.assertEqual(sum(len(batch["ids"]) for batch in loader), N - 3 * 96)
        self.assertEqual(sum(len(batch["ids"]) for batch in loader), N)
        with self.assertRaises(ValueError):
            Loader(self.cache, extras=("nothing",))


if __name__ == "__main__":
    unittest.main()
