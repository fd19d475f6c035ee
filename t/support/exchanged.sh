# SPDX-License-Identifier: BSD-2-Clause
# Sourced after tap.sh by the tests of import and export: what a module has, and what the
# tool said of it.
#
#   ids MODULE...        its cache_ids, with spaces behind them
#   same MODULE MODULE   the records of both are the same, in full
#   summary              what import printed, without sizes and rates

ids() { cachex ls -1 "$@" | tr '\n' ' '; }

same() {
	cachex dump "$1" >"$scratch/1.dump" && cachex dump "$2" >"$scratch/2.dump" &&
		cmp "$scratch/1.dump" "$scratch/2.dump"
}

summary() { sed 's/; .*//' "$out"; }
