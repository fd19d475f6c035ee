#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names of classes: learned from the labels, and changed by build --classes.
. "${srcdir:-.}/t/support/tap.sh"

mkdataset=$builddir/t/support/mkdataset
export SOURCE_DATE_EPOCH=1700000000

if ! command -v jq >/dev/null; then
	skip "classes" "jq is not installed"
	finish
	exit 0
fi

value() { jq -c "$1" "$out"; }
manifest() { jq -c "$2" "$1/current/manifest.json"; }
recipe() { jq -r .version_recipe "$1/current/manifest.json" | jq -c "$2"; }
# The class ids of each sample of a warehouse, by its name.
ids() {
	cachex shard inspect "$1"/current/*.twh1 --json |
		jq -r '.first[] | [(.id | sub(".*/"; "")), (.class_ids | tojson)] | join(" ")'
}
# annotation FILE.xml NAME...: an object of each name, "-" for none
annotation() {
	file=$1; shift
	{
		stem=${file##*/}
		echo "<annotation><filename>${stem%.xml}.png</filename>"
		for name; do
			echo "<object>"
			if [ "$name" != - ]; then echo "<name>$name</name>"; fi
			echo "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>50</xmax><ymax>40</ymax></bndbox></object>"
		done
		echo "</annotation>"
	} >"$file"
}

# ---- VOC learns its names -------------------------------------------------------------

mkdir -p voc/JPEGImages voc/Annotations
for name in a b c; do "$mkdataset" image voc/JPEGImages/$name.png 100 80 1; done
annotation voc/Annotations/a.xml dog cat
annotation voc/Annotations/b.xml cat - "big dog"
"$mkdataset" settle voc
voc() { cachex build voc voc-wh --size 32 --no-skip-empty --json "$@"; }
check "VOC without a list of classes" 0 voc --dry-run
is "names what has no name" "$(jq -r .note.message "$err")" \
	"warning: 1 object has no name: its box has no class"
dry=$(value '[.version,.fingerprint,.samples,.boxes]')
check "a build of it" 0 voc
is "counts as the dry run did" "$(value '[.version,.fingerprint,.samples,.boxes]')" "$dry"
is "learns the names, sorted by bytes" "$(manifest voc-wh .warehouse.classes)" '["big dog","cat","dog"]'
is "which are in the recipe" "$(recipe voc-wh .classes)" '["big dog","cat","dog"]'
is "and gives each box its id" "$(ids voc-wh)" 'a [2,1]
b [1,-1,0]
c null'
check "again" 0 voc
is "is up to date" "$(value '[.up_to_date,.reused]')" '[true,3]'

annotation voc/Annotations/c.xml bird
"$mkdataset" settle voc
check "another annotation with a new name" 0 voc
is "moves ids, and says so" "$(jq -r .note.message "$err")" \
	"warning: 1 object has no name: its box has no class
warning: class ids differ from those of the current version: 1 was 'cat' and is now 'bird'; others have changed too"
is "in every label" "$(ids voc-wh)" 'a [3,2]
b [2,-1,0]
c [1]'
is "with new names" "$(manifest voc-wh .warehouse.classes)" '["big dog","bird","cat","dog"]'
is "labels are read again, images are not" "$(value '[.reused,.up_to_date,.thread_seconds.decode==0]')" '[0,false,true]'
printf 'dog\ncat\nbird\nbig dog\n' >voc/classes.txt
"$mkdataset" settle voc
check "a list of classes" 0 voc
is "decides the ids" "$(ids voc-wh)" 'a [0,1]
b [1,-1,3]
c [2]'
is "and is no part of the recipe" "$(recipe voc-wh .classes)" null
rm voc/classes.txt

# ---- --classes ------------------------------------------------------------------------

mkdir -p yolo/images yolo/labels
for name in a b c; do "$mkdataset" image yolo/images/$name.png 100 80 1; done
printf '0 0.5 0.5 0.5 0.5\n1 0.25 0.25 0.25 0.25\n2 0.5 0.5 0.5 0.5\n' >yolo/labels/a.txt
echo 2 0.5 0.5 0.5 0.5 >yolo/labels/b.txt
echo 0 0.5 0.5 0.5 0.5 >yolo/labels/c.txt
printf 'car\ntruck\nperson\n' >yolo/classes.txt
"$mkdataset" settle yolo
yolo() { cachex build yolo yolo-wh --size 32 --json "$@"; }
yolo_text() { cachex build yolo yolo-wh --size 32 "$@"; }
check "without --classes" 0 yolo
is "ids are those of the labels" "$(ids yolo-wh)" 'a [0,1,2]
b [2]
c [0]'
is "and nothing is dropped" "$(value .filtered)$(manifest yolo-wh .summary.filtered)" '0null'
printf '# what drives\nvehicle: car, truck\n' >map
check "--classes merges and drops" 0 yolo --classes map
is "ids are new" "$(ids yolo-wh)" 'a [0,0]
c [0]'
is "names too" "$(manifest yolo-wh .warehouse.classes) $(recipe yolo-wh .class_map)" \
	'["vehicle"] [["vehicle","car","truck"]]'
is "boxes of other classes are counted" \
	"$(value '[.samples,.boxes,.filtered,.rejected.no_labels]')$(manifest yolo-wh .summary.filtered)" '[2,3,2,1]2'
is "a frame with no others is left out, and why" "$(jq -r .detail yolo-wh/current/rejected.jsonl)" \
	"labels/b.txt: has no boxes of the classes that are kept, but 1 of others"
is "no image is decoded again" "$(value '[.samples,.thread_seconds.decode]')" '[2,0]'
check "the same again" 0 yolo --classes map
is "is up to date" "$(value .up_to_date)" true
echo '   vehicle :car,truck' >same
check "the same map, written otherwise" 0 yolo --classes same
is "is up to date too" "$(value .up_to_date)" true
check "warehouse inspect" 0 cachex warehouse inspect yolo-wh
also "says what is dropped" grep -q 'boxes  *3: 0 clipped, 0 dropped, 0 above max_boxes, 2 of dropped classes' "$out"
check "a table" 0 cachex build yolo other-wh --size 32 --classes map
is "has them too" "$(grep 'of other classes' "$out" | tr -s ' ')" " of other classes 2"
check "a report" 0 cachex warehouse report yolo-wh -o report.html
also "has them" grep -q 'of classes that are not kept' report.html
printf 'person\n*\n' >map
check "a changed map" 0 yolo --classes map
is "is another version" "$(value .up_to_date) $(ids yolo-wh | tr '\n' ' ')$(manifest yolo-wh .warehouse.classes)" \
	'false a [1,2,0] b [0] c [1] ["person","car","truck"]'
is "which says that ids moved" "$(jq -r .note.message "$err")" \
	"warning: class ids differ from those of the current version: 0 was 'vehicle' and is now 'person'"
printf 'person\nvehicle: *\n' >map
check "all others as one" 0 yolo --classes map
is "are one class" "$(ids yolo-wh | tr '\n' ' ')" 'a [1,1,0] b [0] c [1] '
check "without it again" 0 yolo
is "ids are those of the labels again" "$(ids yolo-wh | tr '\n' ' ')" 'a [0,1,2] b [2] c [0] '

# Labels are checked in full: also what is dropped.
echo 2 0.9 0.5 0.5 0.5 >>yolo/labels/c.txt
echo car >map
check "a bad box of a class that is dropped" 0 yolo --classes map
is "is a reason all the same" "$(jq -r .note.message "$err")" \
	"warning: class ids differ from those of the current version: 1 was 'truck' and is now none; others have changed too
out_of_range: labels/c.txt: label 2: bbox_norm: x1 1.15 is above 1"

printf 'car\ntruk: truck, lorry\n' >map
refuse "a class that is not there" 3 \
	"cachex: build: map: line 2: 'lorry' is not among the 3 classes of the dataset" yolo_text --classes map
printf 'car\n\ncar: truck\n' >map
refuse "a class twice" 3 \
	"cachex: build: map: line 3: line 1 makes 'car' already; one line has all that become it" yolo_text --classes map
refuse "no such file" 4 "cachex: build: nothing: open: No such file or directory" yolo_text --classes nothing
echo car >map
refuse "no labels, no classes" 3 \
	"cachex: build: map: the layout 'unlabelled' of yolo has no classes" yolo_text --unlabelled --classes map

# COCO, with gaps between ids
mkdir -p coco/images
"$mkdataset" image coco/images/a.png 100 80 1
cat >coco/labels.json <<'END'
{"images": [{"id": 1, "file_name": "a.png"}], "annotations": [
{"id": 1, "image_id": 1, "category_id": 3, "bbox": [1, 1, 20, 20]},
{"id": 2, "image_id": 1, "category_id": 90, "bbox": [1, 1, 20, 20]},
{"id": 3, "image_id": 1, "category_id": 70000, "bbox": [1, 1, 20, 20]}],
"categories": [{"id": 3, "name": "car"}, {"id": 90, "name": "cup"}, {"id": 70000, "name": "far"}]}
END
printf 'cup\nfar: 70000\n' >map
check "COCO" 0 cachex build coco coco-wh --size 32 --json --classes map
is "dense ids" "$(ids coco-wh) $(value .filtered)" 'a [0,1] 1'
# VOC, by the names that it learned
printf 'animal: cat, dog, big dog\n' >map
check "VOC" 0 voc --classes map
is "learned names are mapped" "$(ids voc-wh | tr '\n' ' ')$(manifest voc-wh .warehouse.classes)" \
	'a [0,0] b [0,0] c null ["animal"]'
is "both are in the recipe" "$(recipe voc-wh '[.classes,.class_map]')" \
	'[["big dog","bird","cat","dog"],[["animal","cat","dog","big dog"]]]'
# ---- streams --------------------------------------------------------------------------

numbers() { tail -c "+$((1 + $2))" "$1" | od -An -v -t d8 -w"$3" | tr -s ' ' | sed 's/^ //'; }
cachex build yolo yolo-wh --size 32 --max-boxes 4 -q 2>/dev/null
check "read of what is known of samples" 0 cachex read yolo-wh/current --npy npy --batch 2 \
	--field class_ids --field frame_id --field run_id --field original_size --field mask
is "class ids of each box, -1 where there is none" "$(numbers npy/batch-00000000/class_ids.npy 128 32)" '0 1 2 -1
2 -1 -1 -1'
is "their type" "$(head -c 128 npy/batch-00000000/class_ids.npy | grep -ao "'<i8'\|(2, 4)" | tr '\n' ' ')" "'<i8' (2, 4) "
is "no number, no name of a run" "$(numbers npy/batch-00000000/frame_id.npy 128 8 | tr '\n' ' ')$(tail -c +129 npy/batch-00000000/run_id.npy | tr -d '\0' | wc -c | tr -d ' ')" '-1 -1 0'
is "sizes of the images" "$(numbers npy/batch-00000000/original_size.npy 128 16)" '100 80
100 80'
"$mkdataset" make set 4
cachex build set set-wh --size 32 -q
check "frames of runs" 0 cachex read set-wh/current --npy runs --batch 8 --field run_id --field frame_id
is "have their names" "$(tail -c +129 runs/batch-00000000/run_id.npy | tr -s '\0' '\n' | tr '\n' ' ')" 'a a a a b b b b '
is "and numbers" "$(numbers runs/batch-00000000/frame_id.npy 128 64)" '0 1 2 3 0 1 2 3'
check "they are fields of frames" 0 cachex read set-wh/current --frames --batches 1 --batch 2 --field class_ids
also "with their name" grep -aq class_ids "$out"
check "shards have the old fields by themselves" 0 cachex read set-wh/current --npy plain --batch 2 --batches 1
is "three" "$(ls plain/batch-00000000 | tr '\n' ' ')" 'boxes.npy image.npy mask.npy '
cachex build set bare-wh --size 32 -q --no-metadata
check "shards without metadata" 3 cachex read bare-wh/current --sum --field run_id
is "have none" "$(sed 's|bare-wh/v[^/]*/||' "$err")" "cachex: read: shard-000000.twh1: sample 0 has no run_id"

cachex build set ids-wh --size 32 -q

# ---- names where they are shown -----------------------------------------------------------

printf 'dog\n\n"cat"\n' >yolo/classes.txt
"$mkdataset" settle yolo
cachex build yolo named-wh --size 32 -q 2>/dev/null
check "warehouse inspect --json" 0 cachex warehouse inspect named-wh --json
is "has the names" "$(value .classes)" '["dog",null,"\"cat\""]'
check "warehouse inspect" 0 cachex warehouse inspect named-wh
is "too" "$(sed -n '/^  classes/,/^  frames/p' "$out" | sed '$d')" '  classes          0 dog
                   2 "cat"'
check "view --histogram" 0 cachex view named-wh --histogram -o names.png --json
is "has them beside the counts" "$(value '.histograms[3]|[.name,.counts,.names]')" \
	'["box_class",[1,1,2],["dog",null,"\"cat\""]]'
check "without names" 0 cachex view ids-wh --histogram -o ids.png --json
is "there are none" "$(value '.histograms[3]|.names')" null
check "report --parquet" 0 cachex warehouse report named-wh --parquet tables
also "has them with each box" grep -aq '"cat"' tables/boxes.parquet
also "in a column" grep -aq class_name tables/boxes.parquet

# The capture layout, without names: ids
before=$(ids ids-wh | grep -o '\[.*\]' | tr -d '[]\n ,' | fold -w 1 | sort -u | tr -d '\n')
echo 'all: *' >map
check "capture" 0 cachex build set ids-wh --size 32 --json --classes map
is "ids are one class" "${before:+some} $(ids ids-wh | grep -o '\[.*\]' | tr -d '[]\n ,' | fold -w 1 | sort -u | tr -d '\n')" 'some 0'

finish
