#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# build: options, exit statuses, and what it tells while it works and afterwards.
. "${srcdir:-.}/t/support/tap.sh"

mkdataset=$builddir/t/support/mkdataset
export SOURCE_DATE_EPOCH=1700000000
for variable in $(env | sed -n 's/^\(WAREHOUSE_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done

# A value of the JSON line.
value() { jq -r "$1" "$out"; }
manifest() { jq -r "$2" "$1/current/manifest.json"; }
build() { cachex build set wh --size 48x32 "$@"; }

"$mkdataset" make set 10
if ! command -v jq >/dev/null; then
	skip "build" "jq is not installed"
	finish
	exit 0
fi

# What it makes
check "build" 0 build
is "the version first" "$(head -n 1 "$out" | sed 's/-[0-9a-f]*$//')" "wh/v20231114"
is "the counts" "$(sed -n 's/^  \(frames\|samples\|  no_labels\|boxes\|  above the limit\) *\([0-9]*\)$/\1 \2/p' "$out")" \
"frames 20
samples 16
  no_labels 4
boxes 40"
is "every phase" "$(awk '/share/ { on = 1; next } on { print $1 }' "$out" | tr '\n' ' ')" \
	"scan read label decode resize store export wall "
is "nothing else" "$(cat "$err")" ""
is "its files" "$(ls wh/current/ | tr '\n' ' ')" \
	"manifest.json rejected.jsonl shard-000000.twh1 sources.txt "
check "the shards are good" 0 cachex shard verify wh/current/
is "dataset_root" "$(manifest wh .dataset_root)" set
is "created" "$(manifest wh .created_at_ms)" 1700000000000
is "the version is its recipe's" "$(manifest wh .version)" \
	"$(manifest wh .version_recipe | tr -d '\n' | sha256sum | cut -d ' ' -f 1)"
is "sources.txt" "$(manifest wh .warehouse.sources_sha256)" \
	"$(sha256sum <wh/current/sources.txt | cut -d ' ' -f 1)"
is "rejected.jsonl" "$(manifest wh .warehouse.rejected_sha256)" \
	"$(sha256sum <wh/current/rejected.jsonl | cut -d ' ' -f 1)"
is "a rejected frame" "$(head -n 1 wh/current/rejected.jsonl)" \
	'{"run":"a","name":"f4","label":"a/labels/f4.json","image":"a/images/f4.png","reason":"no_labels","detail":"a/labels/f4.json: has no boxes"}'
is "samples are kept" "$(cachex ls --root wh samples -1 | wc -l | tr -d ' ')" 20

# Again
check "again" 0 build
is "up to date" "$(sed 's/-[0-9a-f]*:/:/' "$out")" \
	"wh/v20231114: up to date, 16 samples in 1 shard"
check "pushed" 0 build --push store
is "as a part" "$(tail -n 1 "$out" | sed 's/^run [0-9a-f]*: \(.*\); put.*/\1/')" "1 part: 1 put"
check "published" 0 cachex publish -q store
check "and pulled" 0 cachex pull -q store pulled
is "are the same samples" "$(cachex read ./pulled --batch 8 --sum)" "$(cachex read ./wh --batch 8 --sum)"
wrong "--push of a task" 2 "cachex: build: --push: a task writes no version that could be pushed" \
	cachex build set part --shard 0/2 --push store
check "again as JSON" 0 build --json
is "says so" "$(value '[.status,.up_to_date,.frames,.samples,.reused,.rejected.no_labels,.shards,.totals.total,.dry_run]|tojson')" \
	'["ok",true,20,16,20,4,1,20,false]'
check "again, quietly" 0 build -q
is "says nothing" "$(cat "$out" "$err")" ""
check "--rehash" 0 build --rehash --json
is "reads it all, to find nothing" "$(value '[.up_to_date,.reused,.bytes_read>0]|tojson')" \
	'[true,20,true]'
check "the limits alone" 0 build --max-empty 4
also "are noted anew" grep -q 'up to date, .*; its limits' "$out"
is "in the manifest" "$(manifest wh .thresholds.max_empty)" 4
before=$(readlink wh/current)
"$mkdataset" frame set a 3 20 20 1 77
"$mkdataset" settle set
check "a frame that has changed" 0 build --json
is "is all that is read" "$(value '[.up_to_date,.reused]|tojson')" '[false,19]'
also "the old version stays" test -d "wh/$before"
also "the new one is another" test "$before" != "$(readlink wh/current)"
check "WAREHOUSE_CLEAR" 0 env WAREHOUSE_CLEAR=1 "$CACHEX" build set wh --size 48x32 --json
is "forgets it all" "$(value '[.up_to_date,.reused]|tojson')" '[false,0]'
check "--no-clear" 0 env WAREHOUSE_CLEAR=1 "$CACHEX" build set wh --size 48x32 --json --no-clear
is "beats it" "$(value .up_to_date)" true
check "--clear" 0 build --clear --json
is "forgets it, too" "$(value .reused)" 0

# Options that change what is made
check "many options" 0 cachex build set other --size 32 --fit cover --pad ff8000 \
	--alpha over --dtype f32 --max-boxes 3 --no-skip-empty --min-visible 0.5 \
	--boxes-stored --ignore-orientation --dct-scale --max-pixels 100000 \
	--shard-size 64K --layout capture --dataset-root there/ -j 2
is "stand in the recipe" "$(manifest other .version_recipe)" \
	'{"dataset_root":"there","target_size":[32,32],"resize_mode":"Cover","max_boxes":3,"skip_empty":false,"code_version":"0.1.1","dtype":"f32","pad":[255,128,0],"alpha":"over","orientation":"ignore","dct_scale":true,"max_pixels":100000,"min_visible":0.5,"boxes":"stored","shard_bytes":65536}'
is "shards" "$(manifest other '.shards|length')" \
	"$(find other/current/ -name '*.twh1' | wc -l | tr -d ' ')"
check "version 1" 0 cachex build set v1 --size 16 --shard-version 1
is "has no metadata" "$(manifest v1 '.shards[0].shard_version')" 1
check "u8" 0 cachex build set u8 --size 16 --dtype u8
is "in the manifest" "$(manifest u8 '.shards[0].dtype')" U8
check "buckets" 0 cachex build set buckets --buckets 48x32,32x48
is "are directories" "$(find buckets/current/ -name '*.twh1' | sed 's/.*current.//' | sort | tr '\n' ' ')" \
	"32x48/shard-000000.twh1 48x32/shard-000000.twh1 "
check "buckets that are learned" 0 cachex build set learned --buckets 2 --size 128
is "are in the recipe" "$(manifest learned .version_recipe | grep -c '"buckets":\[\[')" 1
check "seven buckets" 0 cachex build set seven --buckets default -n --json
is "and a dry run" "$(value '[.samples,.dry_run,.version_dir]|tojson')" '[16,true,null]'
also "writes nothing" test ! -e seven
mkdir plain
"$mkdataset" image plain/p1.jpg 30 20 1
"$mkdataset" image plain/p2.png 30 20 2
check "images without labels" 0 cachex build plain un --unlabelled --size 16 --json
is "are all samples" "$(value '[.samples,.totals.empty]|tojson')" '[2,2]'

# Frames that are no samples
cp -r set bad
for n in 0 1 2 3 5 6 7 8; do
	test "$n" = 8 || rm "bad/a/images/f$n.png"
	echo '{"image":"images/f1.png","labels":[{}]}' >"bad/b/labels/f$n.json"
done
"$mkdataset" settle bad
check "bad frames" 0 cachex build bad bad-wh --size 16
is "ten are named" "$(grep -c '^cachex: build: no_[a-z]*: [ab]/' "$err")" 10
is "the rest is counted" "$(tail -n 1 "$err" | sed 's/-[0-9a-f]*\//\//')" \
	"cachex: build: and 5 more: see bad-wh/v20231114/rejected.jsonl"
is "all are listed" "$(jq -r .reason bad-wh/current/rejected.jsonl | sort | uniq -c | tr -s ' ')" \
" 8 no_box
 7 no_file
 4 no_labels"
is "with reasons" "$(grep -c no_box "$out")$(grep -c no_file "$out")" 11
before=$(readlink bad-wh/current)
limit() {
	what=$1 status=$2; shift 2
	check "$what" "$status" cachex build bad bad-wh --size 16 -q "$@"
}
limit "--max-invalid 8" 0 --max-invalid 8
limit "--max-invalid 7" 1 --max-invalid 7
is "names the limit" "$(tail -n 1 "$err")" \
	"cachex: build: bad: invalid 8 of 20 frames, limit 7"
is "leaves the list of all" "$(jq -r .reason bad-wh/rejected.jsonl | sort | uniq -c | tr -s ' ')" \
" 8 no_box
 7 no_file
 4 no_labels"
check "and names it" 1 cachex build bad bad-wh --size 16 --max-invalid 7
is "where not all are told" "$(sed -n '/more/p' "$err")" \
	"cachex: build: and 5 more: see bad-wh/rejected.jsonl"
check "a build that makes a version" 0 cachex build bad bad-wh --size 16 -q
also "removes the list" test ! -e bad-wh/rejected.jsonl
check "a new warehouse" 1 cachex build bad bad-new --size 16 -q --max-missing 0
is "has the list" "$(wc -l <bad-new/rejected.jsonl | tr -d ' ')" 19
limit "--max-missing 35%" 0 --max-missing 35%
limit "--max-missing 34.9%" 1 --max-missing 34.9%
limit "--max-missing 8,34.9%" 1 --max-missing 8,34.9%
limit "--max-empty 3" 1 --max-empty 3
limit "--thresholds warn" 0 --max-empty 3 --thresholds warn
limit "no frame is good" 1 --max-pixels 1
is "current is what it was" "$(readlink bad-wh/current)" "$before"
variable() {
	what=$1 status=$2; shift 2
	check "$what $*" "$status" env "$@" "$CACHEX" build bad bad-wh --size 16 -q
}
variable "a variable:" 1 WAREHOUSE_MAX_INVALID=7
variable "a variable:" 0 WAREHOUSE_MAX_INVALID=8
variable "a variable:" 1 WAREHOUSE_MAX_MISSING_RATIO=0.34
variable "variables:" 0 WAREHOUSE_MAX_MISSING_RATIO=0.34 WAREHOUSE_THRESHOLDS=warn
variable "the option's variable wins:" 0 WAREHOUSE_MAX_EMPTY=1 CACHEX_BUILD_MAX_EMPTY=9
check "the option wins" 0 env WAREHOUSE_MAX_EMPTY=1 "$CACHEX" build bad bad-wh \
	--size 16 -q --max-empty 100%
check "limits as JSON" 1 cachex build bad bad-wh --size 16 --max-empty 1 --json -q
is "have the counts" "$(value '[.status,.totals.invalid,.totals.missing_file]|tojson')" \
	'["failed",8,7]'

# Labels without an image, images that are not read
mkdir -p half/images half/labels jxl
"$mkdataset" image half/images/a.png 30 20 1
for name in a b c; do echo 0 0.5 0.5 0.5 0.5 >half/labels/$name.txt; done
echo RIFF >half/images/c.jxl; echo RIFF >half/images/d.jxl; echo GIF >half/images/e.gif
check "labels without an image" 0 cachex build half half-wh --size 16 --json
is "are frames" "$(value '[.frames,.samples,.totals.missing_file]|tojson')" '[3,1,2]'
is "what is ignored is counted by its ending" "$(value '.ignored|tojson')" '{"gif":1,"jxl":2}'
is "and named, as what was ignored is" "$(jq -r .note.message "$err")" \
"warning: ignored 3 images of kinds that are not read: 1 .gif, 2 .jxl
no_file: labels/b.txt: no image has its name
no_file: labels/c.txt: the image has a format that is not read"
check "--max-missing 1" 1 cachex build half half-wh --size 16 -q --max-missing 1
is "trips" "$(tail -n 1 "$err")" "cachex: build: half: missing 2 of 3 frames, limit 1"
check "an image that comes" 0 sh -c '"$1" image half/images/b.png 30 20 2 && "$2" build half half-wh --size 16 --json' sh "$mkdataset" "$CACHEX"
is "makes its frame a sample" "$(value '[.frames,.samples,.totals.missing_file]|tojson')" '[3,2,1]'
for name in a b c; do echo RIFF >jxl/$name.jxl; done
refuse "only images that are not read" 3 "cachex: build: jxl: no frames of the layout 'unlabelled'; ignored 3 images of kinds that are not read: 3 .jxl" \
	cachex build jxl jxl-wh --unlabelled -q

# Names of classes
mkdir -p named/images named/labels
"$mkdataset" image named/images/a.png 100 100 1
"$mkdataset" image named/images/b.png 100 100 2
printf '0 0.5 0.5 0.5 0.5\n2 0.25 0.25 0.25 0.25\n' >named/labels/a.txt
echo 3 0.5 0.5 0.5 0.5 >named/labels/b.txt
"$mkdataset" settle named
check "without names" 0 cachex build named named-wh --size 64 --json
is "all ids are good" "$(value '[.samples,.boxes]|tojson')$(manifest named-wh .warehouse.classes)" '[2,3]null'
printf 'cat\n\nd<o>g\n' >named/classes.txt
check "with names" 0 cachex build named named-wh --size 64 --json
is "an id outside is a reason" "$(value '[.samples,.rejected.unknown_class]|tojson') $(jq -r .note.message "$err")" \
	"[1,1] unknown_class: labels/b.txt: label 1: there is no name for class 3 among 3"
is "they are in the manifest" "$(manifest named-wh '.warehouse.classes|tojson')" '["cat",null,"d<o>g"]'
check "a report" 0 cachex warehouse report named-wh -o named.html --sqlite named.db
also "names them" grep -q 'd&lt;o&gt;g' named.html
if command -v sqlite3 >/dev/null; then
	is "also as a database" "$(sqlite3 named.db 'SELECT class_id, boxes, name FROM classes' | tr '\n' ' ')" \
		"0|1|cat 2|1|d<o>g "
else
	skip "also as a database" "no sqlite3"
fi
mv named-wh named-ids
cachex build named named-wh --size 64 -q 2>/dev/null
cachex view named-wh --sheet -o with.png >/dev/null 2>&1
rm named/classes.txt
cachex build named named-wh --size 64 -q
is "without them again" "$(manifest named-wh .warehouse.classes)" null

# Trace and metrics
check "--trace and --metrics" 0 cachex build bad traced --size 16 -q --trace t.jsonl \
	--metrics 'm.prom'
is "every line is an object" "$(jq -c .event t.jsonl | grep -v progress | uniq -c | tr -s ' ')" \
' 1 "begin"
 19 "rejected"
 7 "phase"
 1 "end"' 
is "progress, at least once" "$(jq -r 'select(.event=="progress")|.phase' t.jsonl | head -n 1)" scan
is "the options" "$(jq -r 'select(.event=="begin")|.options|[.size,.layout,.dtype,."max-boxes"]|join(" ")' t.jsonl)" \
	"16 auto f16 16"
is "what was rejected" "$(jq -r 'select(.event=="rejected" and .reason=="no_file")|.name' t.jsonl | wc -l | tr -d ' ')" 7
is "the phases" "$(jq -r 'select(.event=="phase")|.phase' t.jsonl | tr '\n' ' ')" \
	"scan read label decode resize store export "
is "the end" "$(jq -r 'select(.event=="end")|[.status,.samples,.shards]|tojson' t.jsonl)" '["ok",1,1]'
metric() { sed -n "s/^cachex_build_$1{warehouse=\"traced\"${2-}} //p" m.prom; }
is "frames" "$(metric frames_total)" 20
is "reasons" "$(metric rejected_total ',reason="no_file"')" 7
is "success" "$(metric success)$(metric running)" 10
is "a phase" "$(metric seconds_total ',phase="scan"' | grep -c '^[0-9.e-]*$')" 1
is "each has its type" "$(grep -c '^# TYPE' m.prom)" "$(grep -c '^# HELP' m.prom)"
is "nothing is left" "$(ls m.prom*)" m.prom
check "a trace to standard output" 0 cachex build bad traced --size 16 -q --trace -
is "is an object a line" "$(grep -c "^{.*}$" "$out")" "$(wc -l <"$out" | tr -d " ")"
also "ends with its end" grep -q '"event":"end"' "$out"
check "a trace that cannot be" 4 cachex build set wh --size 16 --trace nowhere/t
check "metrics that cannot be" 4 cachex build set wh --size 16 --metrics nowhere/m

# What is refused
mkdir none
echo '{"images":{}}' >none/coco.json
check "a file that is no COCO" 3 cachex build none wh --layout coco
is "says why" "$(cat "$err")" "cachex: build: none/coco.json: byte 10: images is not a list"
refuse "no such dataset" 4 "cachex: build: gone: No such file or directory" \
	cachex build gone wh
mkdir empty
check "an empty dataset" 3 cachex build empty wh
is "one line" "$(wc -l <"$err" | tr -d ' ')" 1
refuse "a warehouse in its dataset" 3 \
	"cachex: build: set/wh: is in the dataset set; a warehouse must be elsewhere" \
	cachex build set set/wh
also "is not made" test ! -e set/wh
refuse "a size" 2 "cachex: build: --size: '0x5' is not a size, such as 640x480" \
	cachex build set wh --size 0x5
refuse "a colour" 2 "cachex: build: --pad: 'red' is not a colour, such as 727272" \
	cachex build set wh --pad red
refuse "buckets" 2 "cachex: build: --buckets: '64x64,x' is not a list of sizes" \
	cachex build set wh --buckets 64x64,x
refuse "too many buckets" 2 \
	"cachex: build: --buckets: '65' is not a number of buckets from 1 to 64" \
	cachex build set wh --buckets 65
refuse "a limit" 2 "cachex: build: --max-empty: '5x' is not a limit, such as 12, 5% or 12,5%" \
	cachex build set wh --max-empty 5x
refuse "a ratio of a variable" 2 "cachex: build: WAREHOUSE_MAX_EMPTY_RATIO: '2' is not a ratio from 0 to 1" \
	env WAREHOUSE_MAX_EMPTY_RATIO=2 "$CACHEX" build set wh
refuse "a mode of a variable" 2 "cachex: build: WAREHOUSE_THRESHOLDS: 'x' is not one of fail|warn" \
	env WAREHOUSE_THRESHOLDS=x "$CACHEX" build set wh
refuse "a switch of a variable" 2 "cachex: build: WAREHOUSE_CLEAR: 'x' is not a switch; use 1 or 0" \
	env WAREHOUSE_CLEAR=x "$CACHEX" build set wh
refuse "u8 in version 1" 2 "cachex: build: --shard-version 1 has no u8" \
	cachex build set wh --dtype u8 --shard-version 1
refuse "two layouts" 2 "cachex: build: --unlabelled excludes another --layout" \
	cachex build set wh --unlabelled --layout coco
echo file >file
check "a file as warehouse" 4 cachex build set file

# Signals: a pipe where a label should be is refused, not waited for.
if env --default-signal=INT true 2>/dev/null; then
	"$mkdataset" make many 300
	env --default-signal=INT "$CACHEX" build many stopped --size 256 >bg.out 2>bg.err & pid=$!
	tries=0
	until test -e stopped/samples/data.mdb || test "$((tries += 1))" -gt 6000; do
		sleep 0.01
	done
	kill -INT "$pid"
	wait "$pid"
	got=$?
	case $got in
	130) also "stopped: says how to go on" grep -q 'stopped.*; run the same command to continue$' bg.err
		also "no version" test ! -e stopped/current ;;
	0) skip "stopped: says how to go on" "it was faster"; skip "no version" "it was faster" ;;
	*) is "stopped: status" $got 130; skip "no version" "failed" ;;
	esac
	check "it goes on" 0 cachex build many stopped --size 256
	check "and is whole" 0 cachex shard verify stopped/current/
else
	skip "signals" "env has no --default-signal"
fi

# Parts of the frames, each in a warehouse of its own
"$mkdataset" make parted 25
parted() { cachex build parted "$@" --size 48x32; }
check "one machine" 0 parted single
told=
for i in 0 1 2; do
	check "part $i" 0 parted w$i --shard $i/3
	told="$told$(head -n 2 "$out" | tr -s ' ' | tr '\n' ';')"
done
is "is told" "$told" "task 0/3 is stored; build with --samples to write the version; frames 17;task 1/3 is stored; build with --samples to write the version; frames 17;task 2/3 is stored; build with --samples to write the version; frames 16;"
is "and makes no version" "$(ls w0)" samples
is "each frame is stored once" "$(for i in 0 1 2; do cachex ls -1 --root w$i samples; done | sort)" \
	"$(cachex ls -1 --root single samples | sort)"
check "all parts" 0 parted all --samples w0 --samples w1 --samples w2 --json
is "nothing is decoded" "$(value '[.frames,.reused,.bytes_read]|tojson')" "[50,50,0]"
also "it is the same version" diff -r single/current all/current
is "of the same name" "$(readlink all/current)" "$(readlink single/current)"
is "and no sample is copied" "$(cachex ls --root all samples -1 | wc -l | tr -d ' ')" 0
check "all parts but one" 0 parted most --samples w0 --samples w2 --json
is "its frames are decoded" "$(value .reused)" 33
also "to the same version" diff -r single/current most/current
is "and stored" "$(cachex ls --root most -1 samples)" "$(cachex ls --root w1 -1 samples)"
check "a part again" 0 env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 "$CACHEX" build parted w1 --size 48x32 \
	--shard auto --json
is "is there" "$(value '[.task,.tasks,.frames,.reused]|tojson')" "[1,3,17,17]"
is "auto says which" "$(cat "$err")" \
	'{"note":{"command":"build","message":"task 1/3, from OMPI_COMM_WORLD_RANK"}}'
for i in 0 1; do parted w$i --shard $i/2 -q; done
check "another number of parts" 0 parted two --samples w0 --samples w1 --json
is "is the same, too" "$(value .reused) $(diff -r single/current two/current && echo same)" "50 same"
# A frame that has changed since: the stale sample of another part does not count.
image=$(find parted -name '*.png' | sort | sed -n 8p)
cp "$(find parted -name '*.png' | sort | sed -n 3p)" "$image"
touch -d '2024-01-01' "$image"
parted single -q
check "a changed frame" 0 parted all --samples w0 --samples w1 --samples w2 --json
is "is decoded" "$(value .reused)" 49
also "to the same version" diff -r single/current all/current
check "learned buckets" 0 cachex build parted b0 --size 48x32 --buckets 2 --shard 0/2
check "of the other part" 0 cachex build parted b1 --size 48x32 --buckets 2 --shard 1/2
cachex build parted b -q --size 48x32 --buckets 2
check "of both" 0 cachex build parted both --size 48x32 --buckets 2 --samples b0 --samples b1 --json
is "are those of all" "$(value .reused) $(diff -r b/current both/current && echo same)" "50 same"
# A damaged sample of another warehouse is none.
id=$(cachex ls -1 --root w1 samples | tail -n 1)
cachex get --root w1 samples "$id" --field pixels --format raw >pixels
hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
at=$(hex w1/samples/data.mdb | grep -ob "$(hex pixels)" | tail -n 1 | cut -d: -f1)
cp -r w1 damaged
printf '\377' | dd of=damaged/samples/data.mdb bs=1 seek=$((at / 2 + 700)) conv=notrunc 2>/dev/null
check "a damaged sample" 0 parted rest --samples w0 --samples damaged --samples w2 --json
is "is made anew" "$(value .reused) $(cachex ls -1 --root rest samples | wc -l | tr -d " ")" "49 1"
also "for the same version" diff -r single/current rest/current
wrong "other options" 3 "cachex: build: w0: its samples have other options, or are of another dataset" \
	cachex build parted none --size 40x40 --samples w0
wrong "no warehouse" 4 "cachex: build: nothing: has no samples" parted none --samples nothing
wrong "no task" 2 "cachex: build: --shard: '3/3': tasks of 3 are numbered 0 to 2" parted untouched --shard 3/3
wrong "--clear of a part" 2 "cachex: build: --shard excludes --clear; clear first, without it" \
	parted untouched --shard 0/3 --clear
also "nothing was made" test ! -e untouched
finish
