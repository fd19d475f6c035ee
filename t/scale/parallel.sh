#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# examples/parallel.sh with a cachex killed, and again.
. "${srcdir:-.}/t/support/scale.sh"
needs parallel "GNU parallel"

dies later 0
on_engine "GNU parallel fills and publishes" "$examples/parallel.sh" "$store" "$inputs" \
    "$producer" 5
same_as_one_machine
before=$(starts)
on_engine "again, in other parts" "$examples/parallel.sh" "$store" "$inputs" "$producer" 3
is "nothing is made" "$(starts)" "$before"
finish
