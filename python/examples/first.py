# SPDX-License-Identifier: BSD-2-Clause
"""The first steps: values in, values out, many at once. Needs nothing but lmdbcache."""

import array
import tempfile

import lmdbcache

with tempfile.TemporaryDirectory() as root:
    with lmdbcache.open(root, "faces", like="buffer") as cache:
        cache["ann"] = array.array("f", [1, 2, 3])
        cache["bob"] = array.array("f", [4, 5, 6])
        cache["settings"] = {"model": "resnet50", "mean": [0.5, 0.25], "crop": None}
        cache.flush()  # from here they survive a loss of power

    with lmdbcache.open(root, "faces", like="buffer", readonly=True) as cache:
        print(list(cache))
        print(cache["ann"], memoryview(cache["ann"]).tolist())
        print(cache["settings"])
        block, missing = cache.gather(["bob", "eve", "ann"])
        print(memoryview(block).tolist(), "missing:", missing)
        try:
            cache["eve"]
        except KeyError as error:
            print("KeyError:", error)
