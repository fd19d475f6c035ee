# SPDX-License-Identifier: BSD-2-Clause
"""Records that are written in place: Cache.reserve()."""

import gc
import io
import os
import tempfile
import threading
import unittest
from typing import Any

import lmdbcache

try:
    import numpy as np
except ImportError:  # NumPy is optional
    np = None  # type: ignore[assignment]
try:
    import torch
except ImportError:  # torch is optional
    torch = None  # type: ignore[assignment]

SIZE = 300_000


class Reserve(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory(prefix="lmdbcache-test.")
        self.addCleanup(place.cleanup)
        self.root = place.name

    def open(self, **options: Any) -> lmdbcache.Cache:
        options.setdefault("like", "buffer")
        cache = lmdbcache.open(self.root, "m", **options)
        self.addCleanup(cache.close)
        return cache

    def test_bytes(self) -> None:
        cache = self.open()
        data = os.urandom(SIZE)
        for size in (0, 1, 1000, 65535, 65536, SIZE):
            with cache.reserve(f"k{size}", (size,), "u8") as place:
                if size > 0:
                    self.assertEqual(io.BytesIO(data).readinto(place.tensor), size)
            self.assertEqual(bytes(cache[f"k{size}"]), data[:size])
        cache.flush()
        self.assertEqual(len(cache), 6)
        self.assertEqual(bytes(cache[f"k{SIZE}"]), data)
        self.assertEqual(cache.verify()["damaged"], 0)

    def test_shape(self) -> None:
        cache = self.open()
        with cache.reserve(b"id", [2, 3], "f32") as place:
            tensor = place.tensor
            self.assertEqual((tensor.shape, tensor.dtype), ((2, 3), "f32"))
            memory = memoryview(tensor)
            self.assertEqual((memory.readonly, memory.nbytes), (False, 24))
            memory[1, 2] = 1.5
            memory.release()
            del memory, tensor
        self.assertEqual(memoryview(cache["id"])[1, 2], 1.5)

    def test_exception_cancels(self) -> None:
        cache = self.open()
        with self.assertRaises(ZeroDivisionError):
            with cache.reserve("key", (SIZE,), "u8") as place:
                raise ZeroDivisionError
        self.assertNotIn("key", cache)
        with self.assertRaisesRegex(ValueError, "^the reservation has ended$"):
            place.tensor
        with self.assertRaisesRegex(ValueError, "^the reservation has ended$"):
            place.commit()
        place.cancel()

    def test_ended_in_the_block(self) -> None:
        cache = self.open()
        with cache.reserve("key", (4,), "u8") as place:
            memoryview(place.tensor)[:] = b"abcd"
            place.commit()
        with cache.reserve("other", (4,), "u8") as place:
            place.cancel()
        with cache.reserve("key", (4,), "u8"):
            cache.delete("key")
        self.assertIn("key", cache)
        self.assertNotIn("other", cache)

    def test_left_alone(self) -> None:
        """A reservation that is not ended is cancelled with its object."""
        cache = self.open()
        for _ in range(3):
            cache.reserve("key", (SIZE,), "u8").tensor
        gc.collect()
        self.assertNotIn("key", cache)
        cache.close()
        lmdbcache.drop(self.root, "m")

    def test_kept_memory(self) -> None:
        """What is still held is copied: later writes do not reach the record."""
        cache = self.open()
        with cache.reserve("key", (SIZE,), "u8") as place:
            kept = memoryview(place.tensor)
            kept[:] = b"a" * SIZE
        kept[:] = b"b" * SIZE
        self.assertEqual(bytes(cache["key"]), b"a" * SIZE)
        cache.flush()
        for i in range(4):
            with cache.reserve(f"other {i}", (SIZE,), "u8") as other:
                memoryview(other.tensor)[:] = b"c" * SIZE
        cache.flush()
        self.assertEqual(bytes(kept), b"b" * SIZE)
        del place, other
        cache.close()
        kept[0] = 7
        self.assertEqual(kept[0], 7)

    def test_flush_does_not_wait(self) -> None:
        cache = self.open()
        with cache.reserve("key", (SIZE,), "u8") as place:
            cache.flush()
            self.assertEqual(len(cache), 0)
            memoryview(place.tensor)[:] = bytes(SIZE)
        self.assertEqual(len(cache), 1)

    def test_closed(self) -> None:
        cache = self.open()
        place = cache.reserve("key", (SIZE,), "u8")
        cache.close()
        with self.assertRaisesRegex(ValueError, "^the module is closed$"):
            place.commit()
        memoryview(place.tensor)[:] = bytes(SIZE)
        place.cancel()
        with self.assertRaisesRegex(ValueError, "^the module is closed$"):
            cache.reserve("key", (SIZE,), "u8")

    def test_refused(self) -> None:
        cache = self.open()
        with self.assertRaises(lmdbcache.InvalidError):
            cache.reserve("", (1,), "u8")
        with self.assertRaises(lmdbcache.InvalidError):
            cache.reserve("key", (1 << 31,), "u8")
        with self.assertRaisesRegex(ValueError, "at most"):
            cache.reserve("key", (1,) * 99, "u8")
        for bad in (5, ("a",), (1.5,)):
            with self.assertRaises(TypeError):
                cache.reserve("key", bad, "u8")  # type: ignore[arg-type]
        with self.assertRaises((ValueError, OverflowError)):
            cache.reserve("key", (-1,), "u8")
        with self.assertRaises(TypeError):
            lmdbcache._core.Reservation()

    def test_threads(self) -> None:
        cache = self.open(chunk_bytes=1 << 20)

        def work(number: int) -> None:
            for i in range(20):
                with cache.reserve(f"{number} {i}", (SIZE + i,), "u8") as place:
                    memoryview(place.tensor)[:] = bytes([number * 20 + i]) * (SIZE + i)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cache.flush()
        for number in range(4):
            for i in range(20):
                want = bytes([number * 20 + i]) * (SIZE + i)
                self.assertEqual(bytes(cache[f"{number} {i}"]), want)

    @unittest.skipIf(np is None, "no NumPy")
    def test_numpy(self) -> None:
        cache = self.open(like="numpy")
        want = np.arange(120_000, dtype="f4").reshape(300, 400)
        with cache.reserve("key", want.shape, want.dtype) as place:
            place.tensor[:] = want
        got = cache["key"]
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        self.assertTrue((got == want).all())

    @unittest.skipIf(torch is None, "no torch")
    def test_torch(self) -> None:
        cache = self.open(like="torch")
        want = torch.arange(120_000, dtype=torch.bfloat16).reshape(300, 400)
        with cache.reserve("key", want.shape, want.dtype) as place:
            place.tensor.copy_(want)
        self.assertTrue(torch.equal(cache["key"], want))


if __name__ == "__main__":
    unittest.main()
