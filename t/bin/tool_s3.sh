#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# push, publish, pull, ls, verify, gc, fill --push and export --push on a store in S3: what they
# do in a directory, over HTTP.
. "${srcdir:-.}/t/support/tap.sh"
grep -q '^#define HAVE_S3 1' "$builddir/config.h" ||
	{ echo "1..0 # SKIP built without libcurl"; exit 0; }
. "$srcdir/t/support/s3.sh"

producer="exec '$builddir/t/support/bad_producer' good"
for i in 0 1 2 3 4 5; do
	awk -v i=$i 'BEGIN { for (k = 0; k < 4 + i % 3; k++)
		print substr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", i * 6 + k + 1, 1) }' >in$i
done
all="in0 in1 in2 in3 in4 in5"
fill() { root=$1; shift; CACHEX_ROOT=$root cachex fill feats -q -b 1 --chunk 2 --exec "$producer" "$@" --from $all; }
on() { root=$1; shift; CACHEX_ROOT=$root "$CACHEX" "$@"; }
sums() { (cd "$1" && find obj part run manifest -type f -exec sha256sum {} + | LC_ALL=C sort -k 2); }

# has NAME out|err REGEX: what the last check printed has such a line.
has() { also "$1" grep -Eq -- "$3" "$scratch/.$2"; }

serve
s3=s3://bucket/feats
# The same objects as in a directory
fill m
check "push to a directory" 0 on m push -q feats there
check "push to S3" 0 on m push feats $s3
has "one line" out '^run [0-9a-f]{16}: 6 parts: 6 put; put 6 shards, '
check "again" 0 on m push feats $s3
has "nothing is put" out ': 6 parts: 6 there; put 0 shards, 0 B$'
check "publish" 0 cachex publish there
check "publish on S3" 0 cachex publish $s3
has "a generation" out '^generation 1: run [0-9a-f]{16}, 6 parts, 30 samples in 6 shards, '
check "once more" 0 cachex publish $s3
has "is there" out '^generation 1 \(there\): '
sums there >there.sums
sums s3/bucket/feats >s3.sums
also "byte for byte the same" cmp there.sums s3.sums
check "ls" 0 cachex ls $s3
has "lists a generation" out '^generation 1 +[0-9a-f]{16} +6 parts +30 samples +6 shards'
check "verify" 0 cachex verify --deep $s3
has "is good" out "^$s3: good; 1 generation, 6 shards, .* read$"

# Pull: each object once, all that is there is kept
: >"$requests"
check "pull" 0 cachex pull $s3 copy
is "a request for each shard" "$(requests '^GET bucket/feats/obj/')" 6
check "pull again" 0 cachex pull -q $s3 copy
is "no shard again" "$(requests '^GET bucket/feats/obj/')" 6
check "is good" 0 cachex shard verify copy
cachex pull -q there other
check "as from a directory" 0 diff -r other copy

# A damaged object is fetched twice, and named
bad=$(cd s3/bucket/feats && find obj -type f | LC_ALL=C sort | sed -n 3p)
cp "s3/bucket/feats/$bad" kept
printf 'X' | dd of="s3/bucket/feats/$bad" bs=1 seek=100 conv=notrunc 2>/dev/null
rm -rf copy
: >"$requests"
check "damage" 3 cachex pull $s3 copy
has "names part and object" err "^cachex: pull: part in[0-5]: $s3: $bad: SHA-256 is "
is "was asked for twice" "$(requests "^GET bucket/feats/$bad ")" 2
check "verify finds it" 3 cachex verify --deep $s3
has "by name" out "$bad"
check "push --check mends it" 0 on m push -q --check feats $s3
also "as it was" cmp kept "s3/bucket/feats/$bad"
check "pull then" 0 cachex pull -q $s3 copy

# What nothing names goes
echo x >x
mkdir -p s3/bucket/feats/obj/00
cp x s3/bucket/feats/obj/00/0000000000000000000000000000000000000000000000000000000000000000.twh1
find s3/bucket -type f -exec touch -d '30 days ago' {} +
check "gc" 0 cachex gc $s3 --keep 1
has "removes one" out '^removed 0 generations, 0 runs, 0 manifests of parts, 1 shard, '
check "publish makes all young" 0 cachex publish -q $s3
check "nothing is old" 0 cachex gc $s3 --keep 1
has "nothing goes" out '^removed 0 generations, 0 runs, 0 manifests of parts, 0 shards, '

# From other commands
check "fill --push" 0 fill n --push s3://bucket/filled
check "is published" 0 cachex publish -q s3://bucket/filled
on m export -q feats shards
check "export, and push of a directory" 0 cachex push -q ./shards s3://bucket/exported

# Stores without conditions
for does in --ignore-conditions --refuse-conditions; do
	server_does $does
	store=s3://bucket/alone$does
	check "$does: refused" 3 on m push feats $store
	has "with what to do" err 'or say --single-publisher if one process'
	also "nothing is stored" sh -c '! find "$1" -type f | grep .' sh "s3/bucket/alone$does"
	check "$does: alone" 0 on m push -q --single-publisher feats $store
	check "publish is refused" 3 cachex publish $store
	check "publish alone" 0 cachex publish -q --single-publisher $store
	rm -rf copy
	check "pull" 0 cachex pull -q $store copy
	check "is good" 0 cachex shard verify copy
done
server_does

# Options before the environment
AWS_ENDPOINT_URL=http://127.0.0.1:1 check "endpoint" 0 cachex ls $s3 --endpoint "$AWS_ENDPOINT_URL"
check "region" 4 cachex ls $s3 --region eu-west-9
check "path style" 0 cachex ls $s3 --endpoint "http://localhost:$server_port" --path-style no
check "no such profile" 2 cachex ls $s3 --profile nobody
has "says so" err "there is no profile 'nobody'"
AWS_SECRET_ACCESS_KEY=other check "wrong keys" 4 cachex ls $s3
has "the server's words" err "^cachex: ls: $s3: GET: HTTP status 403 SignatureDoesNotMatch: "
check "no such bucket" 4 cachex pull s3://none-such/x o
has "by name" err 's3://none-such/x: GET: HTTP status 404 NoSuchBucket'
check "nothing was published" 1 cachex pull s3://bucket/nothing o
finish
