#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh SRCDIR CC MAKE TARGET|all SECONDS JOBS: what `make fuzz` does.
srcdir=$1 cc=$2 make=$3 target=$4 seconds=$5 jobs=$6
build=fuzz/build local=fuzz/local findings=fuzz/findings

missing()
{
	echo "fuzz: $1" >&2
	exit 2
}

# Is there a clang, and has it libFuzzer?
$cc --version >/dev/null 2>&1 ||
	missing "no $cc; install clang and libFuzzer (Debian: clang, libclang-rt-14-dev)"
mkdir -p $build $local $findings || exit 2
echo 'int LLVMFuzzerTestOneInput(const char *d, long n); int LLVMFuzzerTestOneInput(const char *d, long n) { (void)d; return n < 0; }' >$build/probe.c
$cc -fsanitize=fuzzer,address,undefined -o $build/probe $build/probe.c 2>/dev/null ||
	missing "$cc has no libFuzzer; install it (Debian: libclang-rt-14-dev)"
rm -f $build/probe $build/probe.c

# On all processors, unless the caller's make says otherwise.
case ${MAKEFLAGS-} in
*-j*) parallel= ;;
*) parallel=-j$(getconf _NPROCESSORS_ONLN) ;;
esac
fuzz_make()
{
	$make $parallel --no-print-directory -f "$srcdir/fuzz/fuzz.mk" SRC="$srcdir" CONFIG=. OUT=$build \
		CC="$cc" "$@"
}
all=$(fuzz_make list) || exit 2
case $target in
all) targets=$all ;;
*) targets=$target
	for t in $targets; do
		case " $all " in
		*" $t "*) ;;
		*) missing "no target '$t'; there are: $all" ;;
		esac
	done ;;
esac
fuzz_make TARGETS="$targets" || missing "the targets do not build"

# The value of a final statistic, summed over the logs of a target.
stat_of()
{
	sed -n "s/^stat::$1: *//p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# One target: a log, findings as files, a line of the table.
run_target()
{
	t=$1 log=$build/$1.log dict= fork=
	corpus=$srcdir/fuzz/corpus/$t
	mkdir -p $local/$t
	test -f "$srcdir/fuzz/dict/$t.dict" && dict=-dict=$srcdir/fuzz/dict/$t.dict
	test "$jobs" -gt 1 && fork="-fork=$jobs -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1"
	UBSAN_OPTIONS=print_stacktrace=1 \
	ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=1 \
	$build/fuzz_$t -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
		-print_final_stats=1 -max_len=65536 -entropic=0 -artifact_prefix=$findings/$t- \
		$dict $fork $local/$t "$corpus" >$log 2>&1
	status=$?
	runs=$(stat_of number_of_executed_units $log)
	# With -fork only the progress lines have numbers.
	test "$runs" -gt 0 || runs=$(sed -n 's/^#\([0-9]*\):.*/\1/p' $log | tail -n 1)
	found=$(find $findings -name "$t-*" | wc -l)
	printf '%-12s %12s %10s %8s %9s\n' "$t" "${runs:-0}" \
		"$((${runs:-0} / (seconds > 0 ? seconds : 1)))" \
		"$(find $local/$t -type f | wc -l)" "$found"
	if test $status -ne 0 || test "$found" -gt 0; then
		grep -m1 'SUMMARY\|not true' $log
		echo "  log: $log; inputs: $findings/$t-*"
		failed=1
	fi
}

failed=0
printf '%-12s %12s %10s %8s %9s\n' target executions per_second corpus findings
for t in $targets; do
	run_target "$t"
done
exit $failed
