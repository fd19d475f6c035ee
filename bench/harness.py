# SPDX-License-Identifier: BSD-2-Clause
"""What harness.c is to the benches in C: rows, tables, ratios and bench-results.json.

The tables and the file look the same.
"""
import argparse
import atexit
import gc
import importlib
import json
import os
import platform
import random
import resource
import shutil
import signal
import statistics
import sys
import tempfile
import time


def arguments(about, rounds):
    """The options that every bench takes."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("-q", dest="quick", action="store_true",
                        default=bool(os.environ.get("BENCH_QUICK")),
                        help="small cases and few rounds; also by BENCH_QUICK=1")
    parser.add_argument("-c", dest="case", default="", help="part of a case's name")
    parser.add_argument("-r", dest="rounds", type=int, default=rounds)
    parser.add_argument("-o", dest="results", help="file for the results")
    return parser


def scratch():
    """A fresh directory under $BENCH_DIR that is removed when the program ends."""
    path = tempfile.mkdtemp(prefix="bench-data.", dir=os.environ.get("BENCH_DIR", "."))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return path


present, absent = [], []  # packages


def optional(name):
    """A package, or None where it is not installed or does not load."""
    try:
        package = importlib.import_module(name)
    except ImportError as error:
        other = getattr(error, "name", None)
        absent.append(name if other in (None, name) else f"{name} (for want of {other})")
    except Exception as error:  # one that does not go with another one
        absent.append(f"{name} ({error})")
    else:
        present.append(f"{name} {getattr(package, '__version__', '')}".strip())
        return package
    return None


def say_packages():
    """Which of them are there."""
    print(f"with: {', '.join(present)}")
    if absent:
        print(f"left out, not installed: {', '.join(absent)}")


def cpu_seconds():
    """CPU time of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def shown(value):
    """Three or four digits, with k or M."""
    if value >= 999500:
        return f"{value / 1e6:.2f}M"
    if value >= 9999.5:
        return f"{value / 1e3:.1f}k"
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


class Bench:
    def __init__(self, name, results):
        self.name, self.results = name, results
        self.rows = {}  # (case, contender, metric) -> (unit, runs), in their order
        self.ratios = []
        model = platform.machine()
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    model = line.split(":", 1)[1].strip()
                    break
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        system = os.uname()
        print(f"bench: {name}\nmachine: {model}, {os.cpu_count()} processors, "
              f"{memory:.0f} GiB, {system.sysname} {system.release}")

    def run(self, case, contender, metric, unit, value):
        """Add one run to a row; the row is made by its first run."""
        self.rows.setdefault((case, contender, metric), (unit, []))[1].append(value)

    def measure(self, case, contenders, metric, unit, count, rounds, after=None):
        """Time each contender's function once a round, in another order from round to
        round; the first round is not counted. A contender is a function that does
        something `count` times, or a pair of it and its own count. A value is
        microseconds of wall clock, or times a second where the unit is "1/s"; the next row
        has the same of CPU time, of all threads and of children that have ended."""
        ways = {name: way if isinstance(way, tuple) else (way, count)
                for name, way in contenders.items()}
        names = list(ways)
        for label in (metric, f"{metric}, CPU time"):
            for name in names:
                self.rows[case, name, label] = (unit, [])
        for turn in range(rounds + 1):
            for name in random.Random(turn).sample(names, len(names)):
                way, times = ways[name]
                gc.collect()
                wall, cpu = time.perf_counter(), cpu_seconds()
                way()
                cpu, wall = cpu_seconds() - cpu, time.perf_counter() - wall
                if after is not None:
                    after(name)
                for label, spent in ((metric, wall), (f"{metric}, CPU time", cpu)):
                    value = times / max(spent, 1e-9) if unit == "1/s" else spent * 1e6 / times
                    if turn > 0:
                        self.run(case, name, label, unit, value)

    def median(self, case, contender, metric):
        """The median of a row's runs, None if there is no such row."""
        row = self.rows.get((case, contender, metric))
        return None if row is None else statistics.median(row[1])

    def print(self, case):
        """A case's rows: a line a metric, a column a contender."""
        columns = list(dict.fromkeys(c for k, c, _ in self.rows if k == case))
        metrics = list(dict.fromkeys(m for k, _, m in self.rows if k == case))
        lines = [(case, columns)]
        for metric in metrics:
            cells, unit = [], ""
            for name in columns:
                row = self.rows.get((case, name, metric))
                if row is None:
                    cells.append("-")
                    continue
                unit, runs = row
                cells.append(shown(statistics.median(runs)) + (
                    f" ({shown(min(runs))}..{shown(max(runs))})" if len(runs) > 1 else ""))
            lines.append((f"{metric} [{unit}]", cells))
        width = 2 + max(len(cell) for _, cells in lines for cell in cells)
        print()
        for label, cells in lines:
            print(f"{label:<44}" + "".join(f"{cell:>{width}}" for cell in cells))
        sys.stdout.flush()

    def ratio(self, value, sense, target, text):
        """State a ratio, or a number that has an aim; None, of what was not measured, is
        left out."""
        if value is not None:
            self.ratios.append((text, value, sense, target))

    def over(self, case, metric, one, other):
        """The median of one contender over that of another, None without both."""
        a, b = self.median(case, one, metric), self.median(case, other, metric)
        return None if a is None or b is None else a / b

    def finish(self):
        """Print the ratios and write the results."""
        reached = 0
        print(f"\n{'ratio':<86} {'value':>8}    {'target':<8}")
        for text, value, sense, target in self.ratios:
            good = value >= target if sense == ">=" else value <= target
            reached += good
            print(f"{text:<86} {value:8.3g} {sense} {target:<6.3g} "
                  f"{'reached' if good else 'NOT reached'}")
        print(f"{reached} of {len(self.ratios)} reached")
        if self.results:
            self._write()

    def _write(self):
        # An object a line; those of other benches stay.
        lines = []
        if os.path.exists(self.results):
            with open(self.results) as file:
                for line in file:
                    line = line.strip().rstrip(",")
                    if line not in ("[", "]", "") and json.loads(line)["bench"] != self.name:
                        lines.append(line)
        for (case, contender, metric), (unit, runs) in self.rows.items():
            lines.append(json.dumps({
                "bench": self.name, "case": case, "contender": contender, "metric": metric,
                "unit": unit, "median": digits(statistics.median(runs)),
                "min": digits(min(runs)), "max": digits(max(runs)), "runs": len(runs)}))
        for text, value, sense, target in self.ratios:
            lines.append(json.dumps({"bench": self.name, "ratio": text,
                                     "value": digits(value), "sense": sense,
                                     "target": target}))
        new = f"{self.results}.new"
        with open(new, "w") as file:
            file.write("[\n" + ",\n".join(lines) + "\n]\n")
        os.replace(new, self.results)


def digits(value):
    """Six digits say more than any measurement here is good for."""
    return float(f"{value:.6g}")
