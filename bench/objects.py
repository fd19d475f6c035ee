# SPDX-License-Identifier: BSD-2-Clause
"""Sets of shards to and from a store on S3, by cachex and by what others would choose.

bench/objects runs it, which `make bench BENCH=objects` makes. The server is
t/support/s3_server.py on loopback; contenders that are not installed are left out.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

import harness

AT_ONCE = 8  # transfers
BOTO3 = """
import os, sys, boto3
from concurrent.futures import ThreadPoolExecutor
from boto3.s3.transfer import TransferConfig
client = boto3.client("s3")
# A request for an object, as with the others.
whole = TransferConfig(multipart_threshold=1 << 40, use_threads=False)
def job(pair):
    (client.upload_file if sys.argv[1] == "up" else client.download_file)(*(
        (pair[1], "bucket", pair[0]) if sys.argv[1] == "up" else ("bucket", *pair)),
        Config=whole)
pairs = [line.rstrip().split(" ", 1) for line in sys.stdin]
with ThreadPoolExecutor(int(sys.argv[2])) as threads:
    list(threads.map(job, pairs))
"""


def arguments():
    parser = harness.arguments(__doc__.splitlines()[0], 3)
    parser.add_argument("--cachex", default="./cachex")
    parser.add_argument("--server", required=True, help="t/support/s3_server.py")
    return parser.parse_args()


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, **more)
    if done.returncode != 0:
        sys.exit(f"bench: objects: {' '.join(command[:4])}: {done.stderr.decode()}")


class Server:
    """The server, its bucket, and the environment of its clients."""

    def __init__(self, program, data):
        self.data, self.control = os.path.join(data, "s3"), os.path.join(data, "control")
        self.log = os.path.join(data, "log")
        ready = os.path.join(data, "port")
        self.delay(0)
        self.process = subprocess.Popen(
            [sys.executable, program, "--data", self.data, "--ready", ready, "--control",
             self.control, "--log", self.log, "--anonymous"], stdout=subprocess.DEVNULL)
        while not os.path.exists(ready):
            if self.process.poll() is not None:
                sys.exit("bench: objects: the server does not start")
            time.sleep(0.05)
        with open(ready) as file:
            self.url = f"http://127.0.0.1:{file.read().strip()}"
        for name in [name for name in os.environ
                     if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
            del os.environ[name]
        os.environ.update(
            AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="secret",
            AWS_DEFAULT_REGION="us-east-1", AWS_ENDPOINT_URL=self.url,
            AWS_REQUEST_CHECKSUM_CALCULATION="when_required",
            AWS_RESPONSE_CHECKSUM_VALIDATION="when_required",
            AWS_EC2_METADATA_DISABLED="true",
            RCLONE_CONFIG=os.devnull, RCLONE_CONFIG_S3_TYPE="s3",
            RCLONE_CONFIG_S3_PROVIDER="Other", RCLONE_CONFIG_S3_ENDPOINT=self.url,
            RCLONE_CONFIG_S3_ENV_AUTH="true", RCLONE_CONFIG_S3_REGION="us-east-1",
            RCLONE_CONFIG_S3_NO_CHECK_BUCKET="true")

    def delay(self, ms):
        with open(f"{self.control}.new", "w") as file:
            file.write(f"--delay {ms}\n")
        os.rename(f"{self.control}.new", self.control)

    def path(self, name):
        return os.path.join(self.data, "bucket", name)


class Set:
    """Shards in a directory, the same published in the store as "set"."""

    def __init__(self, cachex, data, megabytes):
        self.directory, root = os.path.join(data, "shards"), os.path.join(data, "root")
        source = os.path.join(data, "files")
        os.makedirs(source)
        for i in range(megabytes):
            with open(os.path.join(source, f"{i:05}.npy"), "wb") as file:
                header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1048576,), }"
                header = header.ljust(117) + "\n"
                file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") +
                           header.encode() + os.urandom(1 << 20))
        run(cachex, "--root", root, "import", "-q", "set", source)
        run(cachex, "--root", root, "export", "-q", "set", self.directory, "--shard-size",
            str(10 << 20))
        shutil.rmtree(source)
        shutil.rmtree(root)
        run(cachex, "push", "-q", self.directory, "s3://bucket/set")
        run(cachex, "publish", "-q", "s3://bucket/set")
        self.files = [os.path.join(self.directory, name)
                      for name in sorted(os.listdir(self.directory)) if name.endswith(".twh1")]
        self.bytes = sum(os.path.getsize(file) for file in self.files)
        self.sums = {}
        for file in self.files:
            with open(file, "rb") as opened:
                self.sums[file] = hashlib.sha256(opened.read()).hexdigest()
        self.keys = [f"set/obj/{name[:2]}/{name}.twh1" for name in self.sums.values()]


def optional_tool(name):
    path = shutil.which(name)
    works = path is not None and subprocess.run(
        [name, "--version"], capture_output=True).returncode == 0
    (harness.present if works else harness.absent).append(name)
    return works


def downloads(args, data, server, shards):
    """What fetches all objects of the set into the directory `into`."""
    into = os.path.join(data, "into")
    config = os.path.join(data, "download.curl")
    with open(config, "w") as file:
        for key in shards.keys:
            file.write(f'url = "{server.url}/bucket/{key}"\n'
                       f'output = "{os.path.join(into, key)}"\n')
    pairs = "".join(f"{key} {os.path.join(into, os.path.basename(key))}\n"
                    for key in shards.keys).encode()
    return into, {
        "cachex": lambda: run(args.cachex, "pull", "-q", "-j", str(AT_ONCE),
                              "s3://bucket/set", into),
        "curl -Z": lambda: run("curl", "-sSf", "-Z", "--parallel-max", str(AT_ONCE),
                               "--create-dirs", "-K", config),
        "rclone": lambda: run("rclone", "copy", "-q", "--transfers", str(AT_ONCE),
                              "s3:bucket/set/obj", into),
        "aws": lambda: run("aws", "s3", "cp", "--only-show-errors", "--recursive",
                           "s3://bucket/set/obj", into),
        "boto3": lambda: (os.makedirs(into), run(sys.executable, "-c", BOTO3, "down",
                                                 str(AT_ONCE), input=pairs)),
    }


def uploads(args, data, server, shards):
    """What puts all objects of the set under "up"."""
    config = os.path.join(data, "upload.curl")
    with open(config, "w") as file:
        file.write("next\n".join(
            f'url = "{server.url}/bucket/up/{shards.sums[name]}"\n'
            f'upload-file = "{name}"\n'
            f'header = "x-amz-content-sha256: {shards.sums[name]}"\n'
            for name in shards.files))
    pairs = "".join(f"up/{shards.sums[name]} {name}\n" for name in shards.files).encode()
    return server.path("up"), {
        "cachex": lambda: run(args.cachex, "push", "-q", "-j", str(AT_ONCE),
                              shards.directory, "s3://bucket/up"),
        "curl -Z": lambda: run("curl", "-sSf", "-Z", "--parallel-max", str(AT_ONCE), "-K",
                               config),
        "rclone": lambda: run("rclone", "copy", "-q", "--transfers", str(AT_ONCE),
                              "--include", "*.twh1", shards.directory, "s3:bucket/up"),
        "aws": lambda: run("aws", "s3", "cp", "--only-show-errors", "--recursive",
                           "--exclude", "*", "--include", "*.twh1", shards.directory,
                           "s3://bucket/up"),
        "boto3": lambda: run(sys.executable, "-c", BOTO3, "up", str(AT_ONCE), input=pairs),
    }


def ranges(args, bench, server, shards, data):
    """Rows by ranges, because the cache is smaller than the least cache; curl asks for the same
    ranges."""
    read = [args.cachex, "read", "s3://bucket/set", "--shuffle", "full", "--batch", "8", "--sum",
            "-j", str(AT_ONCE), "--cache", os.path.join(data, "none"), "--cache-size", "1M"]
    open(server.log, "w").close()
    run(*read)
    config, total, urls = os.path.join(data, "ranges.curl"), 0, []
    with open(server.log) as log:
        for line in log:
            asked = re.match(r"GET (bucket/set/obj/\S+) bytes=(\d+)-(\d+) ", line)
            if asked is not None:
                key, first, last = asked.groups()
                total += int(last) - int(first) + 1
                urls.append(f'url = "{server.url}/{key}"\nrange = "{first}-{last}"\n'
                            f'output = "{os.devnull}"\n')
    with open(config, "w") as file:
        file.write("next\n".join(urls))
    print(f"{len(urls)} ranges, {total / 1e6:.0f} MB")
    ways = {"cachex": lambda: run(*read)}
    if shutil.which("curl"):
        ways["curl -Z"] = lambda: run("curl", "-sSf", "-Z", "--parallel-max", str(AT_ONCE), "-K",
                                      config)
    for delay in (0, 30):
        case = f"rows by range, {delay} ms before each answer"
        server.delay(delay)
        bench.measure(case, ways, "MB", "1/s", total / 1e6, 2 if args.quick else args.rounds)
        bench.print(case)
    server.delay(0)


def training(args, bench, shards, data):
    """Epochs of the set: its shards, and the store through a cache that has all of it, or 0.7
    of it."""
    order = ["--shuffle", "block", "--shares", "1", "--spread", "4", "--batch", "8", "--sum",
             "--epochs", "2" if args.quick else "4"]
    epochs = int(order[-1])

    def read(source, *how):
        return lambda: run(args.cachex, "read", source, *order, *how)

    def cache(name, part):
        return ["--cache", os.path.join(data, name), "--cache-size",
                str(int(part * shards.bytes) + (1 << 20))]

    ways = {"shards": read(shards.directory),
            "store, warm": read("s3://bucket/set", *cache("warm", 1)),
            "store, 0.7": read("s3://bucket/set", *cache("part", 0.7))}
    case = "training read, epochs"
    bench.measure(case, ways, "MB", "1/s", epochs * shards.bytes / 1e6,
                  2 if args.quick else args.rounds)
    bench.print(case)
    for metric in "MB", "MB, CPU time":
        bench.ratio(bench.over(case, metric, "store, warm", "shards"), ">=", 0.8,
                    f"training read: a warm cache over the shards, {metric}")


def main():
    args = arguments()
    args.cachex = os.path.abspath(args.cachex)
    bench = harness.Bench("objects", args.results)
    have = {"cachex": True, "curl -Z": optional_tool("curl"), "rclone": optional_tool("rclone"),
            "aws": optional_tool("aws"), "boto3": harness.optional("boto3") is not None}
    harness.say_packages()
    data = harness.scratch()
    os.environ["HOME"] = data
    server = Server(os.path.abspath(args.server), data)
    shards = Set(args.cachex, data, 64 if args.quick else 256)
    print(f"{len(shards.files)} shards, {shards.bytes / 1e6:.0f} MB; {AT_ONCE} at once")
    aims = {"curl -Z": 0.85, "rclone": 1.5, "aws": 2.5}
    for delay in (0, 30):
        for kind, make in (("download", downloads), ("upload", uploads)):
            case = f"{kind}, {delay} ms before each answer"
            if args.case not in case:
                continue
            made, ways = make(args, data, server, shards)
            ways = {name: way for name, way in ways.items() if have[name]}

            def after(name):
                size = sum(os.path.getsize(os.path.join(folder, file))
                           for folder, _, files in os.walk(made) for file in files
                           if not file.endswith(".json") and not file.startswith("."))
                if size != shards.bytes:
                    sys.exit(f"bench: objects: {name}: {case}: {size} bytes, "
                             f"not {shards.bytes}")
                shutil.rmtree(made)

            server.delay(delay)
            bench.measure(case, ways, "MB", "1/s", shards.bytes / 1e6,
                          2 if args.quick else args.rounds, after)
            server.delay(0)
            bench.print(case)
            for other in aims if kind == "download" else ["curl -Z"]:
                bench.ratio(bench.over(case, "MB", "cachex", other), ">=", aims[other],
                            f"{case}: cachex over {other}")
            ours, theirs = (bench.median(case, name, "MB, CPU time")
                            for name in ("cachex", "curl -Z"))
            if kind == "download" and theirs is not None:
                bench.ratio(600 / ours - 600 / theirs, "<=", 1,
                            f"{case}: processors beyond those of curl at 600 MB/s")
    if args.case in "rows by range":
        ranges(args, bench, server, shards, data)
    if args.case in "training read":
        training(args, bench, shards, data)
    bench.finish()


if __name__ == "__main__":
    main()
