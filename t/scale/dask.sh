#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# examples/dask_fill.py with a worker killed, and again.
. "${srcdir:-.}/t/support/scale.sh"
module distributed

dies later 1
on_engine "Dask fills and publishes" "$python" "$examples/dask_fill.py" "$store" "$inputs" \
    "$producer" 5
same_as_one_machine
before=$(starts)
on_engine "again, in other tasks" "$python" "$examples/dask_fill.py" "$store" "$inputs" \
    "$producer" 3
is "nothing is made" "$(starts)" "$before"
finish
