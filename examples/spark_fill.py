#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fill a module on the executors of a Spark cluster, each task its parts.

    spark_fill.py STORE INPUTS PRODUCER [TASKS]

Or by spark-submit. Without a master in its configuration this machine is the cluster. A
task whose executor dies is run again elsewhere, and Spark may run one twice if it is slow:
what is in the store is not made again, and of two that make the same one comes first.
"""

import subprocess
import sys
import tempfile

from pyspark.sql import SparkSession

if len(sys.argv) not in (4, 5):
    sys.exit(f"usage:{__doc__.splitlines()[2]}")
store, inputs, producer = sys.argv[1:4]
tasks = int(sys.argv[4]) if len(sys.argv) > 4 else 16


def fill(task: int) -> None:
    """Make the parts of one task on the disk of its executor, and push them."""
    with tempfile.TemporaryDirectory(prefix="fill.") as root:
        subprocess.run(
            ["cachex", "fill", "--root", root, "--shard", f"{task}/{tasks}", "--push", store,
             "--from", f"@{inputs}", "--exec", producer, "feats"],
            check=True)


spark = SparkSession.builder.appName("fill").getOrCreate()
spark.sparkContext.parallelize(range(tasks), tasks).foreach(fill)
spark.stop()
subprocess.run(["cachex", "publish", store], check=True)
