#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fill a module on the nodes of a Slurm cluster, each task of a job array its parts:
#
#	export STORE=file:///lustre/feats INPUTS=parts.txt PRODUCER='python3 embed.py'
#	job=$(sbatch --parsable --array=0-63 slurm.sh)
#	sbatch --dependency=afterok:$job --wrap "cachex publish $STORE"
#
# A task that is requeued, or killed and submitted again with any --array, makes what is
# missing and no more.
#SBATCH --job-name=fill
#SBATCH --array=0-3
#SBATCH --requeue
set -eu

# The disk of the node. What a task made there is in the store when the task ends.
root=$(mktemp -d "${TMPDIR:-/tmp}/fill.XXXXXX")
trap 'rm -rf "$root"' EXIT

cachex fill --root "$root" --shard auto --push "$STORE" \
    --from "@$INPUTS" --exec "$PRODUCER" feats
