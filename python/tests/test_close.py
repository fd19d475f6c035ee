# SPDX-License-Identifier: BSD-2-Clause
"""Ctrl-C, time limits, close() beside other threads, cycles: no call is deaf, nothing is lost."""

import array
import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref
from typing import Any, Callable, List

import lmdbcache

SEED = int(os.environ.get("T_SEED") or random.randrange(1 << 32))


def floats(*values: float) -> "array.array[float]":
    return array.array("f", values)


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory(prefix="lmdbcache-test.")
        self.addCleanup(place.cleanup)
        self.root = place.name

    def open(self, module: str = "m", **options: Any) -> lmdbcache.Cache:
        cache = lmdbcache.open(self.root, module, like="buffer", **options)
        self.addCleanup(cache.close)
        return cache

    def start(self, text: str, *args: str) -> "subprocess.Popen[str]":
        """Another interpreter, which prints what it has done."""
        child = subprocess.Popen(
            [sys.executable, "-c", text, self.root, *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def line(self, child: "subprocess.Popen[str]") -> str:
        assert child.stdout is not None
        return child.stdout.readline().strip()


BUSY = """if 1:
    import array, os, sys, lmdbcache
    root, what = sys.argv[1:]
    cache = lmdbcache.open(root, "m", like="buffer", flush_every=16, chunk_bytes=1 << 16)
    ids = [f"{i:06}" for i in range(20000)]
    row = array.array("f", [1] * 64)
    rows = memoryview(array.array("f", [1] * 64 * 20000)).cast("B").cast("f", (20000, 64))
    few = memoryview(array.array("f", [2] * 64 * 50)).cast("B").cast("f", (50, 64))
    print("ready", flush=True)
    turn = 0
    try:
        while True:
            if what == "put":
                cache[f"own{turn}"] = row
                if turn % 100 == 99:
                    cache.flush()
                    print(turn + 1, flush=True)
                turn += 1
            elif what == "put_many":
                cache.put_many(ids, rows)
            elif what == "put_list":
                cache.put_many(ids, [row] * len(ids))
            elif what == "gather":
                cache.gather(ids * 20)
            elif what == "source":
                source = lmdbcache.source(cache, like="buffer")
                source.gather(list(range(20000)) * 20, threads=1 + turn % 2)
                source.find(ids)
                source.close()
                turn += 1
            elif what == "missing":
                cache.missing(ids * 50)
            elif what == "keys":
                for _ in range(50):
                    list(cache.keys())
            elif what == "verify":
                cache.verify()
            elif what == "compact":
                cache.put_many(ids[:50], few)
                cache.compact(1)
            elif what == "backup":
                # An interrupted one continues until close().
                cache.backup(f"{root}/copy{turn}")
                turn += 1
            elif what == "len":
                cache["x"] = turn
                turn += 1
                len(cache)
            elif what == "open":
                lmdbcache.open(root, "m", like="buffer").close()
    except KeyboardInterrupt:
        cache["after"] = 1
        cache.close()
        print("interrupted", flush=True)
"""


class Interrupted(Case):
    KINDS = ("put put_many put_list gather source missing keys verify compact backup len "
             "open").split()

    def test_at_random_moments(self) -> None:
        """SIGINT ends each kind of call; the handle still works, and flushed data is there."""
        print(f"# T_SEED={SEED}", file=sys.stderr)
        rng = random.Random(SEED)
        with self.open() as cache:
            cache.put_many([f"{i:06}" for i in range(20000)],
                           memoryview(bytes(256 * 20000)).cast("f", (20000, 64)))
        for kind in self.KINDS:
            for _ in range(5 if os.environ.get("T_SLOW") else 1):
                with self.subTest(kind):
                    child = self.start(BUSY, kind)
                    self.assertEqual(self.line(child), "ready")
                    time.sleep(rng.random() * 0.3)
                    child.send_signal(signal.SIGINT)
                    out, err = child.communicate(timeout=60)
                    self.assertEqual((child.returncode, err), (0, ""))
                    *done, last = out.split()
                    self.assertEqual(last, "interrupted")
                    with lmdbcache.open(self.root, "m", like="buffer") as cache:
                        self.assertEqual(cache["after"], 1)
                        cache.delete("after")
                        if done:
                            own = [f"own{i}" for i in range(int(done[-1]))]
                            self.assertEqual(cache.missing(own), [])
                        cache.verify()


# Another process that commits again and again, to be stopped in the middle.
COMMITS = """if 1:
    import array, sys, lmdbcache
    cache = lmdbcache.open(sys.argv[1], "m", like="buffer")
    block = array.array("B", bytes(1 << 20))
    print("ready", flush=True)
    while True:
        cache["block"] = block
        cache.flush()
"""


class Waits(Case):
    def stop_in_commit(self, waiter: lmdbcache.Cache) -> "subprocess.Popen[str]":
        """A process stopped while it has the lock of writers, as a flush here tells."""
        child = self.start(COMMITS)
        self.assertEqual(self.line(child), "ready")
        self.addCleanup(child.send_signal, signal.SIGCONT)
        waiter.timeout = 1
        for turn in range(1000):
            child.send_signal(signal.SIGSTOP)
            waiter["turn"] = turn
            try:
                waiter.flush()
            except lmdbcache.WaitTimeout as error:
                self.assertIsInstance(error, TimeoutError)
                self.assertEqual(error.status, "timed out")
                self.assertEqual(str(error), "flush: not done after 1000 ms; nothing is "
                                 "lost: call again")
                return child
            child.send_signal(signal.SIGCONT)
        self.skipTest("no commit was hit in 1000 tries")

    def test_behind_a_stopped_process(self) -> None:
        cache = self.open(flush_every=4, flush_interval_ms=0)
        child = self.stop_in_commit(cache)
        cache.timeout = 0.15
        self.assertEqual(cache.timeout, 0.15)
        put: List[str] = []
        with self.assertRaises(lmdbcache.WaitTimeout):
            for i in range(100):
                cache[f"p{i}"] = floats(i)
                put.append(f"p{i}")
        self.assertLess(len(put), 12)
        calls: List[Callable[[], object]] = [
            cache.flush, lambda: len(cache), cache.keys, lambda: cache.delete("turn"),
            cache.close, lambda: cache.put_many(["a"] * 20, memoryview(floats(*range(20)))),
            lambda: cache.put_many(["a"] * 20, [1] * 20),
        ]
        for call in calls:
            with self.assertRaises(lmdbcache.WaitTimeout):
                call()
        self.assertFalse(cache.closed)
        self.assertEqual(cache.missing(put), [])
        cache.timeout = None
        self.assertIsNone(cache.timeout)
        calls += [cache.compact, cache.verify, lambda: cache.backup(self.root + "/copy")]
        for call in calls:
            self.interrupt(call)
        self.assertFalse(cache.closed)
        child.send_signal(signal.SIGCONT)
        child.kill()
        cache.close()
        with self.open() as cache:
            self.assertEqual(cache.missing(put), [])
            self.assertEqual([bytes(cache[p]) for p in put],
                             [bytes(floats(i)) for i in range(len(put))])

    def interrupt(self, call: Callable[[], object]) -> None:
        """A signal ends a call that would wait for ever."""
        raised = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
        raised.start()
        with self.assertRaises(KeyboardInterrupt):
            call()
        raised.join()

    def test_a_handler_that_closes(self) -> None:
        """In a wait a handler may close the handle; in the middle of work it gets an error."""
        cache = self.open(flush_every=4, flush_interval_ms=0)
        child = self.stop_in_commit(cache)
        cache.timeout = None

        def close(number: int, frame: Any) -> None:
            child.send_signal(signal.SIGCONT)
            child.kill()
            cache.close()

        before = signal.signal(signal.SIGUSR1, close)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        raised = threading.Timer(0.05, signal.raise_signal, [signal.SIGUSR1])
        raised.start()
        with self.assertRaisesRegex(ValueError, "closed during the call"):
            cache.flush()
        self.assertTrue(cache.closed)
        raised.join()

        def close_other(number: int, frame: Any) -> None:
            again.close()

        again = self.open()
        child = self.stop_in_commit(again)
        again.timeout = None
        signal.signal(signal.SIGUSR1, close_other)
        raised = threading.Timer(0.05, signal.raise_signal, [signal.SIGUSR1])
        raised.start()
        with self.assertRaisesRegex(RuntimeError, "in the middle of a call"):
            again.verify()
        self.assertFalse(again.closed)
        raised.join()
        child.send_signal(signal.SIGCONT)
        child.kill()

    def test_a_function_that_closes(self) -> None:
        cache = self.open()

        def close(ids: Any) -> Any:
            cache.close()

        with self.assertRaisesRegex(RuntimeError, "in the middle of a call"):
            cache.compute(["a"], close)
        self.assertEqual(cache.compute(["a"], lambda ids: [1]), [1])

    def test_limits(self) -> None:
        cache = self.open(timeout=2.5)
        self.assertEqual(cache.timeout, 2.5)
        for bad, error in [(-1, ValueError), (float("nan"), ValueError), ("1", TypeError)]:
            with self.assertRaises(error):
                cache.timeout = bad  # type: ignore[assignment]
            with self.assertRaises(error):
                self.open("n", timeout=bad)
        with self.assertRaises(TypeError):
            del cache.timeout
        cache.close()
        with self.assertRaises(ValueError):
            cache.timeout = 1


class Threads(Case):
    def test_close_awaits_calls(self) -> None:
        """Running calls finish, all later ones raise, and close() is not starved."""
        for _ in range(10):
            cache = lmdbcache.open(self.root, "m", like="buffer")
            cache.put_many([str(i) for i in range(1000)], [floats(i) for i in range(1000)])
            failures: List[BaseException] = []
            told: List[str] = []
            begun = threading.Barrier(9)

            def work(call: Callable[[], object]) -> None:
                begun.wait()
                try:
                    while True:
                        call()
                except ValueError as error:
                    told.append(str(error))
                except BaseException as error:
                    failures.append(error)

            ids = [str(i) for i in range(1000)]
            calls: List[Callable[[], object]] = [
                lambda: cache["7"], lambda: cache.gather(ids), lambda: list(cache.keys()),
                lambda: cache.put("x", 1), cache.flush, cache.verify, lambda: len(cache),
                lambda: cache.view("5"),
            ]
            threads = [threading.Thread(target=work, args=(call,)) for call in calls]
            for thread in threads:
                thread.start()
            begun.wait()
            cache.close()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            self.assertEqual(set(told), {"the module is closed"})

    def test_many_close(self) -> None:
        for turn in range(20):
            cache = lmdbcache.open(self.root, "m", like="buffer")
            cache["turn"] = turn
            threads = [threading.Thread(target=cache.close) for _ in range(4)]
            for thread in threads:
                thread.start()
            cache.close()
            self.assertTrue(cache.closed)
            for thread in threads:
                thread.join()
            with lmdbcache.open(self.root, "m", like="buffer") as cache:
                self.assertEqual(cache["turn"], turn)

    def test_a_reader_goes_on(self) -> None:
        cache = self.open()
        cache.put_many(["a", "b"], [floats(1), floats(2)])
        for views in False, True:
            reader = lmdbcache.reader(cache, batch=1, views=views)
            self.assertEqual(next(reader).ids, ["a"])
            if views:
                cache.close()
                del cache
            self.assertEqual([b.ids for b in reader], [["b"]])


class Collected(Case):
    def test_every_order(self) -> None:
        """Handles, views, iterators, readers and batches, released in each order."""
        names = "cache view keys reader batch field".split()
        for order in itertools.permutations(range(len(names))):
            cache = lmdbcache.open(self.root, "m", like="buffer")
            if "a" not in cache:
                cache["a"] = floats(1, 2, 3)
                cache.flush()
            view = cache.view("a")
            reader = lmdbcache.reader(cache, batch=1, threads=0)
            batch = next(reader)
            objects: List[Any] = [
                cache, memoryview(view), cache.keys(), reader, batch, batch.fields("buffer")["."]
            ]
            del cache, view, reader, batch
            for i in order:
                objects[i] = None
                for alive in objects[1], objects[5]:
                    if alive is not None:
                        self.assertEqual(bytes(alive), bytes(floats(1, 2, 3)))

    def test_cycles(self) -> None:
        """Whatever holds what, the collector finds it."""
        def kinds(cache: lmdbcache.Cache) -> List[Any]:
            reader = lmdbcache.reader(cache, batch=1, threads=0)
            batch = next(reader)
            data = batch.fields("buffer")["."]
            return [
                cache, cache.view("a"), cache.keys(), reader, batch, data, memoryview(data),
                data.bits(), {"view": [cache.view("a")]},
            ]

        for i in range(9):
            cache = lmdbcache.open(self.root, "m", like="buffer")
            cache["a"] = floats(1)
            gone = weakref.ref(cache)
            gc.collect()
            gc.disable()
            try:
                cache.held = kinds(cache)[i]  # type: ignore[attr-defined]
                del cache
                gc.collect()
                self.assertIsNone(gone(), i)
            finally:
                gc.enable()

    def test_tensors_without_cycles_are_no_work(self) -> None:
        cache = self.open()
        cache["a"] = floats(1)
        self.assertFalse(gc.is_tracked(cache["a"]))
        self.assertFalse(gc.is_tracked(cache.view("a")))


if __name__ == "__main__":
    unittest.main()
