#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# examples/parallel.sh with a cachex killed, and again.
. "${srcdir:-.}/t/support/scale.sh"
needs parallel "GNU parallel"

dies later 0
check "GNU parallel fills and publishes" 0 "$examples/parallel.sh" "$store" "$inputs" \
    "$producer" 5
same_as_one_machine
before=$(starts)
check "again, in other parts" 0 "$examples/parallel.sh" "$store" "$inputs" "$producer" 3
is "nothing is made" "$(starts)" "$before"
finish
