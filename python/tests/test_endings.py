# SPDX-License-Identifier: BSD-2-Clause
"""What remains of a process: forked, killed, at its end, with a full disk."""

import array
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, List

import lmdbcache

SEED = int(os.environ.get("T_SEED") or random.randrange(1 << 32))
sanitized = "libasan" in os.environ.get("LD_PRELOAD", "")


def floats(*values: float) -> "array.array[float]":
    return array.array("f", values)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory(prefix="lmdbcache-test.")
        self.addCleanup(place.cleanup)
        self.root = place.name

    def open(self, module: str = "m", **options: Any) -> lmdbcache.Cache:
        cache = lmdbcache.open(self.root, module, like="buffer", **options)
        self.addCleanup(cache.close)
        return cache


@unittest.skipIf(sanitized, "a lock of the sanitizer's that another thread holds stays held")
class Forks(Case):
    def test_hundred_under_writing_threads(self) -> None:
        """Children use what threads of the parent write to, or only end; no put is lost."""
        cache = self.open(flush_every=64)
        stop = threading.Event()
        counts = [0, 0]

        def write(n: int) -> None:
            while not stop.is_set():
                cache[f"w{n}-{counts[n]}"] = floats(n, counts[n])
                counts[n] += 1
                if counts[n] % 100 == 0:
                    cache.flush()
                    cache.gather([f"w{n}-{i}" for i in range(counts[n] - 50, counts[n])])
                    list(zip(cache.keys(), range(10)))

        def child(turn: int) -> None:
            if turn % 4 == 0:
                os._exit(0)
            cache[f"child{turn}"] = floats(turn)
            if turn % 4 == 1:
                cache.close()
            elif turn % 4 == 2:
                cache.flush()
            else:
                assert bytes(cache[f"child{turn}"]) == bytes(floats(turn))
                cache.discard()

        threads = [threading.Thread(target=write, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        turns = 100
        try:
            for turn in range(turns):
                pid = os.fork()
                if pid == 0:
                    status = 1
                    try:
                        child(turn)
                        status = 0
                    except BaseException as error:
                        print("child:", repr(error), file=sys.stderr, flush=True)
                    finally:
                        os._exit(status)
                self.assertEqual(os.waitpid(pid, 0)[1], 0, turn)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        cache.close()
        with self.open() as cache:
            for n in range(2):
                ids = [f"w{n}-{i}" for i in range(counts[n])]
                block, missing = cache.gather(ids)
                self.assertEqual(missing, [])
                self.assertEqual(memoryview(block).tolist(), [[n, i] for i in range(counts[n])])
            self.assertEqual(sorted(cache.keys("child")), sorted(
                f"child{turn}" for turn in range(turns) if turn % 4 in (1, 2)))
            cache.verify()

    def test_fork_while_others_close(self) -> None:
        """A handle that a thread of the parent is closing is closed in the child."""
        for _ in range(20):
            cache = self.open()
            cache["a"] = floats(1)
            thread = threading.Thread(target=cache.close)
            thread.start()
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    try:
                        cache["b"] = 1
                        cache.flush()
                    except ValueError:
                        pass
                    cache.close()
                    status = 0
                finally:
                    os._exit(status)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            thread.join()
        with self.open() as cache:
            self.assertIn("a", cache)


WRITER = """if 1:
    import array, sys, lmdbcache
    cache = lmdbcache.open(sys.argv[1], "m", like="buffer", flush_every=int(sys.argv[3]))
    turn = 0
    while True:
        name = f"{sys.argv[2]}-{turn}"
        cache[name] = array.array("f", [turn] * 100)
        if turn % 7 == 0:
            cache.put_many([f"{name}a", f"{name}b"], memoryview(array.array("f", [turn, turn])))
        turn += 1
        if turn % 20 == 0:
            cache.flush()
            print(turn, flush=True)
"""


class Killed(Case):
    def test_acknowledged_puts_are_found(self) -> None:
        print(f"# T_SEED={SEED}", file=sys.stderr)
        rng = random.Random(SEED)
        for run in range(100 if os.environ.get("T_SLOW") else 10):
            every = rng.choice([1, 64, 2048])
            child = subprocess.Popen(
                [sys.executable, "-c", WRITER, self.root, str(run), str(every)],
                stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(rng.random() * 0.2)
            child.kill()
            done = int((first + child.communicate()[0]).split()[-1])
            with self.subTest(run, every=every, done=done), self.open() as cache:
                ids = [f"{run}-{i}" for i in range(done)]
                block, missing = cache.gather(ids)
                self.assertEqual(missing, [])
                self.assertEqual(memoryview(block).tolist(), [[i] * 100 for i in range(done)])
                pairs = [f"{run}-{i}{c}" for i in range(0, done, 7) for c in "ab"]
                self.assertEqual(cache.missing(pairs), [])
                cache.verify()


class Exits(Case):
    def end(self, body: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", f"""if 1:
                import array, resource, signal, sys, lmdbcache
                cache = lmdbcache.open(sys.argv[1], "m", like="buffer", flush_interval_ms=0)
                {body}
                """, self.root], capture_output=True, text=True, timeout=300)

    def test_a_full_disk_is_said(self) -> None:
        with self.open() as cache:
            cache["kept"] = 1
        full = self.end("""
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, resource.RLIM_INFINITY))
                cache["lost"] = array.array("B", bytes(1 << 20))""")
        self.assertEqual(full.returncode, 0)
        line, = full.stderr.splitlines()
        self.assertTrue(line.startswith(
            f"lmdbcache: at exit: <closed lmdbcache.Cache {self.root}/m>: "), line)
        self.assertIn("File too large", line)
        with self.open() as cache:
            self.assertEqual(list(cache), ["kept"])
            cache.verify()

    def test_a_module_that_went(self) -> None:
        """Whatever fails, one line says it, and other handles are closed all the same."""
        done = self.end("""
                other = lmdbcache.open(sys.argv[1], "n", like="buffer", flush_interval_ms=0)
                other["b"] = cache["a"] = 1
                sys.stderr.write("first\\n")""")
        self.assertEqual((done.returncode, done.stderr), (0, "first\n"))
        with self.open() as cache, self.open("n") as other:
            self.assertEqual((cache["a"], other["b"]), (1, 1))

    def test_interrupted_exit(self) -> None:
        """SIGINT during the last flush: the end of the process commits all the same."""
        done = self.end("""
                import atexit, threading
                cache["a"] = 1
                @atexit.register
                def interrupt():
                    signal.raise_signal(signal.SIGINT)""")
        self.assertIn("KeyboardInterrupt", done.stderr)
        with self.open() as cache:
            self.assertEqual(cache["a"], 1)

    def test_threads_at_the_end(self) -> None:
        """A daemon thread keeps putting while the interpreter ends."""
        for _ in range(3):
            done = self.end("""
                import threading
                started = threading.Event()
                def work():
                    turn = 0
                    while True:
                        try:
                            cache[str(turn % 1000)] = array.array("f", [turn])
                            cache.view(str(turn % 1000))
                        except ValueError:
                            return
                        turn += 1
                        if turn > 100:
                            started.set()
                for _ in range(3):
                    threading.Thread(target=work, daemon=True).start()
                started.wait()""")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        with self.open() as cache:
            self.assertGreater(len(cache), 90)
            cache.verify()


if __name__ == "__main__":
    unittest.main()
