#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What goes wrong between cachex and a store on S3: nothing wrong is stored or pulled, nothing
# hangs, and an error names the object, and the part where there is one.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/s3.sh"

producer="exec '$builddir/t/support/bad_producer' good"
for i in 0 1 2 3 4 5; do
	awk -v i=$i 'BEGIN { for (k = 0; k < 4 + i % 3; k++)
		print substr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", i * 6 + k + 1, 1) }' >in$i
done
all="in0 in1 in2 in3 in4 in5"
fill() { # ROOT [OPTION...]
	root=$1; shift
	CACHEX_ROOT=$root cachex fill feats -q -b 1 --chunk 2 --exec "$producer" "$@" --from $all
}
# Nothing here takes a minute.
on() { root=$1; shift; CACHEX_ROOT=$root timeout 60 "$CACHEX" "$@"; }
tool() { timeout 60 "$CACHEX" "$@"; }
files() { (cd "$1" && find obj part run manifest -type f 2>/dev/null | LC_ALL=C sort); }
sums() { (cd "$1" && find obj part run manifest -type f -exec sha256sum {} + | LC_ALL=C sort -k 2); }
object() { (cd "$1" && find obj -type f | LC_ALL=C sort | sed -n "$2p"); }
part_of() { # STORE OBJECT
	grep -l "${2##*/}" "$1"/part/*/*.json | xargs sed -n 's/.*"dataset_root": "\(.*\)",/\1/p'
}
same() { # NAME DIRECTORY: it holds what the directory `one` does
	sums one >.one; sums "$2" >.other
	also "$1" cmp .one .other
}
# fresh NAME: $url, $at: a store of that name, with what is in `one`.
fresh() {
	url=s3://bucket/$1 at=s3/bucket/$1
	mkdir -p "$at"
	cp -r one/obj one/part one/run one/manifest "$at"
}
background() { # COMMAND...: its process is $job, not of a shell around it
	"$@" >.job.out 2>.job.err </dev/null &
	job=$!
}
seen() { # REGEX: wait until the proxy has made such a fault
	for _ in $(seq 600); do
		[ "$(faults "$1")" = 0 ] || return 0
		sleep 0.1
	done
	return 1
}

serve --min-part 5
server_url=$AWS_ENDPOINT_URL
proxy
fill m
check "one store in a directory" 0 on m push -q feats file:one
check "is published" 0 tool publish -q one
first=$(object one 1) part=$(part_of one "$(object one 1)")

# A killed uploader
url=s3://bucket/killed at=s3/bucket/killed
proxy_does "--fault 'stall-request method=PUT key=killed/obj/ skip=2'"
CACHEX_ROOT=m background "$CACHEX" push -q -j 1 feats "$url"
also "an upload is under way" seen '^stall-request PUT'
kill -KILL "$job"; wait "$job" 2>/dev/null
is "and killed: what is there is whole" "$(cd "$at" && find obj -type f | while read -r f; do
	sha256sum <"$f" | grep -q "^$(basename "$f" .twh1) " || echo "$f"; done; files . | grep -c obj)" 2
proxy_does
check "it goes on" 0 on m push --json feats "$url"
is "with the rest" "$(sed 's/.*"shards":\([0-9]*\),.*/\1/' "$out" | tail -n 1)" 4
check "published" 0 tool publish -q "$url"
same "the same bytes as in a directory" "$at"

# A killed reader
proxy_does "--fault 'stall method=GET key=killed/obj/ skip=2'"
: >"$faults"
background "$CACHEX" pull -q -j 1 "$url" reader
also "a download is under way" seen '^stall GET'
kill -KILL "$job"; wait "$job" 2>/dev/null
also "and killed: there is no manifest" test ! -e reader/manifest.json
proxy_does
check "it goes on, too" 0 tool pull --json "$url" reader
is "with the rest of the shards" \
	"$(sed 's/.*"fetched":\([0-9]*\),.*"kept":\([0-9]*\),.*/\1 \2/' "$out")" "4 2"
is "which leaves nothing else" "$(find reader -type f | wc -l)" \
	"$(cachex pull -q one one.pulled; find one.pulled -type f | wc -l)"

# Tasks that push the same parts, and publishers, at once
url=s3://bucket/race at=s3/bucket/race
proxy_does "--random 0.3 --choose delay"
: >"$requests"
jobs=''
for i in 0 1 2 3; do
	cp -r m "m$i"
	CACHEX_ROOT=m$i timeout 60 "$CACHEX" push -q feats "$url" 2>".race$i" & jobs="$jobs $!"
done
ended=0; for job in $jobs; do wait "$job" || ended=$((ended + 1)); done
is "four tasks push the same parts" "$ended $(cat .race?)" "0 "
is "each receipt is put once" "$(requests '^PUT .*/run/[0-9a-f]*/[0-9]*\.json - 200$')" 6
jobs=''
for i in 0 1 2 3; do timeout 60 "$CACHEX" publish --json "$url" >".race$i" & jobs="$jobs $!"; done
ended=0; for job in $jobs; do wait "$job" || ended=$((ended + 1)); done
is "four publish" "$ended" 0
is "one generation, once" "$(sed 's/.*"generation":\([0-9]*\),"there":\([a-z]*\).*/\1 \2/' .race? |
	sort | uniq -c | tr -s ' ')" " 1 1 false
 3 1 true"
same "nothing else is there" "$at"
proxy_does

# A listing in many pages, and one that lags
fresh stale
server_does --max-keys 2
check "a listing of many pages" 0 tool verify "$url"
is "is whole" "$(cat "$out")" "$url: good; 1 generation, 6 shards, 26.0 KiB"
server_does --stale-list 1000000
check "a push that no listing shows" 0 on m push -q --producer other feats "$url"
other=$(ls "$at/run" | grep -v "^$(ls one/run)$")
check "is published by its name" 0 tool publish --json "$url" --recipe "$other"
is "as the next generation" "$(sed 's/.*"generation":\([0-9]*\),"there":\([a-z]*\).*/\1 \2/' "$out")" "2 false"
check "again" 0 tool publish --json "$url" --recipe "$other"
is "it is there" "$(sed 's/.*"generation":\([0-9]*\),"there":\([a-z]*\).*/\1 \2/' "$out")" "2 true"
check "pull finds it" 0 tool pull --json "$url" unlisted
is "also" "$(sed 's/.*"generation":\([0-9]*\).*/\1/' "$out")" 2
server_does

# Objects that are missing, replaced or damaged in the store
fresh bad
check "a good store is pulled" 0 tool pull -q "$url" good
cp "$at/$(object one 3)" "$at/$first"
check "of an object replaced by another good one" 3 tool pull "$url" replaced
also "the message names object and part" \
	grep -q "^cachex: pull: part $part: $url: $first: \(SHA-256 is\|has [0-9]* bytes\)" "$err"
also "none of it is there" test ! -e "replaced/$first"
cp "one/$first" "$at/$first"
printf X | dd of="$at/$first" bs=1 seek=100 conv=notrunc 2>/dev/null
: >"$requests"
check "of a bit that flipped at rest" 3 tool pull "$url" flipped
also "too" grep -q "^cachex: pull: part $part: $url: $first: SHA-256 is" "$err"
is "after it was fetched twice" "$(requests "^GET bucket/bad/$first [^ ]* 20[06]$")" 2
check "verify --deep finds it" 3 tool verify --deep "$url"
also "and names it" grep -q "^$url: part $part: $first: SHA-256 is" "$out"
truncate -s 100 "$at/$first"
check "one that is cut is found" 3 tool verify "$url"
rm "$at/$first"
check "of a missing one" 3 tool pull "$url" missing
is "the message, too" "$(cat "$err")" "cachex: pull: part $part: $url/$first: is missing"
check "push --check mends it" 0 on m push -q --check feats "$url"
same "byte for byte" "$at"

# Bytes that change on the way
fresh transit
proxy_does "--fault 'flip key=obj/ method=GET'"
check "a bit that flips once" 0 tool pull -q "$url" once
also "is repaired" sh -c 'cd once && find obj -type f | while read -r f; do
	cmp "$f" "../one/$f" || exit 1; done'
is "by one more request" "$(faults '^flip')" 1
proxy_does "--fault 'flip key=$first times=0'"
check "one that always flips" 3 tool pull "$url" always
also "is named with its part" grep -q "^cachex: pull: part $part: $url: $first: SHA-256 is" "$err"
also "and not kept" test ! -e "always/$first"
url=s3://bucket/up at=s3/bucket/up
: >"$requests"
proxy_does "--fault 'flip-request key=obj/ times=3'"
check "bits that flip in uploads" 0 on m push -q feats "$url"
is "are refused by the server" "$(requests '^PUT .* 400$')" 3
check "and published" 0 tool publish -q "$url"
same "the right ones arrive" "$at"
for fault in wrong-range short long no-length-cut cut-body wrong-content-range; do
	proxy_does "--fault '$fault key=obj/ method=GET'"
	check "$fault: pulled" 0 tool pull -q "$url" "$fault"
	is "$fault: files that differ" "$(cd "$fault" && find obj -type f | while read -r f; do
		cmp -s "$f" "../one/$f" || echo "$f"; done)" ""
done
proxy_does "--fault 'lost method=PUT every=2 times=0'"
url=s3://bucket/lost at=s3/bucket/lost
check "answers of puts that are lost" 0 on m push -j 1 --json feats "$url"
is "what was put is this task's" "$(sed 's/.*"put":\([0-9]*\).*"conflict":\([0-9]*\).*/\1 \2/' "$out" | tail -n 1)" "6 0"
proxy_does "--fault 'redirect times=0'"
: >"$faults"
check "a server that sends elsewhere" 4 tool pull "$url" elsewhere
is "is not followed" "$(faults '^TRAP')" 0
is "one line says so" "$(grep -c . "$err")" 1
proxy_does

# A clock that is wrong by a day
url=s3://bucket/clock at=s3/bucket/clock
for skew in 86400 -86400; do
	server_does --clock-skew $skew
	: >"$requests"
	check "a clock wrong by $skew s: pushed" 0 on m push -q feats "$url"
	check "and published" 0 tool publish -q "$url"
	is "after one refusal a command" "$(requests ' 403$')" 2
done
server_does
same "all is there" "$at"

# Keys that expire in the middle
url=s3://bucket/keys at=s3/bucket/keys
server_does --sessions 4
: >"$requests"
check "keys that are good for four requests" 0 env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY \
	AWS_CONTAINER_CREDENTIALS_FULL_URI="$server_url/_/credentials" CACHEX_ROOT=m \
	timeout 60 "$CACHEX" push -q -j 1 feats "$url"
also "are renewed" test "$(requests '^GET _/credentials')" -gt 3
server_does "--key test:secret:token:1000000000"
check "those that cannot be renewed" 4 env AWS_SESSION_TOKEN=token \
	timeout 60 "$CACHEX" publish "$url"
also "are an error, and which" grep -q "^cachex: publish: $url.*ExpiredToken" "$err"
server_does
check "the rest is published" 0 tool publish -q "$url"
same "nothing is missing" "$at"

# A server that is gone
url=s3://bucket/gone at=s3/bucket/gone
proxy_does "--fault 'down value=300 skip=5'"
check "for a moment: the push waits" 0 on m push -q feats "$url"
check "published" 0 tool publish -q "$url"
same "all is there, again" "$at"
proxy_does "--fault 'down value=60000 skip=3'"
rm -rf gone
check "for longer: an error" 4 tool pull -j 1 --retry-for 0 "$url" gone
also "that names it" grep -q "^cachex: pull: .*$url" "$err"
rm -rf gone
proxy_does "--fault 'reset times=0 method=GET key=gone/obj/'"
: >"$faults"
background "$CACHEX" pull -q -j 1 --retry-for 3600 "$url" gone
also "it is asked for again" seen '^reset GET'
kill -TERM "$job"; wait "$job" 2>/dev/null
is "until it is stopped" $? 143
proxy_does
port=$(cat "$scratch/.proxy.port")
check "and later" 4 env AWS_ENDPOINT_URL=http://127.0.0.1:1 timeout 60 "$CACHEX" pull "$url" gone2
is "in one line" "$(grep -c "$url" "$err")" 1

# A server that has no conditions
url=s3://bucket/none at=s3/bucket/none
server_does --ignore-conditions
check "one that ignores conditions" 3 on m push feats "$url"
also "is refused, with what to do" grep -q -e "^cachex: push: $url: .*--single-publisher" "$err"
is "nothing is there" "$(find "$at" -type f | wc -l)" 0
server_does --refuse-conditions
check "one that refuses them" 3 on m push feats "$url"
also "too" grep -q -e "^cachex: push: $url: .*--single-publisher" "$err"
check "of a single publisher it is taken" 0 on m push -q --single-publisher feats "$url"
check "and published there" 0 tool publish -q --single-publisher "$url"
same "the same bytes, again" "$at"
server_does --conflicts 3
url=s3://bucket/conflicts at=s3/bucket/conflicts
check "of conflicts of conditions" 0 on m push -q feats "$url"
check "another try is made" 0 tool publish -q "$url"
same "and all is there" "$at"
finish
