#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Records of an opaque dtype: every way in and out, and what refuses them.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/exchanged.sh"

printf 'abcdefghijkl0123456789AB' >raw
check "put" 0 cachex put m a raw --dtype opaque12:pose --shape 2
also "again, coded" cachex put m b raw --dtype opaque12:pose --shape 2 --codec shuffle-lz4
check "get its bytes" 0 cachex get m a --format raw
also "are those that were put" cmp "$out" raw
is "ls" "$(cachex ls m)" "a  opaque12:pose[2]  24 B
b  opaque12:pose[2]  24 B"
is "ls --json" "$(cachex ls m --json | head -n 1 | cut -d, -f1-4)" \
	'{"id":"a","dtype":"opaque12:pose","shape":[2],"bytes":24'
is "schema" "$(cachex schema m | sed 's/  .*//')" "opaque12:pose[*]"
is "schema --json" "$(cachex schema m --json | grep -o '"structure":"[^"]*"')" \
	'"structure":"opaque12:pose[*]"'
also "stat" sh -c '"$1" stat m | grep -q "^  opaque12:pose\[\*\]  2 records"' sh "$CACHEX"
check "verify" 0 cachex verify m
check "compact" 0 cachex compact m
check "a copy" 0 cachex copy m copy
also "is the same" same m copy
check "get --bits" 0 cachex get m a --bits -o a.npy
is "is a void of NumPy" "$(head -c 70 a.npy | tail -c 60)" \
	"{'descr': '|V12', 'fortran_order': False, 'shape': (2,), }  "
check "back" 0 cachex put m back a.npy --dtype opaque12:pose
also "is the same" sh -c '"$1" get m back --format raw | cmp - raw' sh "$CACHEX"
cachex rm -f m back

# As JSON
is "dump" "$(cachex dump m | head -n 1)" \
	'{"id":"a","dtype":"opaque12:pose","shape":[2],"data":"YWJjZGVmZ2hpamtsMDEyMzQ1Njc4OUFC"}'
also "load" sh -c '"$1" dump m | "$1" load loaded' sh "$CACHEX"
also "is the same" same m loaded
echo '{"points":{"$tensor":"opaque12:pose[2]","data":"YWJjZGVmZ2hpamtsMDEyMzQ1Njc4OUFC"},"n":3}' >v.json
check "part of a value" 0 cachex put v a v.json
is "out again" "$(cachex get v a --data)" "$(cat v.json)"
is "its structure" "$(cachex ls v | sed 's/  [0-9]* B$//')" \
	"a  {points: opaque12:pose[2], n: integer}"
check "a directory" 0 cachex get v a -o set/
check "back from it" 0 cachex put v b set
also "is the same" sh -c 'test "$("$1" get v b --data)" = "$(cat v.json)"' sh "$CACHEX"

# Read in an order
check "read" 0 cachex read m --batch 2 --npy batch --bits
also "gives the bytes of both" \
	sh -c 'cat raw raw >both; tail -c 48 batch/batch-00000000.npy | cmp - both'
is "in an array of them" "$(head -c 72 batch/batch-00000000.npy | tail -c 62)" \
	"{'descr': '|V12', 'fortran_order': False, 'shape': (2, 2), }  "
wrong "read without --bits" 3 "cachex: read: .npy has no opaque12:pose; use --bits" \
	cachex read m --batch 2 --npy other
check "read --frames" 0 cachex read m --batch 2 --frames
also "names it" env LC_ALL=C grep -aq 'dtype.opaque12:pose' "$out"

# As raw bits in files, of any size
printf '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL' >bytes
for size in 1 2 3 4 8 12 16 24 48; do
	cachex put "t$size" a/b bytes --dtype "opaque$size:part" --shape "$((48 / size))"
	check "$size bytes as .npz" 0 cachex export "t$size" "$size.npz" --bits
	check "$size bytes back" 0 cachex import "z$size" "$size.npz" --bits "opaque$size:part"
	also "$size bytes are what they were" same "t$size" "z$size"
	check "$size bytes as .npy" 0 cachex export "t$size" "$size.d" --format npy --bits
	check "$size bytes back from it" 0 \
		cachex import "y$size" "$size.d/a/b.npy" --id a/b --bits "opaque$size:part"
	also "$size bytes are what they were again" same "t$size" "y$size"
done
check "of a tar" 0 cachex export t12 t.tar --bits
check "back from it" 0 cachex import w12 t.tar --bits opaque12:part
also "what it was" same t12 w12

# What it is no part of
wrong "JSON" 3 '{"error":{"command":"get","exit":3,"message":"JSON cannot hold numbers of opaque12:pose; use --format raw, or dump"}}' \
	cachex get m a --json
wrong ".npy" 3 "cachex: get: .npy has no opaque12:pose; use --format raw, or --bits" \
	cachex get m a
wrong "npz" 3 "cachex: export: 'a': .npy has no name for opaque12:pose; it can hold the raw bits" \
	cachex export m m.npz
wrong "webdataset" 3 "cachex: export: 'a.npy': .npy has no name for opaque12:pose; it can hold the raw bits" \
	cachex export m m.tar
wrong "safetensors" 3 "cachex: export: 'a': safetensors has no dtype opaque12:pose" \
	cachex export m m.safetensors
wrong "MDS" 3 "cachex: export: 'a': MDS has no arrays of opaque12:pose" \
	cachex export m mds --format mds --bits
wrong "TWH1" 3 "cachex: export: shards have no opaque dtype: opaque12:pose" \
	cachex export m shards
is "nothing is left of them" "$(find . -name 'm.*' ! -name m; find mds shards -type f 2>/dev/null)" ""
wrong "a picture" 3 "cachex: view: the elements of opaque12:pose are not numbers" \
	cachex view m a -o a.png
check "statistics" 1 cachex stat --values m
is "name each" "$(cat "$err")" "cachex: stat: m: 'a': the elements of opaque12:pose are not numbers
cachex: stat: m: 'b': the elements of opaque12:pose are not numbers"
wrong "other bits" 3 "cachex: put: a.npy: raw elements of 12 bytes cannot be opaque13:pose" \
	cachex put m x a.npy --dtype opaque13:pose
wrong "bits without a dtype" 3 "cachex: put: a.npy: raw elements of 12 bytes: their dtype must be given (opaque12:NAME)" \
	cachex put m x a.npy
also "a name of none" sh -c '"$1" put m x raw --dtype opaque65:x --shape 1 2>&1 |
	grep -q "^cachex: put: --dtype: an opaque element has 1 to 64 bytes, not 65; known are bool, .* and opaqueSIZE:NAME$"' sh "$CACHEX"

# In a strict module another name is another structure
cachex set m policy=strict >"$out"
wrong "another size" 3 \
	"cachex: put: 'c': the module is strict and holds opaque12:pose[*], not opaque6:pose[*]" \
	cachex put m c raw --dtype opaque6:pose --shape 4
wrong "another name" 3 \
	"cachex: put: 'c': the module is strict and holds opaque12:pose[*], not opaque12:Pose[*]" \
	cachex put m c raw --dtype opaque12:Pose --shape 2
finish
