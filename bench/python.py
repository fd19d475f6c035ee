# SPDX-License-Identifier: BSD-2-Clause
"""The Python package beside the engine in C, tensors in memory, and other packages.

bench/python runs it, which `make bench` makes. It needs torch; py-lmdb, safetensors and
torchcachex are left out where they are not installed.
"""
import ctypes
import itertools
import os
import pickle
import random
import shutil
import sys

import harness

try:
    import numpy
    import torch
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset
except ImportError as error:
    print(f"bench: python: {error.name} is not installed; nothing is measured")
    sys.exit(0)

import lmdbcache
import lmdbcache.torch


harness.present += [f"torch {torch.__version__}", f"numpy {numpy.__version__}"]
lmdb = harness.optional("lmdb")
safetensors = harness.optional("safetensors")
torchcachex = harness.optional("torchcachex")

ROW = 512  # f32: 2 KiB
US = "us"


def present_only(**contenders):
    """Those that can be measured, by names with spaces."""
    return {name.replace("_", " "): function
            for name, function in contenders.items() if function is not None}


# ---- the engine in C ---------------------------------------------------------------------


class Id(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class C:
    """A module by the public functions of the shared library. It is not the library that
    the package has inside, so a module open there has to be opened here as a copy."""

    library = None

    def __init__(self, root, module):
        self.handle = ctypes.c_void_p()
        self.call("lc_open", os.fsencode(root), module.encode(), None,
                  ctypes.byref(self.handle))

    def call(self, name, *args):
        if getattr(self.library, name)(*args) != 0:
            sys.exit(f"bench: python: {name} failed")

    def close(self):
        self.call("lc_close", self.handle)

    def gather(self, ids, out):
        """A function that gathers records into a tensor; the ids are prepared here."""
        n, array = len(ids), c_ids(ids)
        row = ctypes.create_string_buffer(512)  # a lc_tensor
        self.call("lc_gather_row", self.handle, n, array, None, row)

        def run(memory=None):
            memory = out if memory is None else memory
            self.call("lc_gather", self.handle, ctypes.c_size_t(n), array, None, row,
                      ctypes.c_void_p(memory.data_ptr()), ctypes.c_size_t(memory.nbytes),
                      1, None, None)
        return run

    def missing(self, ids):
        n, array = len(ids), c_ids(ids)
        positions, found = (ctypes.c_size_t * n)(), ctypes.c_size_t()
        return lambda: self.call("lc_contains_batch", self.handle, ctypes.c_size_t(n), array,
                                 positions, ctypes.byref(found))


def c_ids(ids):
    encoded = [key.encode() for key in ids]
    return (Id * len(ids))(*((key, len(key)) for key in encoded))


# ---- modules and their like ----------------------------------------------------------------


def keys(n, start=0):
    return [f"sample-{i:09}" for i in range(start, start + n)]


def fill(cache, names, block, step=10000):
    """Store the rows of a block, or its only one under every name."""
    for at in range(0, len(names), step):
        part = names[at:at + step]
        rows = block[at:at + step] if len(block) > 1 else block.expand(len(part), -1)
        cache.put_many(part, rows)
    cache.flush()


def reference(root):
    """A store of torchcachex that reads from its files: an LRU of 0 keeps everything."""
    return torchcachex.ArrowIPCCacheBackend(str(root), "m", lru_size=1, async_write=False,
                                            flush_every=10**9)


def lmdb_store(path):
    return lmdb.open(path, map_size=1 << 36, subdir=False, sync=True, readahead=False)


def each(function, items, times):
    """Calls of a function, as one."""
    items = list(itertools.islice(itertools.cycle(items), times))

    def run():
        for item in items:
            function(item)
    return run


# ---- batches, one, maps ----------------------------------------------------------------------


def batches(bench, root, args):
    """1,000 hot records of 2 KiB as one tensor [1000, 512]."""
    case, n = "1,000 x f32[512], hot", 1000
    names, data = keys(n), torch.randn(n, ROW)
    cache = lmdbcache.open(root, "hot", like="torch")
    fill(cache, names, data)
    random.Random(1).shuffle(names)
    expected = data[[int(name[7:]) for name in names]]
    memory = {name: row.clone() for name, row in zip(keys(n), data)}
    tensors = [memory[name] for name in names]
    out = torch.empty(n, ROW)

    in_c = c_new = None
    if C.library is not None:
        cache.backup(f"{root}/copy")
        store = C(f"{root}/copy", "hot")
        in_c = store.gather(names, out)
        c_new = lambda: in_c(torch.empty(n, ROW))
        in_c()
        assert torch.equal(out, expected)

    from_lmdb = None
    if lmdb:
        env = lmdb_store(f"{root}/hot.lmdb")
        with env.begin(write=True) as txn:
            for name, tensor in memory.items():
                txn.put(name.encode(), tensor.numpy().tobytes())
        encoded = [name.encode() for name in names]

        def from_lmdb():
            block = torch.empty(n, ROW)
            rows = block.numpy()
            with env.begin(buffers=True) as txn:
                for i, key in enumerate(encoded):
                    rows[i] = numpy.frombuffer(txn.get(key), numpy.float32)
            return block

    from_file = None
    if safetensors:
        from safetensors.torch import safe_open, save_file
        save_file(memory, f"{root}/hot.safetensors")
        file = safe_open(f"{root}/hot.safetensors", "pt")
        from_file = lambda: torch.stack([file.get_tensor(name) for name in names])

    from_reference = None
    if torchcachex:
        backend = reference(f"{root}/hot.reference")
        backend.put_batch(memory)
        backend.flush()
        from_reference = lambda: torch.stack(backend.get_batch(names)[0])

    ways = present_only(
        C_new_memory=c_new, C=in_c,
        gather=lambda: cache.gather(names)[0],
        gather_out=lambda: cache.gather(names, out=out),
        torch_stack=lambda: torch.stack(tensors),
        dict_stack=lambda: torch.stack([memory[name] for name in names]),
        py_lmdb=from_lmdb, safetensors=from_file, torchcachex=from_reference)
    for name in ("gather", "py lmdb", "safetensors", "torchcachex"):
        if name in ways:
            assert torch.equal(ways[name](), expected), name
    metric = "batch, a record"
    repeat = 1 if args.quick else 5
    bench.measure(case, {name: each(lambda _, way=way: way(), [None], repeat)
                         for name, way in ways.items()},
                  metric, US, n * repeat, args.rounds)
    bench.print(case)
    bench.ratio(bench.over(case, metric, "gather", "C new memory"), "<=", 1.5,
                "gather of 1,000 x 2 KiB over C into new memory")
    bench.ratio(bench.over(case, metric, "gather out", "C"), "<=", 1.5,
                "gather(out=) of 1,000 x 2 KiB over C into the same memory")
    bench.ratio(bench.over(case, metric, "gather", "torch stack"), "<=", 1,
                "gather of 1,000 x 2 KiB over torch.stack of tensors in memory")
    if in_c is not None:
        store.close()
    cache.close()


def ones(bench, root, args):
    """A get and a put of one record of 2 KiB as a torch tensor."""
    case, n = "f32[512], one by one", 1000
    times = 2000 if args.quick else 20000
    names, data = keys(n), torch.randn(n, ROW)
    cache = lmdbcache.open(root, "one", like="torch", flush_interval_ms=0,
                           flush_every=10 * n, chunk_bytes=64 << 20)
    fill(cache, names, data)
    memory = dict(zip(names, [row.clone() for row in data]))
    random.Random(2).shuffle(names)

    from_lmdb = from_file = from_reference = None
    put_lmdb = put_reference = None
    if lmdb:
        env = lmdb_store(f"{root}/one.lmdb")
        with env.begin(write=True) as txn:
            for name, tensor in memory.items():
                txn.put(name.encode(), tensor.numpy().tobytes())

        def get_lmdb(name):
            with env.begin() as txn:
                return torch.frombuffer(bytearray(txn.get(name.encode())),
                                        dtype=torch.float32)

        def put_lmdb():
            txn = env.begin(write=True)
            for name, tensor in memory.items():
                txn.put(name.encode(), tensor.numpy().tobytes())
            txn.abort()
        assert torch.equal(get_lmdb(names[0]), memory[names[0]])
        from_lmdb = each(get_lmdb, names, times)
    if safetensors:
        from safetensors.torch import safe_open, save_file
        save_file(memory, f"{root}/one.safetensors")
        from_file = each(safe_open(f"{root}/one.safetensors", "pt").get_tensor, names, times)
    if torchcachex:
        backend = reference(f"{root}/one.reference")
        backend.put_batch(memory)
        backend.flush()
        other = reference(f"{root}/put.reference")
        few = times // 100
        from_reference = each(lambda name: backend.get_batch([name])[0][0], names, few), few

        def put_reference():
            for name, tensor in memory.items():
                other.put_batch({name: tensor})
            other._pending.clear()
    gets = present_only(
        cache=each(cache.__getitem__, names, times), view=each(cache.view, names, times),
        dict_clone=each(lambda name: memory[name].clone(), names, times),
        py_lmdb=from_lmdb, safetensors=from_file, torchcachex=from_reference)
    metric = "get of one"
    bench.measure(case, gets, metric, US, times, args.rounds)

    def put_cache():
        for name, tensor in memory.items():
            cache[name] = tensor
    puts = present_only(
        cache=put_cache,
        dict_clone=lambda: {name: tensor.clone() for name, tensor in memory.items()},
        py_lmdb=put_lmdb, torchcachex=put_reference)
    # What was put is committed outside of the measurement.
    bench.measure(case, puts, "put of one", US, n, 2 * args.rounds,
                  after=lambda name: cache.flush())
    bench.print(case)
    bench.ratio(bench.median(case, "cache", metric), "<=", 3,
                "us a get of one 2 KiB record as a torch tensor")
    bench.ratio(bench.median(case, "cache", "put of one"), "<=", 2,
                "us a put of one 2 KiB torch tensor")
    cache.close()


def maps(bench, root, args):
    """A dict of five tensors and three scalars."""
    case, n = "5 tensors, 3 scalars", 1000
    generator = torch.Generator().manual_seed(3)
    make = lambda *shape: torch.randn(*shape, generator=generator)
    values = {name: {"boxes": make(8, 4), "scores": make(8), "features": make(128),
                     "mask": make(16, 16) > 0, "labels": torch.arange(8),
                     "width": 640, "scale": 0.5, "name": "street"} for name in keys(n)}
    names = list(values)
    cache = lmdbcache.open(root, "maps", like="torch", flush_interval_ms=0,
                           flush_every=10 * n, chunk_bytes=64 << 20)
    cache.put_many(names, list(values.values()))
    cache.flush()
    found = cache[names[5]]
    assert all(torch.equal(found[k], v) if torch.is_tensor(v) else found[k] == v
               for k, v in values[names[5]].items())

    from_lmdb = put_lmdb = from_reference = put_reference = None
    if lmdb:
        env = lmdb_store(f"{root}/maps.lmdb")
        with env.begin(write=True) as txn:
            for name, value in values.items():
                txn.put(name.encode(), pickle.dumps(value))

        def get_lmdb(name):
            with env.begin(buffers=True) as txn:
                return pickle.loads(txn.get(name.encode()))

        def put_lmdb():
            txn = env.begin(write=True)
            for name, value in values.items():
                txn.put(name.encode(), pickle.dumps(value))
            txn.abort()
        from_lmdb = each(get_lmdb, names, n)
    if torchcachex:
        backend = reference(f"{root}/maps.reference")
        other = reference(f"{root}/putmaps.reference")
        backend.put_batch(values)
        backend.flush()
        from_reference = lambda: [backend.get_batch(names[i:i + 100])
                                  for i in range(0, n, 100)]

        def put_reference():
            for name, value in values.items():
                other.put_batch({name: value})
            other._pending.clear()

    def put_cache():
        for name, value in values.items():
            cache[name] = value
    gets = present_only(cache=each(cache.__getitem__, names, n), lmdb_pickle=from_lmdb,
                        torchcachex=from_reference)
    bench.measure(case, gets, "get of a map", US, n, 2 * args.rounds)
    puts = present_only(cache=put_cache, lmdb_pickle=put_lmdb, torchcachex=put_reference)
    bench.measure(case, puts, "put of a map", US, n, 2 * args.rounds,
                  after=lambda name: cache.flush())
    bench.print(case)
    bench.ratio(bench.median(case, "cache", "get of a map"), "<=", 6,
                "us a get of a map of 5 tensors and 3 scalars")
    bench.ratio(bench.median(case, "cache", "put of a map"), "<=", 8,
                "us a put of a map of 5 tensors and 3 scalars")
    cache.close()


# ---- a million records ------------------------------------------------------------------------


def million(bench, root, args):
    """missing(), flush and open in a store of many records of 2 KiB."""
    n = 20000 if args.quick else 1000000
    case = f"f32[512] x {'20k' if args.quick else '1M'}"
    names, row = keys(n), torch.randn(1, ROW)
    cache = lmdbcache.open(root, "million", like="torch", flush_interval_ms=0,
                           flush_every=10000, chunk_bytes=64 << 20)
    fill(cache, names, row)
    cache.close()
    open_cache = lambda: lmdbcache.open(root, "million", like="torch", flush_interval_ms=0,
                                        flush_every=10**6, chunk_bytes=64 << 20)
    cache = open_cache()
    assert len(cache) == n

    # Half of the ids are there.
    asked = names[:n // 2] + keys(n // 2, n)
    random.Random(4).shuffle(asked)
    index = set(names)
    ways = {"cache": lambda: cache.missing(asked),
            "set": lambda: [i for i, name in enumerate(asked) if name not in index]}
    assert ways["cache"]() == ways["set"]()
    metric = "missing, an id"
    bench.measure(case, ways, metric, US, n, args.rounds)
    # In C when the package has closed the module: two copies of the library in a
    # process do not know of each other's environments.
    cache.close()
    if C.library is not None:
        store = C(root, "million")
        bench.measure(case, {"C": store.missing(asked)}, metric, US, n, args.rounds)
        store.close()
    del index, asked

    backend = None
    if torchcachex:
        backend = reference(f"{root}/million.reference")
        save, backend._save_index = backend._save_index, lambda: None
        for at in range(0, n, 50000):
            backend.put_batch({name: row[0] for name in names[at:at + 50000]})
            backend.flush()
        save()  # once is enough
        del backend
    kept = []

    def open_reference():
        kept.append(reference(f"{root}/million.reference"))

    def open_ours():
        kept.append(open_cache())

    def drop(name):
        for store in kept:
            if name == "cache":
                store.discard()
            else:
                store._pending.clear()
                store._save_index = lambda: None  # what it does when it is collected
        kept.clear()
    ways = present_only(cache=open_ours, torchcachex=open_reference if torchcachex else None)
    bench.measure(case, ways, "open", US, 1, args.rounds, after=drop)

    cache = open_cache()
    backend = reference(f"{root}/million.reference") if torchcachex else None
    fresh = itertools.count(2 * n, 1000)
    rows = torch.randn(1000, ROW)

    # The puts are outside of what is measured: the flush is.
    def put(name):
        new = keys(1000, next(fresh))
        if name == "cache":
            cache.put_many(new, rows)
        else:
            backend.put_batch(dict(zip(new, rows)))
    for name in ("cache", "torchcachex") if torchcachex else ("cache",):
        put(name)
    ways = present_only(cache=cache.flush, torchcachex=backend.flush if backend else None)
    bench.measure(case, ways, "flush of 1,000", US, 1, 3 * args.rounds, after=put)
    bench.print(case)
    bench.ratio(bench.median(case, "cache", metric), "<=", 0.25,
                f"us an id that missing() looks for, {case}")
    if not args.quick:
        bench.ratio(bench.over(case, "flush of 1,000", "torchcachex", "cache"), ">=", 30,
                    f"flush of 1,000, torchcachex over cache, {case}")
        bench.ratio(bench.over(case, "open", "torchcachex", "cache"), ">=", 500,
                    f"open, torchcachex over cache, {case}")
    if backend is not None:
        backend._save_index = lambda: None
    cache.discard()


# ---- loaders --------------------------------------------------------------------------------------


class Records(torch.utils.data.Dataset):
    """The data set that a user of torchcachex writes."""

    def __init__(self, backend, names):
        self.backend, self.names = backend, names

    def __len__(self):
        return len(self.names)

    def __getitems__(self, indices):
        return torch.stack(self.backend.get_batch([self.names[i] for i in indices])[0])


def consume(loader, key=None, copy=False):
    """Look at each batch, as a training step would: at an element a row."""
    total = 0
    for batch in loader:
        block = batch[0] if isinstance(batch, (list, tuple)) else batch
        block = block if key is None else block[key]
        block = block.clone() if copy else block
        total += int(block.flatten(1)[:, 0].sum())
    return total


def in_memory(data, batch):
    """The fastest loaders that torch has for tensors in memory."""
    loader = DataLoader(TensorDataset(data), batch_size=None, sampler=BatchSampler(
        RandomSampler(range(len(data))), batch, False))

    def select():
        for index in torch.randperm(len(data)).split(batch):
            yield data[index]
    return loader, select


def loaders(bench, root, args):
    """An epoch, shuffled, from a module that is in the page cache."""
    for name, shape, dtype, n, batch in (
            ("f32[512]", (ROW,), torch.float32, 20000, 256),
            ("u8[3, 224, 224]", (3, 224, 224), torch.uint8, 2000, 64)):
        case, n = f"loader: {name} x {n}", n // 4 if args.quick else n
        data = torch.randint(0, 250, (n, *shape), dtype=torch.uint8).to(dtype)
        with lmdbcache.open(root, f"loader{len(shape)}", like="torch") as cache:
            fill(cache, keys(n), data, 500)
            loader(bench, root, case, cache, data, batch, n, {}, args)
    case, window = "loader: i32 tokens, windows of 1,024", 1024
    lengths = random.Random(5)
    documents, tokens = [], 2 << 20 if args.quick else 16 << 20
    while tokens > 0:
        length = lengths.randrange(1, 9) * window
        documents.append(torch.randint(0, 50000, (length,), dtype=torch.int32))
        tokens -= length
    data = torch.cat(documents).view(-1, window)
    with lmdbcache.open(root, "tokens", like="torch") as cache:
        cache.put_many(keys(len(documents)), documents)
        cache.flush()
        loader(bench, root, case, cache, data, 64, len(data), 
               {"window": window, "length_field": "."}, args)


def loader(bench, root, case, cache, data, batch, n, options, args):
    metric = "examples"
    torches, select = in_memory(data, batch)
    ways = {"TensorDataset": lambda: consume(torches), "index": lambda: consume(select())}
    for order in ("block", "full"):
        loaded = lmdbcache.torch.Loader(cache, batch=batch, shuffle=order, seed=7, **options)
        ways[f"Loader {order}"] = lambda loaded=loaded: consume(loaded, ".")
        # And each batch copied once more.
        ways[f"{order}, copied"] = lambda loaded=loaded: consume(loaded, ".", True)
    if not options:
        mapped = lmdbcache.torch.MapDataset(cache)
        gathered = DataLoader(mapped, batch, shuffle=True, collate_fn=mapped.collate)
        ways["MapDataset"] = lambda: consume(gathered)
    expected = consume(torches)
    for name, way in ways.items():
        assert way() == expected, name
    if torchcachex and not options:
        few = batch * 4
        backend = reference(f"{root}/loader{data.dim()}.reference")
        backend.put_batch(dict(zip(keys(few), data)))
        backend.flush()
        peer = DataLoader(Records(backend, keys(few)), batch, shuffle=True,
                          collate_fn=lambda block: block)
        ways["torchcachex"] = lambda: consume(peer), few
    bench.measure(case, ways, metric, "1/s", n, args.rounds)
    bench.print(case)
    for order in ("block", "full"):
        bench.ratio(bench.over(case, metric, f"{order}, copied", "TensorDataset"), ">=", 0.8,
                    f"{case}: {order}, copied, over TensorDataset")
        bench.ratio(bench.over(case, metric, f"Loader {order}", "TensorDataset"), ">=", 1.5,
                    f"{case}: Loader {order} over TensorDataset")


# ---- memory -----------------------------------------------------------------------------------------


def anonymous():
    """Bytes of the process that are no file's pages."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024


def memory(bench, root, args):
    case, n = "memory", 1000
    times = 20000 if args.quick else 1000000
    cache = lmdbcache.open(root, "memory", like="torch")
    names = keys(n)
    fill(cache, names, torch.randn(n, ROW))
    cache.put_many([f"map-{name}" for name in names],
                   [{"a": torch.randn(16), "b": [1, "x"]}] * n)
    cache.flush()
    maps_of = [f"map-{name}" for name in names]
    for what, way in (
            ("gets", each(cache.__getitem__, names, n)),
            ("views", each(cache.view, names, n)),
            ("gathered records", lambda: cache.gather(names)),
            ("gets of maps", each(cache.__getitem__, maps_of, n))):
        for _ in range(20):
            way()
        before = anonymous()
        for _ in range(times // n):
            way()
        bench.run(case, "cache", f"growth by {times:,} {what}", "MB",
                  max(anonymous() - before, 0) / 1e6)
    bench.print(case)
    for _, _, metric in [key for key in bench.rows if key[0] == case]:
        bench.ratio(bench.median(case, "cache", metric), "<=", 1,
                    f"MB of memory without file pages, {metric}")
    cache.close()


# ---- all of it ------------------------------------------------------------------------------------------

CASES = {"batch": batches, "one": ones, "map": maps, "million": million, "loader": loaders,
         "memory": memory}


def main():
    parser = harness.arguments(__doc__.splitlines()[0], 5)
    parser.add_argument("--library", help="liblmdbcache.so, for the engine in C")
    args = parser.parse_args()
    if args.quick:
        args.rounds = min(args.rounds, 3)
    torch.set_num_threads(1)
    bench = harness.Bench("python", args.results)
    if args.library and os.path.exists(args.library):
        C.library = ctypes.CDLL(args.library)
        harness.present.append("liblmdbcache.so")
    else:
        harness.absent.append("liblmdbcache.so")
    harness.say_packages()
    root = harness.scratch()
    for name, case in CASES.items():
        if args.case in name:
            os.mkdir(f"{root}/{name}")
            case(bench, f"{root}/{name}", args)
            shutil.rmtree(f"{root}/{name}", ignore_errors=True)
    bench.finish()


main()
