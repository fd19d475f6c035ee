#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The mark that some editors put before UTF-8 is accepted wherever text is read.
. "${srcdir:-.}/t/support/tap.sh"

mkdataset=$builddir/t/support/mkdataset
mark=$(printf '\357\273\277')

# frames DATASET [OPTION...]: samples and invalid frames of a dry run
frames() {
	cachex build "$@" "$scratch/none" -n --size 16 --json 2>"$err" |
		sed 's/.*"frames":\([0-9]*\).*"samples":\([0-9]*\).*"boxes":\([0-9]*\).*/\1 \2 \3/'
}

mkdir -p yolo/images yolo/labels voc/Annotations voc/JPEGImages capture/r/labels \
	capture/r/images coco
for image in yolo/images/a.png voc/JPEGImages/a.png capture/r/images/a.png coco/a.png; do
	"$mkdataset" image $image 100 50 1
done
echo "${mark}0 0.5 0.5 0.5 0.5" >yolo/labels/a.txt
echo "${mark}names: [cat]" >yolo/data.yaml
echo "$mark<annotation><filename>a.png</filename><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>20</xmax><ymax>20</ymax></bndbox></object></annotation>" >voc/Annotations/a.xml
echo "${mark}cat" >voc/classes.txt
echo "$mark{\"image\":\"images/a.png\",\"labels\":[{\"bbox_px\":[0,0,20,20]}]}" >capture/r/labels/a.json
echo "$mark{\"images\":[{\"id\":1,\"file_name\":\"a.png\"}],\"annotations\":[{\"id\":1,\"image_id\":1,\"bbox\":[0,0,20,20],\"category_id\":1}],\"categories\":[{\"id\":1,\"name\":\"cat\"}]}" >coco/coco.json
for layout in yolo voc capture coco; do
	is "labels of $layout" "$(frames $layout)" "1 1 1"
	is "nothing is wrong" "$(cat "$err")" ""
done

echo "$mark{\"id\":\"a\",\"value\":7}" >records.jsonl
check "JSON lines of records" 0 cachex load m records.jsonl
is "are stored" "$(cachex get m a --json)" '{"id":"a","value":7}'
printf '%syolo/images/a.png\n' "$mark" >list
check "a list of paths" 0 cachex import images @list
printf '%s{"width":10,"height":20}\n{"width":20,"height":10}\n' "$mark" >sizes.jsonl
check "JSON lines of sizes" 0 cachex buckets sizes.jsonl --json
also "both are counted" grep -q '"images":2,"bad":0' "$out"
check "the same of standard input" 0 sh -c '"$1" buckets - --json <sizes.jsonl' sh "$CACHEX"
also "both are counted there" grep -q '"images":2,"bad":0' "$out"
mkdir -p "$XDG_CONFIG_HOME/cachex"
printf '%scolor = never\n' "$mark" >conf
check "the configuration" 0 env CACHEX_CONFIG=conf "$CACHEX" ls m
# Records of stage 2; the mark is not written again.
plain=1 "$builddir/t/support/mkrecords" 5 7 >records
plain=1 v2=1 "$builddir/t/support/mkrecords" 5 7 >wanted
{ printf %s "$mark"; cat records; } >stage2.jsonl
check "migrate stage2" 0 cachex migrate stage2 stage2.jsonl --out stage2 --shape 4
also "reads the first line" cmp wanted stage2.jsonl
{ printf %s "$mark"; cat wanted; } >stage2.jsonl
check "--verify" 0 cachex migrate stage2 stage2.jsonl --out stage2 --shape 4 --verify

finish
