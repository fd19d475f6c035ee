#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fill a module on the workers of a Dask cluster, each task its parts.

    dask_fill.py STORE INPUTS PRODUCER [TASKS]

Without a scheduler (DASK_SCHEDULER_ADDRESS) this machine is a cluster. A task whose worker
dies is run again elsewhere; what is in the store is not made again.
"""

import subprocess
import sys
import tempfile

from distributed import Client


def fill(task: int, tasks: int, store: str, inputs: str, producer: str) -> None:
    """Make the parts of one task on the disk of its worker, and push them."""
    with tempfile.TemporaryDirectory(prefix="fill.") as root:
        subprocess.run(
            ["cachex", "fill", "--root", root, "--shard", f"{task}/{tasks}", "--push", store,
             "--from", f"@{inputs}", "--exec", producer, "feats"],
            check=True)


def main() -> None:
    if len(sys.argv) not in (4, 5):
        sys.exit(f"usage:{__doc__.splitlines()[2]}")
    store, inputs, producer = sys.argv[1:4]
    tasks = int(sys.argv[4]) if len(sys.argv) > 4 else 16
    with Client() as client:
        work = [client.submit(fill, task, tasks, store, inputs, producer, pure=False, retries=5)
                for task in range(tasks)]
        client.gather(work)
    subprocess.run(["cachex", "publish", store], check=True)


if __name__ == "__main__":  # workers import this file
    main()
