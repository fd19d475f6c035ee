#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Faults at random between cachex and a store on S3 (t/support/fault_proxy.py), under machines
# that push, publish, verify and pull at once. A command that a fault ends does so in time, with
# a line that names the object; what is stored and pulled is right, byte for byte.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/s3.sh"

seed=${T_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "# T_SEED=$seed"
seconds=${TORTURE_SECONDS:-0} least=${TORTURE_FAULTS:-300} machines=4 began=$(date +%s)

for i in 0 1 2 3 4 5; do
	awk -v i=$i 'BEGIN { for (k = 0; k < 4 + i % 3; k++)
		print substr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", i * 6 + k + 1, 1) }' >in$i
done
check "a module is filled" 0 cachex fill --root m0 feats -q -b 1 --chunk 2 \
	--exec "exec '$builddir/t/support/bad_producer' good" --from in0 in1 in2 in3 in4 in5
check "pushed to a directory" 0 cachex push --root m0 -q feats one
check "published" 0 cachex publish -q one
check "and pulled" 0 cachex pull -q one whole
sums() { (cd "$1" && find obj part run manifest -type f -exec sha256sum {} + | LC_ALL=C sort -k 2); }
sums one >one.sums
(cd whole && find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2) >whole.sums
for m in $(seq 1 $((machines - 1))); do cp -r m0 "m$m"; done

serve
proxy
rate=0.1
[ "$seconds" = 0 ] || rate=0.2
proxy_does --random $rate --seed "$seed"

# until_done COMMAND...: as machine $m, again and again, until no fault ends it.
until_done() {
	for try in $(seq 100); do
		[ ! -e enough ] || [ "$round" = 1 ] || return
		echo "$*" >>"log$m"
		timeout 300 "$CACHEX" "$@" >"out$m" 2>"err$m"
		status=$?
		case $status in
		0) [ ! -s "err$m" ] || echo "machine $m: $*: done, but: $(cat "err$m")" >>wrong; return ;;
		3|4)
			# verify prints what is damaged.
			[ "$1$status" != verify3 ] || sed -n 's/^/cachex: verify: /p; q' "out$m" >"err$m"
			cat "err$m" >>"errors$m"
			[ "$(grep -c . "err$m")" = 1 ] && grep -qE "$names" "err$m" ||
				echo "machine $m: $*: $(cat "err$m")" >>wrong ;;
		*) echo "machine $m: $*: status $status: $(cat "err$m")" >>wrong; return ;;
		esac
	done
	echo "machine $m: $*: not done in $try tries: $(cat "err$m")" >>wrong
}
# A line names an object, with one that holds rows the part; or the store that was listed.
names='^cachex: [a-z]+: (.*part in[0-5]: .*obj/'
names="$names|.*((part|run|manifest|probe)/[0-9a-zA-Z]|s3://bucket/[0-9-]*: GET: ))"
machine() { # M
	m=$1 round=0
	while [ ! -e enough ]; do
		round=$((round + 1))
		store=$m-$round url=s3://bucket/$m-$round
		until_done push --root "m$m" -q feats "$url"
		until_done publish -q "$url"
		until_done verify --deep "$url"
		until_done gc --older 0s -n "$url"
		[ ! -e enough ] || [ "$round" = 1 ] || return
		sums "s3/bucket/$store" | cmp -s - one.sums || echo "$url: other objects" >>wrong
		for _ in 1 2 3; do
			until_done pull -q "$url" "pulled$m"
			[ ! -e enough ] || [ "$round" = 1 ] || return
			(cd "pulled$m" && find . -type f ! -name '.*' -exec sha256sum {} + | LC_ALL=C sort -k 2) |
				cmp -s - whole.sums || echo "$url: pulled something else" >>wrong
			rm -rf "pulled$m"
		done
		rm -rf "s3/bucket/$store"
		echo "$round" >"rounds$m"
	done
}
jobs=''
for m in $(seq 0 $((machines - 1))); do
	machine "$m" &
	jobs="$jobs $!"
done
until [ -s wrong ] || { [ "$(faults .)" -ge "$least" ] &&
	[ $(($(date +%s) - began)) -ge "$seconds" ]; }; do
	sleep 0.2
done
: >enough
# shellcheck disable=SC2086 # they are words
wait $jobs
also "nothing is wrong" test ! -e wrong
[ ! -e wrong ] || show wrong
is "no redirection is followed" "$(faults '^TRAP')" 0
echo "# $(faults .) faults, $(cat errors? 2>/dev/null | grep -c .) commands ended by one, \
$(cat rounds? | awk '{ n += $1 } END { print n }') rounds, $(($(date +%s) - began)) s"
[ -z "${TORTURE_KEEP:-}" ] || [ ! -e wrong ] || cp -r "$scratch" "$TORTURE_KEEP/"
finish
