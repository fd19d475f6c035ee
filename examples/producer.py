#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# A producer for cachex fill, cachex-producer(5): counts the bytes of items of any kind.
import struct, sys
import msgpack, numpy as np

requests, answers = sys.stdin.buffer, sys.stdout.buffer
sys.stdout = sys.stderr  # what libraries print must not get among the answers

def load(item):
    if "path" in item:  # a file; of an image, for instance, Image.open(item["path"])
        with open(item["path"], "rb") as file:
            return file.read()
    if "json" in item:  # a line of JSON; a model takes json.loads(item["json"])["caption"]
        data = item["json"]
    else:  # a line of a text; with --ids there is the cache_id alone
        data = item.get("text", item["id"])
    return data.encode() if isinstance(data, str) else data

def produce(item):  # the model goes here
    a = np.bincount(np.frombuffer(load(item), "u1"), minlength=256).astype("<f4")
    shape = ",".join(map(str, a.shape))
    return {"$tensor": f"{a.dtype}[{shape}]", "data": a.tobytes()}

while head := requests.read(4):
    request = msgpack.unpackb(requests.read(*struct.unpack("<I", head)))
    results = []
    for item in request["items"]:
        try:
            results.append({"id": item["id"], "value": produce(item)})
        except Exception as error:
            results.append({"id": item["id"], "error": repr(error)})
    answer = msgpack.packb({"batch": request["batch"], "results": results})
    answers.write(struct.pack("<I", len(answer)) + answer)
    answers.flush()
