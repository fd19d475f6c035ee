#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Run by `make check-long`: all attacks in turn for some hours in all.
#
#   check_long.sh HOURS ATTACKS ATTACK... -- ENGINE-TEST...
#
# ATTACKS names some of them, "" means all; "engine" is the engine's own tests with
# T_LONG=1. WEIGHTS says how the time is shared. Logs, directories of failing rounds and
# the table of this run and all before it are kept in check-long/; see README.

set -u
hours=${1:-} wanted=${2:-}
shift 2
case $hours in
''|*[!0-9.]*|*.*.*|.)
	echo "make check-long: say for how long, as in: make check-long HOURS=0.5" >&2
	exit 2 ;;
esac

attacks='' tests=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do attacks="$attacks $1"; shift; done
[ $# -eq 0 ] || { shift; tests=$*; attacks="$attacks engine"; }

name_of() { name=${1##*/}; name=${name%.sh}; echo "$name"; }

weight_of() {
	for pair in ${WEIGHTS:-}; do
		[ "${pair%%=*}" != "$1" ] || { echo "${pair#*=}"; return; }
	done
	echo 1
}

# Those that are wanted, and the sum of their weights.
chosen='' weights=0
for attack in $attacks; do
	name=$(name_of "$attack")
	case " ${wanted:-$name} " in *" $name "*) ;; *) continue ;; esac
	chosen="$chosen $attack"
	weights=$((weights + $(weight_of "$name")))
done
for name in $wanted; do
	case " $(for a in $chosen; do name_of "$a"; done | tr '\n' ' ') " in
	*" $name "*) ;;
	*) echo "make check-long: no attack '$name'" >&2; exit 2 ;;
	esac
done

out=$PWD/check-long
run=$(date +%Y%m%d-%H%M%S)-$$
mkdir -p "$out/$run" || exit 2
results=$out/results
failed=0

# A seed that nobody had before.
fresh_seed() { od -An -N7 -tu8 /dev/urandom | tr -d ' '; }

# run_one PROGRAM LOG: one attack or test, its output in the log.
run_one() {
	case $1 in
	*.sh) ${SHELL:-sh} "$srcdir/$1" ;;
	*) "./$1" ;;
	esac >>"$2" 2>&1
}

# The engine's tests in random order, until the time is over.
run_engine() {
	end=$(($(date +%s) + $1)) status=0 ran=0 bad=0
	while [ "$(date +%s)" -lt "$end" ]; do
		for test in $(for t in $tests; do echo "$t"; done | shuf); do
			[ "$(date +%s)" -lt "$end" ] || break
			T_SEED=$(fresh_seed) && export T_SEED
			echo "# T_LONG=1 T_SEED=$T_SEED $test" >>"$2"
			ran=$((ran + 1))
			T_LONG=1 run_one "$test" "$2" || { status=1 bad=$((bad + 1)); }
		done
	done
	unset T_SEED
	echo "# engine: $ran tests, $bad failures" >>"$2"
	return $status
}

for attack in $chosen; do
	name=$(name_of "$attack")
	log=$out/$run/$name.log
	seconds=$(awk -v h="$hours" -v w="$(weight_of "$name")" -v all="$weights" \
	    'BEGIN { s = h * 3600 * w / all; print s < 1 ? 1 : int(s) }')
	TORTURE_KEEP=$out/$run/$name
	mkdir "$TORTURE_KEEP"
	export TORTURE_KEEP srcdir builddir
	began=$(date +%s)
	echo "check-long: $name for $seconds s"
	if [ "$name" = engine ]; then
		run_engine "$seconds" "$log"
	else
		T_SEED=$(fresh_seed) TORTURE_SECONDS=$seconds && export T_SEED TORTURE_SECONDS
		run_one "$attack" "$log"
	fi
	status=$?
	unset T_SEED TORTURE_SECONDS
	said=$(sed -n "s/^# $name: //p" "$log" | tail -n 1)
	rmdir "$TORTURE_KEEP" 2>/dev/null
	if [ "$status" != 0 ]; then
		failed=$((failed + 1))
		echo "check-long: $name failed, see $log"
	fi
	printf '%s\t%s\t%s\t%s\n' "$name" "$(($(date +%s) - began))" "$status" "$said" \
	    >>"$results"
done

# All runs so far: equal words are one count.
awk -F '\t' '
{
	if (!($1 in seconds)) order[++n] = $1
	seconds[$1] += $2; runs[$1]++; bad[$1] += $3 != 0
	pieces = split($4, part, ", ")
	for (i = 1; i <= pieces; i++) {
		number = part[i]; sub(/ .*/, "", number)
		what = part[i]; sub(/^[^ ]* /, "", what)
		if (!(($1, what) in sum)) words[$1] = words[$1] SUBSEP what
		sum[$1, what] += number
	}
}
END {
	printf "%-12s %8s %5s %7s  %s\n", "attack", "seconds", "runs", "failed", "what was done"
	for (i = 1; i <= n; i++) {
		a = order[i]; text = ""
		count = split(substr(words[a], 2), said, SUBSEP)
		for (j = 1; j <= count; j++)
			text = text (j > 1 ? ", " : "") sprintf("%.0f", sum[a, said[j]]) " " said[j]
		printf "%-12s %8d %5d %7d  %s\n", a, seconds[a], runs[a], bad[a], text
		all += seconds[a]
	}
	printf "%-12s %8d\n", "all", all
}' "$results" | tee "$out/table"
echo "check-long: logs in $out/$run; $failed of this run failed"
[ "$failed" = 0 ]
