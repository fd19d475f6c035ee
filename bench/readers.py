# SPDX-License-Identifier: BSD-2-Clause
"""Epochs of training data, by the package and by what others would choose.

bench/readers runs it, which `make bench BENCH=readers` makes. It needs torch; the other
packages are left out where they are not installed.
"""
import io
import math
import os
import shutil
import subprocess
import sys
import tarfile
import warnings

import harness

try:
    import numpy
    import torch
    from torch.utils.data import DataLoader, Dataset
except ImportError as error:
    print(f"bench: readers: {error.name} is not installed; nothing is measured")
    sys.exit(0)

import lmdbcache
import lmdbcache.torch

harness.present += [f"torch {torch.__version__}", f"numpy {numpy.__version__}"]
lmdb = harness.optional("lmdb")
safetensors = harness.optional("safetensors.torch")
pyarrow = harness.optional("pyarrow")
datasets = harness.optional("datasets")
webdataset = harness.optional("webdataset")
streaming = harness.optional("streaming")

SEED = 7


def keys(n):
    return [f"sample-{i:09}" for i in range(n)]


def orders(n, batch, shuffled):
    """The rows of each batch of an epoch."""
    rows = numpy.random.default_rng(SEED).permutation(n) if shuffled else numpy.arange(n)
    return [rows[at:at + batch] for at in range(0, n, batch)]


def heads(batches):
    """The sum of the first eight bytes of each row, as a training step would look at it,
    and how many rows there were."""
    total = rows = 0
    for block in batches:
        block = block.flatten(1)
        head = block[:, :8 // block.element_size()].contiguous().view(torch.int64)
        total += int(head.sum())
        rows += len(head)
    return total % 2**64, rows


# ---- contenders --------------------------------------------------------------------------
#
# Each writes the data to a directory of its own and returns a function that gives the batches
# of an epoch, tensors [n, ...] of torch, in order (False) or shuffled (True).


def memmap(path, data, batch):
    """The limit: one array in a file, a copy a batch."""
    numpy.save(f"{path}/data.npy", data)
    array = numpy.load(f"{path}/data.npy", mmap_mode="r")

    def epoch(shuffled):
        for rows in orders(len(data), batch, shuffled):
            block = array[rows] if shuffled else array[rows[0]:rows[-1] + 1].copy()
            yield torch.from_numpy(block)
    return epoch


def module(path, data, batch):
    """A module of the cache; the Loader of torch over it."""
    cache = lmdbcache.open(path, "m", like="numpy")
    names = keys(len(data))
    for at in range(0, len(names), 500):
        cache.put_many(names[at:at + 500], data[at:at + 500])
    cache.flush()
    return cache


def loader(source, batch, **options):
    def epoch(shuffled):
        loaded = lmdbcache.torch.Loader(source, batch=batch, seed=SEED,
                                        shuffle="full" if shuffled else "none", **options)
        return (next(iter(fields.values())) for fields in loaded)
    return epoch


def page_reader():
    """The reader of frames that cachex-read(1) shows."""
    page = os.path.join(os.path.dirname(__file__), "../man/cachex-read.1")
    with open(page) as file:
        text = file.read()
    code = text[text.index("import mmap"):]
    code = code[:code.index("\n.Ed")].replace("\\-", "-").replace("\\e", "\\")
    names = {}
    exec(code, names)
    return names


def frames(root, batch, shared):
    """The command cachex read, its batches through a pipe or in shared memory."""
    reader = page_reader()

    def epoch(shuffled):
        args = ["m", "--root", root, "--batch", str(batch), "--seed", str(SEED),
                "--shuffle", "full" if shuffled else "none"]
        if shared:
            tool = None
            stream = reader["read_shared"](*args)
        else:
            tool = subprocess.Popen(["cachex", "read", *args, "--frames"],
                                    stdout=subprocess.PIPE)
            stream = reader["frames"](tool.stdout)
        for head, _, fields in stream:
            yield torch.from_numpy(fields["."][:head["filled"]])
        if tool is not None:
            tool.wait()
    return epoch


def from_lmdb(path, data, batch):
    env = lmdb.open(path, map_size=1 << 36, readahead=False)
    names = [name.encode() for name in keys(len(data))]
    with env.begin(write=True) as txn:
        for name, row in zip(names, data):
            txn.put(name, row.tobytes())

    def epoch(shuffled):
        for rows in orders(len(data), batch, shuffled):
            block = numpy.empty((len(rows), *data.shape[1:]), data.dtype)
            with env.begin(buffers=True) as txn:
                for i, row in enumerate(rows):
                    block[i].reshape(-1)[:] = numpy.frombuffer(txn.get(names[row]), data.dtype)
            yield torch.from_numpy(block)
    return epoch


def from_safetensors(path, data, batch):
    """In order: slices of one tensor, copied. Shuffled: a tensor an example, by its name."""
    names = keys(len(data))
    tensors = torch.from_numpy(data)
    safetensors.save_file({"all": tensors}, f"{path}/one")
    safetensors.save_file({name: tensors[i] for i, name in enumerate(names)}, f"{path}/each")
    one = safetensors.safe_open(f"{path}/one", "pt").get_slice("all")
    each = safetensors.safe_open(f"{path}/each", "pt")

    def epoch(shuffled):
        for rows in orders(len(data), batch, shuffled):
            if shuffled:
                yield torch.stack([each.get_tensor(names[row]) for row in rows])
            else:
                yield one[int(rows[0]):int(rows[-1]) + 1].clone()
    return epoch


def arrow_table(data):
    flat = pyarrow.array(data.reshape(-1))
    rows = pyarrow.FixedSizeListArray.from_arrays(flat, math.prod(data.shape[1:]))
    return pyarrow.table({"x": rows})


def from_arrow(path, data, batch):
    """An Arrow file in memory-mapped chunks of a batch."""
    table = arrow_table(data)
    with pyarrow.OSFile(f"{path}/data", "wb") as sink:
        with pyarrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    column = pyarrow.ipc.open_file(pyarrow.memory_map(f"{path}/data")).read_all()["x"]
    shape = data.shape[1:]

    def epoch(shuffled):
        for rows in orders(len(data), batch, shuffled):
            part = column.take(pyarrow.array(rows)) if shuffled else \
                column.slice(int(rows[0]), len(rows))
            part = [chunk.flatten().to_numpy() for chunk in part.chunks]
            block = part[0] if shuffled and len(part) == 1 else numpy.concatenate(part)
            yield torch.from_numpy(block.reshape(-1, *shape))
    return epoch


def from_datasets(path, data, batch):
    datasets.disable_progress_bars()
    datasets.Dataset(arrow_table(data)).save_to_disk(f"{path}/data")
    loaded = datasets.load_from_disk(f"{path}/data")
    loaded = loaded.with_format("numpy", dtype=data.dtype)  # int64 for integers otherwise
    shape = data.shape[1:]

    def epoch(shuffled):
        for rows in orders(len(data), batch, shuffled):
            part = loaded[rows] if shuffled else loaded[int(rows[0]):int(rows[-1]) + 1]
            yield torch.from_numpy(part["x"].reshape(-1, *shape))
    return epoch


def from_webdataset(path, data, batch):
    """A tar of .npy; shuffled in a buffer of 1,000."""
    with tarfile.open(f"{path}/data.tar", "w") as tar:
        for name, row in zip(keys(len(data)), data):
            file = io.BytesIO()
            numpy.save(file, row)
            member = tarfile.TarInfo(f"{name}.npy")
            member.size = file.tell()
            file.seek(0)
            tar.addfile(member, file)

    def epoch(shuffled):
        pipe = webdataset.WebDataset(f"{path}/data.tar", shardshuffle=False)
        pipe = pipe.shuffle(1000) if shuffled else pipe
        for (block,) in pipe.decode().to_tuple("npy").batched(batch):
            yield torch.as_tensor(block)
    return epoch


def from_streaming(path, data, batch):
    """MosaicML's MDS files by its StreamingDataset, in a DataLoader of this process."""
    kind = f"ndarray:{data.dtype}:{','.join(map(str, data.shape[1:]))}"
    for place in ("inorder", "shuffled"):  # a directory takes one of them
        with streaming.MDSWriter(out=f"{path}/{place}", columns={"x": kind}) as out:
            for row in data:
                out.write({"x": row})
    warnings.filterwarnings("ignore", "The given NumPy array is not writable")
    loaders = [DataLoader(streaming.StreamingDataset(
        local=f"{path}/{place}", shuffle=place == "shuffled", shuffle_seed=SEED,
        batch_size=batch), batch) for place in ("inorder", "shuffled")]

    def epoch(shuffled):
        return (block["x"] for block in loaders[shuffled])
    return epoch


class Rows(Dataset):
    """What a user of memmap writes."""

    def __init__(self, array):
        self.array = array

    def __len__(self):
        return len(self.array)

    def __getitem__(self, i):
        return torch.from_numpy(self.array[i].copy())


def from_dataloader(path, data, batch, workers):
    numpy.save(f"{path}/data.npy", data)
    rows = Rows(numpy.load(f"{path}/data.npy", mmap_mode="r"))

    def epoch(shuffled):
        return DataLoader(rows, batch, shuffle=shuffled, num_workers=workers)
    return epoch


PEERS = {
    "py-lmdb": (lmdb, from_lmdb),
    "safetensors": (safetensors, from_safetensors),
    "arrow": (pyarrow, from_arrow),
    "datasets": (pyarrow and datasets, from_datasets),
    "webdataset": (webdataset, from_webdataset),
    "MosaicML": (streaming, from_streaming),
    "DataLoader 0": (torch, lambda *args: from_dataloader(*args, 0)),
    "DataLoader 2": (torch, lambda *args: from_dataloader(*args, 2)),
}


# ---- epochs ----------------------------------------------------------------------------------


def epochs(bench, root, case, data, batch, rounds):
    def place(name):
        path = f"{root}/{name.replace(' ', '-')}"
        os.mkdir(path)
        return path

    path = place("module")
    with module(path, data, batch) as cache:
        shards = f"{root}/shards"
        cache.export(shards)
        ways = {
            "memmap": memmap(place("memmap"), data, batch),
            "Loader": loader(cache, batch),
            "unverified": loader(cache, batch, verify=False),
            "shards": loader(shards, batch),
            "shards, unv.": loader(shards, batch, verify=False),
            "frames": frames(path, batch, False),
            "shared": frames(path, batch, True),
        }
        for name, (package, peer) in PEERS.items():
            if package is not None:
                ways[name] = peer(place(name), data, batch)
        expected = heads([torch.from_numpy(data)])
        metrics = {"in order": False, "shuffled": True}
        for metric, shuffled in metrics.items():
            for name, way in ways.items():
                if heads(way(shuffled)) != expected:
                    sys.exit(f"bench: readers: {name}: other data than were written")
            bench.measure(case, {name: lambda way=way: heads(way(shuffled))
                                 for name, way in ways.items()},
                          metric, "us", len(data), rounds)
    bench.print(case)
    for metric in metrics:
        state(bench, case, f"{metric}, CPU time", [name for name in PEERS if name in ways])


def state(bench, case, metric, peers):
    best = min(peers, key=lambda name: bench.median(case, name, metric))
    for ours in ("Loader", "shards"):
        bench.ratio(bench.over(case, metric, best, ours), ">=", 1,
                    f"{case}, {metric}: {ours} over {best}, the best")
        bench.ratio(bench.over(case, metric, "memmap", ours), ">=", 0.6,
                    f"{case}, {metric}: {ours} over memmap")


CASES = (
    ("f32[512]", (512,), numpy.float32, 50000),
    ("u8[3, 224, 224]", (3, 224, 224), numpy.uint8, 4000),
)


def main():
    parser = harness.arguments(__doc__.splitlines()[0], 5)
    parser.add_argument("--library", help="beside it is the command cachex")
    args = parser.parse_args()
    os.environ["PATH"] = f"{os.path.dirname(args.library)}/..:{os.environ['PATH']}"
    # An array over a pipe's bytes cannot be written to, which is what a tensor can.
    warnings.filterwarnings("ignore", "The given NumPy array is not writable")
    torch.set_num_threads(1)
    bench = harness.Bench("readers", args.results)
    harness.say_packages()
    root = harness.scratch()
    for number, (name, shape, dtype, n) in enumerate(CASES):
        if args.case not in name or (args.quick and number > 0):
            continue
        n = n // 10 if args.quick else n
        data = numpy.random.default_rng(number).integers(0, 250, (n, *shape), numpy.uint8)
        os.mkdir(f"{root}/{number}")
        epochs(bench, f"{root}/{number}", f"{name} x {n:,}", data.astype(dtype), 256,
               1 if args.quick else args.rounds)
        shutil.rmtree(f"{root}/{number}", ignore_errors=True)
    bench.finish()


main()
