#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# A producer for cachex fill, cachex-producer(5): counts the bytes of texts.
import struct, sys
import msgpack, numpy as np

requests, answers = sys.stdin.buffer, sys.stdout.buffer
sys.stdout = sys.stderr  # what libraries print must not get among the answers

def produce(item):  # the model goes here
    text = np.frombuffer(item["text"].encode(), "u1")
    a = np.bincount(text, minlength=256).astype("<f4")
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
