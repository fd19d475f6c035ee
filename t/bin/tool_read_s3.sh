#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# read of a store on S3, while the network and the objects have faults: nothing wrong is given,
# nothing hangs, and an error names the object.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/s3.sh"

for i in $(seq 100 499); do
	printf '{"id":"r%d","dtype":"u8","shape":[500],"data":"%s"}\n' "$i" \
		"$(printf '%0500d' "$i" | base64 -w 0)"
done >records.jsonl
cachex load -q feats records.jsonl
cachex export -q feats shards --shard-size 8K
url=s3://bucket/feats order="--shuffle block --shares 2 --spread 2 --batch 4 --epochs 2"
cachex read ./shards $order --sum --json >want

serve
cachex push -q ./shards $url
cachex publish -q $url
server_url=$AWS_ENDPOINT_URL
proxy
proxy_url=$AWS_ENDPOINT_URL

read_store() { # OPTION...
	timeout 120 "$CACHEX" read $url $order --sum --json --stats --cache c "$@"
}
count() { jq "select(.store).store.$1" "$err"; }

check "without faults" 0 read_store --cache-size 1M
is "the same batches" "$(cat "$out")" "$(cat want)"
is "no request again" "$(count retries)" 0
: >"$requests"
check "again" 0 read_store --cache-size 1M
is "no object is asked for" "$(requests 'GET /bucket/feats/obj/')" 0

# Metrics count what --stats does.
metrics() { # FILE: each count of the store, and the batches, as --stats has them
	sed -n 's/^cachex_read_store_\([a-z_]*\){source="[^"]*"} \([0-9]*\)$/\1 \2/p' "$1" |
		sed 's/_total / /; s/^least_cache_bytes/least_cache/'
	sed -n 's/^cachex_read_\(batches\|examples\)_total{[^}]*} /\1 /p' "$1"
}
rm -rf c
proxy_does "--fault '503 method=GET key=obj/ every=9 times=6'"
check "--metrics" 0 read_store --cache-size 160K --metrics m.prom
metrics m.prom | LC_ALL=C sort >counted
jq -r '.store * {batches, examples} | del(.stall_ns, .retry_wait_ns) | .by_ranges |= (if . then 1 else 0 end) |
	to_entries[] | "\(.key) \(.value)"' "$err" | LC_ALL=C sort >said
is "the same counts" "$(cat counted)" "$(cat said)"
also "retries among them" grep -q '^retries 6$' counted
is "ended" "$(grep -E '^cachex_read_(running|success)' m.prom)" \
	"cachex_read_running{source=\"$url\"} 0
cachex_read_success{source=\"$url\"} 1"
check "that cannot be written" 4 read_store --cache-size 1M --metrics nowhere/m
proxy_does

# Of each kind some, in whole objects and in ranges. Sections are asked for once more, and by one
# thread, so that the next fault does not hit them again.
for size in 160K 48K; do
	[ $size = 160K ] && threads=2 || threads=0
	for fault in flip short cut-body 503 wrong-range bad-status; do
		rm -rf c
		proxy_does "--fault '$fault method=GET key=obj/ every=9 times=6'"
		: >"$faults"
		check "$fault, $size" 0 read_store --cache-size $size -j $threads
		is "$fault, $size: the same" "$(cat "$out")" "$(cat want)"
		also "$fault, $size: faults were made" test "$(faults "$fault")" -gt 0
	done
done

# An object that stays damaged, or is missing
object=$(cd s3/bucket/feats && find obj -type f | LC_ALL=C sort | head -n 1)
proxy_does "--fault 'flip key=$object times=0'"
rm -rf c
check "damaged each time" 3 read_store --cache-size 1M
also "is named, with its part" grep -q "$url/$object, part \\.: its SHA-256 is" "$err"
check "and by ranges" 3 read_store --cache-size 48K
also "likewise" grep -q "$url/$object: " "$err"
proxy_does
mv "s3/bucket/feats/$object" kept
rm -rf c
check "missing" 3 read_store --cache-size 1M
also "is named" grep -q "$url/$object" "$err"
mv kept "s3/bucket/feats/$object"
check "and there again" 0 read_store --cache-size 1M
is "the same as before" "$(cat "$out")" "$(cat want)"

# A reader that is killed, and the next one
rm -rf c
proxy_does "--fault 'stall method=GET key=obj/ skip=3'"
: >"$faults"
read_store --cache-size 1M >/dev/null 2>&1 &
reader=$!
for _ in $(seq 600); do
	[ "$(faults stall)" = 0 ] || break
	sleep 0.1
done
pkill -KILL -P $reader 2>/dev/null || kill -KILL $reader
wait $reader 2>/dev/null
proxy_does
check "after a reader that was killed" 0 read_store --cache-size 1M
is "all is the same" "$(cat "$out")" "$(cat want)"
export AWS_ENDPOINT_URL=$server_url
check "plan" 0 cachex plan $url $order --cache c --cache-size 1M --json
is "of the store" "$(jq .chunks "$out")" "$(find shards -name '*.twh1' | wc -l)"
wrong "a prefix where nothing is" 4 "cachex: read: s3://bucket/none: has no generation yet" \
	timeout 60 "$CACHEX" read s3://bucket/none --cache c
finish
