# SPDX-License-Identifier: BSD-2-Clause
"""compute(): what is missing is made by a function, once."""

import signal
import tempfile
import threading
import unittest
from typing import Any, Dict, List, Union

import lmdbcache

Ids = List[Union[str, bytes]]


class Interrupted(Exception):
    pass


class Compute(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory(prefix="lmdbcache-test.")
        self.addCleanup(place.cleanup)
        self.root = place.name
        self.asked: List[Ids] = []

    def open(self, **options: Any) -> lmdbcache.Cache:
        cache = lmdbcache.open(self.root, "m", like="buffer", **options)
        self.addCleanup(cache.discard)
        return cache

    def lengths(self, missing: Ids) -> List[Any]:
        self.asked.append(missing)
        return [{"id": id, "n": len(id)} for id in missing]

    def test_missing_ones_are_made(self) -> None:
        cache = self.open()
        cache["b"] = "stored"
        self.assertEqual(
            cache.compute(["a", "b", b"\xff!", "a"], self.lengths),
            [{"id": "a", "n": 1}, "stored", {"id": b"\xff!", "n": 2}, {"id": "a", "n": 1}],
        )
        self.assertEqual(self.asked, [["a", b"\xff!"]])
        self.assertEqual(cache.compute(("b", "a"), self.lengths), ["stored", cache["a"]])
        self.assertEqual(cache.compute([], self.lengths), [])
        self.assertEqual(len(self.asked), 1)
        cache.close()
        self.assertEqual(self.open(readonly=True)["a"], {"id": "a", "n": 1})

    def test_failures(self) -> None:
        cache = self.open()

        def fails(missing: Ids) -> List[Any]:
            raise KeyError("from the function")

        with self.assertRaisesRegex(KeyError, "from the function"):
            cache.compute(["a", "b"], fails)
        with self.assertRaisesRegex(ValueError, "returned 1 values for 2 cache_ids"):
            cache.compute(["a", "b"], lambda missing: [1])
        with self.assertRaises(TypeError):
            cache.compute(["a", "b"], lambda missing: None)  # type: ignore
        with self.assertRaisesRegex(TypeError, "object"):
            cache.compute(["a", "b"], lambda missing: [1, object()])
        with self.assertRaises(lmdbcache.InvalidError):
            cache.compute(["a", ""], self.lengths)
        cache.discard()
        with self.assertRaisesRegex(ValueError, "closed"):
            cache.compute(["a"], self.lengths)
        self.assertEqual(cache.closed, True)

    def test_the_function_uses_the_cache(self) -> None:
        cache = self.open()

        def sums(missing: Ids) -> List[Any]:
            parts = cache.compute([f"{str(id)}/part" for id in missing], self.lengths)
            cache["seen"] = len(missing)
            return [part["n"] for part in parts]

        self.assertEqual(cache.compute(["a", "bc"], sums), [6, 7])
        self.assertEqual(cache["seen"], 2)
        self.assertEqual(self.asked, [["a/part", "bc/part"]])

    def test_once_for_all_threads(self) -> None:
        cache = self.open()
        ids = [f"{i:04}" for i in range(300)]
        counts: Dict[Any, int] = {}
        lock = threading.Lock()
        wrong: List[Any] = []

        def count(missing: Ids) -> List[Any]:
            with lock:
                for id in missing:
                    counts[id] = counts.get(id, 0) + 1
            return [str(id) * 2 for id in missing]

        def ask(first: int) -> None:
            for at in range(0, len(ids), 10):
                some = ids[(at + first) % len(ids):][:30]
                if cache.compute(some, count) != [id * 2 for id in some]:
                    wrong.append(some)

        threads = [threading.Thread(target=ask, args=(7 * i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(set(counts.values()), {1})
        self.assertEqual(len(counts), 300)

    def waited_for(self, cache: lmdbcache.Cache) -> "tuple[threading.Event, threading.Thread]":
        """A thread computes "a" until the event is set."""
        entered, go_on = threading.Event(), threading.Event()

        def slow(missing: Ids) -> List[Any]:
            entered.set()
            go_on.wait()
            return ["slow"]

        thread = threading.Thread(target=lambda: cache.compute(["a"], slow))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(go_on.set)
        entered.wait()
        return go_on, thread

    def test_awaiting_ends_with_a_signal(self) -> None:
        cache = self.open()
        go_on, thread = self.waited_for(cache)

        def interrupt(*_: object) -> None:
            raise Interrupted

        old = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with self.assertRaises(Interrupted):
            cache.compute(["b", "a"], self.lengths)
        go_on.set()
        thread.join()
        self.assertEqual(cache.compute(["b", "a"], self.lengths), [{"id": "b", "n": 1}, "slow"])
        self.assertEqual(self.asked, [["b"]])

    def test_awaiting_has_a_limit(self) -> None:
        cache = self.open(timeout=0.01)
        self.waited_for(cache)
        with self.assertRaisesRegex(lmdbcache.WaitTimeout, "compute: not done after 10 ms"):
            cache.compute(["a"], self.lengths)
        self.assertEqual(self.asked, [])


if __name__ == "__main__":
    unittest.main()
