#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The command of examples/kubernetes.yaml for each of its indexes, with a pod killed and
# replaced. There is no cluster here: what it would set is set.
. "${srcdir:-.}/t/support/scale.sh"

dies later 0
export STORE="$store" INPUTS="$inputs" PRODUCER="$producer"
# The block below args: to the next key.
command=$(sed -n '/>-$/,/env:/{/>-$/d;/env:/d;p;}' "$examples/kubernetes.yaml")
pods=$(sed -n 's/^  completions: //p' "$examples/kubernetes.yaml")

pod() { mkdir "$2" && SCRATCH=$scratch/$2 JOB_COMPLETION_INDEX=$1 sh -c "$(echo $command)"; }

failed=
for index in $(seq 0 $((pods - 1))); do
	pod "$index" "scratch.$index" >>log 2>&1 || failed="$failed $index"
done
is "one pod failed" "$(echo $failed | wc -w)" 1
check "it is not published" 1 cachex publish "$store"
check "another one takes its place" 0 pod $failed scratch.new
check "now it is" 0 cachex publish "$store"
same_as_one_machine
finish
