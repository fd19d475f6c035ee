#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fill a module on the nodes of a Ray cluster, each task its parts.

    ray_fill.py STORE INPUTS PRODUCER [TASKS]

Without a cluster (RAY_ADDRESS) this machine is one. A task whose worker or node dies is
run again elsewhere; what is in the store is not made again.
"""

import subprocess
import sys
import tempfile

import ray

if len(sys.argv) not in (4, 5):
    sys.exit(f"usage:{__doc__.splitlines()[2]}")
store, inputs, producer = sys.argv[1:4]
tasks = int(sys.argv[4]) if len(sys.argv) > 4 else 16


@ray.remote(num_cpus=1, max_retries=5, retry_exceptions=[subprocess.CalledProcessError])
def fill(task: int) -> None:
    """Make the parts of one task on the disk of its node, and push them."""
    with tempfile.TemporaryDirectory(prefix="fill.") as root:
        subprocess.run(
            ["cachex", "fill", "--root", root, "--shard", f"{task}/{tasks}", "--push", store,
             "--from", f"@{inputs}", "--exec", producer, "feats"],
            check=True)


ray.init()
ray.get([fill.remote(task) for task in range(tasks)])
subprocess.run(["cachex", "publish", store], check=True)
