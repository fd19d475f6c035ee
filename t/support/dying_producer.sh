#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A producer that once kills the worker that it runs in:
#
#	dying_producer.sh STORE WHEN ABOVE PRODUCER
#
# STORE is the store's directory; WHEN is first, or later: when a part is in the store;
# ABOVE is how many processes above cachex die with it, or the word requeue, for Slurm to do
# it. Each start adds a byte to STORE.starts.
store=$1 when=$2 above=$3 producer=$4

printf . >>"$store.starts"

# kill_upwards PID N: the process, and first of all N above it.
kill_upwards() {
	if [ "$2" -gt 0 ]; then
		kill_upwards "$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status")" $(($2 - 1))
	fi
	kill -KILL "$1"
}

pushed() {
	[ "$when" = later ] || return 0
	for receipt in "$store"/run/*/*.json; do
		case $receipt in */recipe.json) ;; *) [ -e "$receipt" ] && return ;; esac
	done
	return 1
}

if pushed && mkdir "$store.died" 2>/dev/null; then
	case $above in
	requeue)
		scontrol requeue "$SLURM_JOB_ID" &&
		    scontrol update JobId="$SLURM_JOB_ID" StartTime=now
		exec sleep 1000 ;; # until Slurm kills this
	*)
		cachex=$PPID
		until [ "$(cat "/proc/$cachex/comm")" = cachex ]; do
			cachex=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$cachex/status")
		done
		kill_upwards "$cachex" "$above" ;;
	esac
fi
exec "$producer"
