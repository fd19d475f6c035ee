#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# examples/ray_fill.py with a worker killed, and again.
. "${srcdir:-.}/t/support/scale.sh"
module ray
# Its sockets have paths of at most 107 bytes.
export RAY_TMPDIR="$scratch" RAY_USAGE_STATS_ENABLED=0

dies later 1
on_engine "Ray fills and publishes" "$python" "$examples/ray_fill.py" "$store" "$inputs" \
    "$producer" 5
same_as_one_machine
before=$(starts)
on_engine "again, in other tasks" "$python" "$examples/ray_fill.py" "$store" "$inputs" \
    "$producer" 3
is "nothing is made" "$(starts)" "$before"
finish
