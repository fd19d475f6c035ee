# SPDX-License-Identifier: BSD-2-Clause
"""A page of plots: what bench/python measured, and a stream that is stopped and resumed.

    bench/plots.py bench-results.json page.html

The page is one file of HTML that needs nothing else. The resumed stream is read while the
page is made.
"""
import html
import json
import random
import sys
import tempfile

import lmdbcache

# As in bin/report.
STYLE = """
:root{color-scheme:light dark;--ink:#1d2430;--dim:#5c6675;--line:#d8dde4;--paper:#fff;
--bar:#3a6fb0;--other:#c9781c;--peer:#a9b6c8}
@media(prefers-color-scheme:dark){:root{--ink:#e3e7ee;--dim:#9aa5b5;--line:#343c49;
--paper:#14181f;--bar:#6fa8e8;--other:#eba552;--peer:#56637a}}
body{margin:2rem auto;max-width:46rem;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;
background:var(--paper);color:var(--ink)}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}
p{margin:.3rem 0 .8rem;color:var(--dim)}
svg{width:100%;height:auto;font:12px system-ui,sans-serif}
text{fill:var(--ink)}.dim{fill:var(--dim)}.axis{stroke:var(--line)}
.own{fill:var(--bar)}.peer{fill:var(--peer)}
.run0{fill:var(--bar)}.run1{fill:var(--other)}
"""

WIDTH, LABELS, VALUES = 720, 150, 70
STEP = 24  # from bar to bar

# The package's own contenders, by the beginnings of their names.
OWN = ("Loader", "MapDataset", "block,", "full,", "gather", "cache", "view")


def shown(value):
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def text(x, y, words, kind="", anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
            f"{html.escape(words)}</text>")


def svg(height, parts, title):
    return (f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'aria-label="{html.escape(title)}">' + "\n".join(parts) + "</svg>")


def bars(rows, title):
    """Horizontal bars of (name, value), with the values at their ends."""
    most = max(value for _, value in rows)
    room, parts = WIDTH - LABELS - VALUES, []
    for i, (name, value) in enumerate(rows):
        y, width = i * STEP, max(value / most * room, 1)
        kind = "own" if name.startswith(OWN) else "peer"
        parts += [text(LABELS - 8, y + 16, name, anchor="end"),
                  f'<rect x="{LABELS}" y="{y + 3}" width="{width:.1f}" height="{STEP - 6}" '
                  f'rx="2" class="{kind}"/>',
                  text(LABELS + width + 6, y + 16, shown(value), "dim")]
    return svg(len(rows) * STEP + 4, parts, title)


def measured(rows, prefix, metric):
    """(case, [(contender, median)]) of each case whose name begins so."""
    cases = {}
    for row in rows:
        if row.get("metric") == metric and row["case"].startswith(prefix):
            cases.setdefault(row["case"], []).append((row["contender"], row["median"]))
    return cases.items()


# ---- a stream that is resumed --------------------------------------------------------


EXAMPLES, BATCH, SEED = 600, 24, 7
# Ranks of each run, and the batches it reads; None: to the end.
RUNS = ((4, 6), (2, 5), (3, 8), (1, None))


def read(cache):
    """[(run, batch, example)] of all ranks; each run goes on from the token of the last."""
    points, token = [], None
    for run, (world, batches) in enumerate(RUNS):
        ranks = [lmdbcache.reader(cache, batch=BATCH, shuffle="full", seed=SEED, rank=rank,
                                  world=world, token=token) for rank in range(world)]
        while batches is None or batches > 0:
            got = [next(rank, None) for rank in ranks]
            if None in got:
                break
            points += [(run, got[0].number, int(name))
                       for batch in got for name in batch.ids if name is not None]
            batches = None if batches is None else batches - 1
        token = ranks[0].token()
        for rank in ranks:
            rank.close()
    return points


def resumed():
    """The plot, and how often each example was read."""
    with tempfile.TemporaryDirectory() as root:
        with lmdbcache.open(root, "resume", like="buffer") as cache:
            for i in random.Random(SEED).sample(range(EXAMPLES), EXAMPLES):
                cache[f"{i:04}"] = i
            cache.flush()
            points = read(cache)
    left, top, height = 52, 40, 260
    last = max(batch for _, batch, _ in points)
    across = (WIDTH - left - 10) / (last + 1)
    parts = [f'<line x1="{left}" y1="{top + height}" x2="{WIDTH}" y2="{top + height}" '
             f'class="axis"/>',
             text(left - 8, top + 10, str(EXAMPLES), "dim", "end"),
             text(left - 8, top + height / 2, "record", "dim", "end"),
             text(left - 8, top + height, "0", "dim", "end"),
             text(left, top + height + 20, "batch 0", "dim"),
             text(WIDTH - 10, top + height + 20, f"batch {last}", "dim", "end")]
    for run, (world, _) in enumerate(RUNS):
        first = min(batch for r, batch, _ in points if r == run)
        x = left + first * across
        parts += [f'<line x1="{x:.1f}" y1="{top - 30}" x2="{x:.1f}" y2="{top + height}" '
                  f'class="axis"/>',
                  text(x + 5, top - 16, f"{world} rank{'s' if world > 1 else ''}")]
    for run, batch, example in points:
        x = left + (batch + 0.5) * across
        y = top + height - (example + 0.5) / EXAMPLES * height
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.8" class="run{run % 2}"/>')
    counts = [0] * EXAMPLES
    for _, _, example in points:
        counts[example] += 1
    return svg(top + height + 28, parts, "examples by batch"), counts


def main():
    results, page = sys.argv[1:]
    try:
        with open(results) as file:
            rows = [row for row in json.load(file) if row["bench"] == "python"]
    except FileNotFoundError:
        sys.exit(f"{results}: not there; make bench BENCH=python writes it")
    parts = ["<!DOCTYPE html><html lang=en><meta charset=utf-8>",
             '<meta name="viewport" content="width=device-width,initial-scale=1">',
             f"<title>lmdbcache in Python</title><style>{STYLE}</style>",
             "<h1>lmdbcache in Python</h1>"]
    plot, counts = resumed()
    parts += [f"<h2>A stream that is stopped and resumed</h2><p>{EXAMPLES} examples, "
              f"shuffled, in batches of {BATCH}. A line is where the run was stopped and "
              "another one, with other ranks, went on from its token. A dot is an example "
              f"that a rank was given: {counts.count(1)} examples came once, "
              f"{sum(n > 1 for n in counts)} twice, {counts.count(0)} never.</p>", plot]
    for case, found in measured(rows, "loader", "examples"):
        parts += [f"<h2>{html.escape(case.capitalize())}</h2><p>Examples a second; longer "
                  "is better. TensorDataset and index hold everything in memory.</p>",
                  bars(found, case)]
    for metric, title in (("batch, a record", "Batches of 1,000 records as one tensor"),
                          ("get of one", "One record after another")):
        for case, found in measured(rows, "", metric):
            found = sorted(((name, 1e6 / us) for name, us in found), key=lambda row: -row[1])
            parts += [f"<h2>{title}</h2><p>{html.escape(case)}: records a second; longer is "
                      "better.</p>", bars(found, title)]
    with open(page, "w") as file:
        file.write("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
