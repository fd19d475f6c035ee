#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# A producer for cachex fill (cachex-producer(5)): how often each byte is in a text.
import struct, sys
import msgpack, numpy as np

requests, answers = sys.stdin.buffer, sys.stdout.buffer
sys.stdout = sys.stderr  # what libraries print must not come between the answers

def produce(item):  # here goes the model
    a = np.bincount(np.frombuffer(item["text"].encode(), "u1"), minlength=256).astype("<f4")
    return {"$tensor": f"{a.dtype}[{','.join(map(str, a.shape))}]", "data": a.tobytes()}

while head := requests.read(4):
    request, results = msgpack.unpackb(requests.read(*struct.unpack("<I", head))), []
    for item in request["items"]:
        try:
            results.append({"id": item["id"], "value": produce(item)})
        except Exception as error:
            results.append({"id": item["id"], "error": repr(error)})
    answer = msgpack.packb({"batch": request["batch"], "results": results})
    answers.write(struct.pack("<I", len(answer)) + answer)
    answers.flush()
