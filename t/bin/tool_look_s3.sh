#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# shard and warehouse, where they read, on a store in S3: what they print is what they print of
# the directory that was pushed, and damage there is named by its object.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/s3.sh"

# frame RUN NUMBER X1: a picture with one box
frame() {
	mkdir -p "data/$1/labels" "data/$1/images"
	cp photo.png "data/$1/images/$2.png"
	printf '{"frame_id":%d,"image":"images/%d.png","image_present":true,' "$2" "$2" \
		>"data/$1/labels/$2.json"
	printf '"labels":[{"bbox_norm":[0.125,0.25,%s,0.75]}]}\n' "$3" >>"data/$1/labels/$2.json"
}
base64 -d >photo.png <<-END
iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijCAAAAAXNSR0IArs4c6QAAACBJREFUOI1j
ZGBo4GJgoByxMAgwUAWMGjRq0KhBI9UgAPK6ApRUkkqeAAAAAElFTkSuQmCC
END
for i in 1 2 3 4 5 6 7; do
	frame run-$((i % 2)) $i 0.5$i
done
build() { cachex build -q --size 32x24 --shard-size 16K data wh; }
build
serve
url=s3://bucket/photos cache="--cache c"
cachex push -q ./wh/current/ $url
cachex publish -q $url
objects=$(jq -r '.shards[] | .checksum_sha256 | "obj/\(.[:2])/\(.).twh1"' wh/current/manifest.json)
object=$(echo "$objects" | head -n 1)
first=$(jq '.shards[0].samples' wh/current/manifest.json)
stored=s3/bucket/photos/$object
# The output without the names of files and objects.
plain() { jq -c 'del(.file, .warehouse)' "$@"; }

# shard
: >"$requests"
check "inspect" 0 cachex shard inspect $url $cache --json
plain "$out" >of_store
is "names the objects" "$(jq -r .file "$out")" "$(echo "$objects" | sed "s|^|$url/|")"
is "by ranges" "$(requests 'GET /bucket/photos/obj/[^ ]* - ')" 0
also "no copy stays" test ! -d c/obj
cachex shard inspect wh/current/*.twh1 --json | plain >of_files
is "as of files" "$(cat of_store)" "$(cat of_files)"
check "inspect a sample" 0 cachex shard inspect $url $cache --json --sample 0
plain "$out" >of_store
cachex shard inspect wh/current/*.twh1 --json --sample 0 | plain >of_files
is "the same sample" "$(cat of_store)" "$(cat of_files)"
check "inspect one shard" 0 cachex shard inspect $url/$object $cache --json
is "only that" "$(jq -r .file "$out")" "$url/$object"
none=obj/00/$(printf %064d 0).twh1
wrong "a shard of another generation" 1 \
	"cachex: shard: $url/$none: is not in the generation" \
	cachex shard inspect $url/$none $cache
check "a sample that no shard has" 1 cachex shard inspect $url/$object $cache --sample 9
is "is said" "$(cat "$err")" "cachex: shard: $url/$object: no sample 9; there are $first samples"
check "extract" 0 cachex shard extract $url $cache -o of_store.d
cachex shard extract -q wh/current/*.twh1 -o of_files.d
check "the same files" 0 diff -r of_store.d of_files.d
is "21 of them" "$(ls of_store.d | wc -l)" 21
check "verify" 0 cachex shard verify $url
is "good" "$(cat "$out")" "$url: good"
check "verify one shard" 0 cachex shard verify $url/$object
is "that is good" "$(cat "$out")" "$url/$object: good"
wrong "union" 2 \
	"cachex: shard: $url: union joins directories; cachex pull fetches a generation into one" \
	cachex shard union u $url

# warehouse
check "warehouse inspect" 0 cachex warehouse inspect $url $cache --shards --json
is "path, samples, files" \
	"$(jq -c '[.path, .samples, .shards, .dtype, [.files[].path]]' "$out")" \
	"$(echo "$objects" | jq -Rsc --arg url $url \
		'[$url, 7, 3, "f16", (split("\n") | map(select(. != "")))]')"
check "warehouse verify" 0 cachex warehouse verify $url $cache --json
is "samples and boxes" "$(cat "$out")" \
	'{"warehouse":"'$url'","ok":true,"stale":false,"findings":0,"samples":7,"boxes":7}'
check "report" 0 cachex warehouse report $url $cache --csv tables.csv -o page.html \
	--sqlite tables.db --parquet tables --json
is "of all samples" "$(jq .samples "$out")" 7
for object_named in $objects; do
	also "the page has $object_named" grep -q "$object_named" page.html
done
wrong "use" 2 "cachex: warehouse: $url: this works on versions in a directory; use \
cachex gc for the generations of a store" cachex warehouse use $url v1
wrong "prune" 2 "cachex: warehouse: $url: this works on versions in a directory; use \
cachex gc for the generations of a store" cachex warehouse prune $url --keep 1 -f

# two generations
frame run-2 8 0.625
build
run=$(cachex push ./wh/current/ $url --producer two --json | jq -r 'select(.run).run')
cachex publish -q $url --recipe "$run"
check "list" 0 cachex warehouse list $url --json
is "generations" "$(jq -c '[.generation, .current, .samples]' "$out")" "[1,false,7]
[2,true,8]"
check "list as text" 0 cachex warehouse list $url
is "with a star" "$(cut -c 1-26 "$out")" "   generation 1  7 samples
*  generation 2  8 samples"
check "compare the directory" 1 cachex warehouse compare wh $url $cache --json
is "the same samples" "$(tail -n 1 "$out" | jq -c '[.unchanged, .changed, .added, .removed]')" \
	'[8,0,0,0]'
check "compare generations" 1 cachex warehouse compare $url@1 $url $cache -l
is "one is new" "$(tail -n 2 "$out")" "added: run-2/8
samples: 1 added, 0 removed, 0 changed, 7 same"
check "an older one" 0 cachex warehouse verify $url@1 $cache
is "has fewer" "$(cat "$out")" "$url: good, 7 samples"
check "the same by its option" 0 cachex warehouse verify $url $cache --generation 1
is "has fewer" "$(cat "$out")" "$url: good, 7 samples"
check "drift of generations" 1 cachex warehouse report --drift $url@1 $url \
	$cache --json
is "7 and 8 samples" "$(tail -n 1 "$out" | jq -c '[.old.samples, .new.samples]')" '[7,8]'
wrong "no such generation" 4 "cachex: shard: $url: has no generation 7" \
	cachex shard verify $url@7

check "ls of one" 0 cachex ls $url@1
is "its part" "$(wc -l <"$out")" 1
check "read an older one" 0 cachex read $url@1 $cache --json
is "all of it" "$(wc -l <"$out")" 7
wrong "verify where nothing was pushed" 1 "cachex: verify: s3://bucket/none: nothing was pushed there" \
	cachex verify s3://bucket/none
check "ls where nothing was pushed" 0 cachex ls s3://bucket/none
is "says so" "$(cat "$err")" "cachex: ls: s3://bucket/none: nothing was pushed there"
for command in "read" "warehouse inspect" "warehouse verify" "shard verify"; do
	case $command in warehouse*) want=3 ;; *) want=2 ;; esac
	check "$command of a directory of a store" $want cachex $command ./s3/bucket/photos
	is "$command says how" "$(cat "$err")" \
		"cachex: ${command%% *}: ./s3/bucket/photos: is a store; name it file:./s3/bucket/photos"
done
wrong "export into a store" 2 "cachex: export: s3://bucket/x: export writes files; --push s3://bucket/x \
puts shards into a store" cachex export samples s3://bucket/x
wrong "build into a store" 2 "cachex: build: s3://bucket/x: build makes a directory; --push s3://bucket/x \
puts its shards into a store" cachex build data s3://bucket/x
wrong "pull into a store" 2 "cachex: pull: s3://bucket/x: pull fetches into a directory" \
	cachex pull $url s3://bucket/x
also "no directory was made" test ! -d s3:

# Damage in the store
printf '!' | dd of="$stored" bs=1 seek=5000 conv=notrunc 2>/dev/null
check "verify finds it" 3 cachex shard verify $url --generation 1
is "and names it" "$(tail -n 1 "$out")" "$url: damaged"
also "the object" grep -q "$object: .*SHA-256" "$out"
check "the shard alone" 3 cachex shard verify $url/$object
check "inspect by ranges" 3 cachex shard inspect $url/$object $cache --generation 1
also "names it" grep -q "$url/$object: sample 0: bytes" "$err"
rm -rf c
check "warehouse verify" 3 cachex warehouse verify $url $cache --generation 1
is "one finding, and the others" "$(tail -n 1 "$out")" "$url: 1 finding"
also "that names it" grep -q "^$url/$object, part \\.: its SHA-256 is" "$out"
rm "$stored"
check "missing" 3 cachex warehouse verify $url $cache --generation 1
also "is said" grep -q "$url/$object" "$out"
check "missing, to shard verify" 3 cachex shard verify $url --generation 1
also "is said as well" grep -q "$object: is missing" "$out"
finish
