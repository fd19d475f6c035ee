#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fill a module by GNU parallel, in N parts at once on this machine, or on several with a
# file of host names, which see the store and the inputs under the same paths:
#
#	parallel.sh STORE INPUTS PRODUCER [N [HOSTS]]
#
# Run it again after a failure: what is in the store is not made again.
set -eu
[ $# -ge 3 ] || { sed -n 's/^#	/usage: /p' "$0" >&2; exit 2; }
store=$1 inputs=$2 producer=$3 n=${4:-4} hosts=${5:-}

# Of each job a directory of its own: jobs on one machine need not wait for each other.
export CACHEX_FILL_EXEC="$producer" CACHEX_FILL_FROM="@$inputs" CACHEX_FILL_PUSH="$store"
seq 0 $((n - 1)) | parallel --joblog fill.log --retries 3 ${hosts:+--sshloginfile "$hosts"} \
    --env CACHEX_FILL_EXEC --env CACHEX_FILL_FROM --env CACHEX_FILL_PUSH \
    "cachex fill --root fill.{} --shard {}/$n feats && rm -r fill.{}"
cachex publish "$store"
