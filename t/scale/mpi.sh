#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The line for mpirun in cachex-fill(1): a process that dies ends the job; the same line with
# another number of processes makes the rest.
. "${srcdir:-.}/t/support/scale.sh"
needs mpirun "Open MPI"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fill() {
	timeout -k 10 900 mpirun --oversubscribe -n "$1" sh -c 'cachex fill --root "root.$OMPI_COMM_WORLD_RANK" \
	    --shard auto --push "$1" --from "@$2" --exec "$3" feats' - "$store" "$inputs" \
	    "$producer" >"$scratch/log" 2>&1
}

dies first 0
check "one of three processes is killed" 137 fill 3
check "two make the rest" 0 fill 2
check "it is published" 0 cachex publish "$store"
same_as_one_machine
finish
