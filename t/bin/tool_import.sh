#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# import: files, directories, lists, patterns, images, bad files.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/exchanged.sh"

# npy FILE TEXT: the bytes of TEXT as a u8 .npy file of one dimension
npy() {
	printf "%s" "$2" | cachex put scratch npy --dtype u8 --shape "${#2}"
	cachex get scratch npy -o "$1"
}

mkdir -p in/sub/deep in/.hidden
npy in/b.npy bee; npy in/a.npy ay; npy in/sub/c.NPY sea; npy in/sub/deep/d.x.npy dee
npy in/.hidden/h.npy hidden; npy in/.e.npy hidden
echo note >in/README
npy in/é.npy accent
base64 -d >in/p.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR42mNgZGJmYWUDAAA/ABaYwWgTAAAAAElFTkSuQmCC
END
base64 -d >in/q.jpeg <<'END'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB
AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH/wAALCAACAAQBAREA/8QAFAABAAAAAAAA
AAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z
END

# A directory
check "a directory" 0 cachex import m in
is "says what it did" "$(summary)" "7 stored, 0 skipped, 0 bad"
is "the files below it, by their stems" "$(ids m)" "a b c d.x p q é "
is "in byte order of their paths" "$(ids m --order commit)" "a b p q c d.x é "
is "a .npy" "$(cachex get m b --format raw)" bee
is "a PNG, channels first" "$(cachex get m p --json)" \
	'{"id":"p","dtype":"u8","shape":[3,1,2],"data":[[[1,4]],[[2,5]],[[3,6]]]}'
is "a grey JPEG, channels first" "$(cachex ls m q --json | cut -d, -f2-5)" \
	'"dtype":"u8","shape":[1,2,4]'
check "channels last" 0 cachex import hwc in/p.png in/q.jpeg --layout hwc
is "a PNG, channels last" "$(cachex get hwc p --json)" \
	'{"id":"p","dtype":"u8","shape":[1,2,3],"data":[[[1,2,3],[4,5,6]]]}'
is "a JPEG" "$(cachex get hwc q --json | cut -d, -f3-5)" '"shape":[2,4,1]'
check "by content, not by name" 0 sh -c 'cp in/p.png in2.bin && "$1" import m in2.bin' sh "$CACHEX"
is "a PNG" "$(cachex ls m in2 --json | cut -d, -f2-5)" '"dtype":"u8","shape":[3,1,2]'
check "again, with skip" 0 cachex import m in --skip-existing
is "passes over all" "$(summary)" "0 stored, 7 skipped, 0 bad"
check "a trailing slash" 0 cachex import slash in/ --id '{path}'
is "does not matter" "$(ids slash)" "a.npy b.npy p.png q.jpeg sub/c.NPY sub/deep/d.x.npy é.npy "

refuse "an image of too many pixels" 3 \
	"cachex: import: in/p.png: 2 x 1 pixels are above the limit of 1" \
	cachex import m in/p.png --max-pixels 1
base64 -d >rgba.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNgZGJmAQAAGQALOARUtAAAAABJRU5ErkJggg==
END
check "transparency" 0 cachex import alpha rgba.png --id dropped
is "is dropped" "$(cachex get alpha dropped --json | cut -d, -f3-)" \
	'"shape":[3,1,1],"data":[[[1]],[[2]],[[3]]]}'
check "--keep-alpha" 0 cachex import alpha rgba.png --id kept --keep-alpha
is "keeps it" "$(cachex get alpha kept --json | cut -d, -f3-)" \
	'"shape":[4,1,1],"data":[[[1]],[[2]],[[3]],[[4]]]}'

# Patterns
while read -r pattern expected; do
	rm -rf "$XDG_CACHE_HOME/cachex/pattern"
	check "--id '$pattern'" 0 cachex import pattern in/sub in/b.npy --id "$pattern"
	is "--id '$pattern': cache_ids" "$(ids pattern)" "$expected "
done <<'END'
{stem} b c d.x
{name} b.npy c.NPY d.x.npy
{path} c.NPY deep/d.x.npy in/b.npy
{dir}:{stem} .:c deep:d.x in:b
{stem}.{ext} b.npy c.NPY d.x.npy
x{{{stem}}}y x{b}y x{c}y x{d.x}y
END
npy .npy dot
check "a name that is only an extension" 0 cachex import dot .npy --id '{stem} {ext}'
is "has no extension" "$(cachex ls dot -1)" ".npy "
mkdir -p odd
npy odd/a.npy a
mkfifo odd/pipe.npy
ln -s /dev/zero odd/zero.png
refuse "a pipe and a device in a directory" 3 "cachex: import: odd/pipe.npy: not a regular file
cachex: import: odd/zero.png: not a regular file" timeout 60 "$CACHEX" import odd odd
is "are counted" "$(sed 's/;.*//' "$out")" "1 stored, 0 skipped, 2 bad"
is "the others are stored" "$(ids odd)" "a "
refuse "unknown field" 2 "cachex: import: --id: unknown {stam}; did you mean {stem}?" \
	cachex import m in --id '{stam}'
refuse "no field" 2 "cachex: import: --id: unknown {}; use {path}, {dir}, {name}, {stem} or {ext}" \
	cachex import m in --id '{}'
refuse "a lone brace" 2 "cachex: import: --id: a lone { (write {{ for a brace)" \
	cachex import m in --id 'a{'
refuse "a lone closing brace" 2 "cachex: import: --id: a lone } (write }} for a brace)" \
	cachex import m in --id 'a}'

# Duplicates are found before anything is stored.
mkdir -p twice/1 twice/2
npy twice/1/same.npy new; npy twice/2/same.npy newer; npy twice/1/b.npy new
refuse "duplicates" 3 \
	"cachex: import: twice/2/same.npy: same cache_id 'same' as twice/1/same.npy
cachex: import: 1 file has the cache_id of another; --id '{path}' uses the whole path" \
	cachex import m twice
is "nothing was stored" "$(cachex get m b --format raw)" bee
check "another pattern" 0 cachex import twice twice --id '{path}'
is "tells them apart" "$(ids twice)" "1/b.npy 1/same.npy 2/same.npy "
check "one file twice" 3 cachex import m in/b.npy in/b.npy
refuse "an empty cache_id" 3 "cachex: import: in/README: its cache_id is empty" \
	cachex import m in/README --id '{ext}'

# Lists
printf 'in/a.npy\n\nin/sub\n' >list
check "@LIST" 0 cachex import list @list
is "takes files and directories" "$(ids list)" "a c d.x "
check "--files-from" 0 cachex import list2 --files-from list in/b.npy
is "besides operands" "$(ids list2)" "a b c d.x "
check "--files-from - -0" 0 sh -c 'printf "in/a.npy\0in/b.npy\0" | "$1" import list3 --files-from - -0' sh "$CACHEX"
is "NUL-ended" "$(ids list3)" "a b "
check "-z is the same" 0 sh -c 'printf "in/a.npy\0in/b.npy\0" | "$1" import list4 --files-from - -z' sh "$CACHEX"
is "also" "$(ids list4)" "a b "
refuse "no list" 4 "cachex: import: gone: open: No such file or directory" cachex import m @gone
check "an empty list" 0 cachex import nothing @/dev/null
is "stores nothing" "$(summary)" "0 stored, 0 skipped, 0 bad"
also "and makes no module" test ! -e "$XDG_CACHE_HOME/cachex/nothing"
refuse "no path" 2 "cachex: import: name a file or a directory" cachex import m
refuse "a path that is not there" 4 "cachex: import: in/gone: No such file or directory" \
	cachex import m in/a.npy in/gone
refuse "nor where the format is told" 4 "cachex: import: in/gone: No such file or directory" \
	cachex import m in/gone --format npz

# Bad files
mkdir bad
npy bad/a.npy ok; npy bad/z.npy ok
head -c 100 in/b.npy >bad/cut.npy
head -c 60 in/p.png >bad/cut.png
head -c 100 in/q.jpeg >bad/cut.jpg
echo text >bad/text.npy
check "bad files" 3 cachex import bad bad --id '{name}'
is "the others are stored" "$(ids bad)" "a.npy z.npy "
is "counts" "$(summary)" "2 stored, 0 skipped, 4 bad"
is "a line each" "$(cut -d: -f1-3 "$err")" "cachex: import: bad/cut.jpg
cachex: import: bad/cut.npy
cachex: import: bad/cut.png
cachex: import: bad/text.npy"
check "--strict" 3 cachex import strict bad --strict --id '{name}'
is "stops at the first" "$(wc -l <"$err" | tr -d ' ')" 1
is "what was before it is stored" "$(ids strict)" "a.npy "
check "only bad files" 3 cachex import onlybad bad/text.npy
also "make no module" test ! -e "$XDG_CACHE_HOME/cachex/onlybad"

# Images of kinds that are not read
mkdir -p kinds/sub
echo RIFF >kinds/a.heic; echo RIFF >kinds/sub/b.HeiC; echo GIF >kinds/c.gif
echo bmp >kinds/d.bmp; echo text >kinds/e.text; echo x >kinds/.h.heic
refuse "only images that are not read" 3 \
	"cachex: import: ignored 4 images of kinds that are not read: 1 .bmp, 1 .gif, 2 .heic" \
	cachex import -q kinds kinds
check "the same, as JSON" 3 cachex import kinds kinds --json
is "counts them" "$(sed 's/"seconds":[0-9.e+-]*/"seconds":N/' "$out")" \
	'{"stored":0,"skipped":0,"bad":0,"unreadable":0,"reduced":0,"ignored":4,"bytes":0,"seconds":N,"dry_run":false}'
npy kinds/good.npy ok; rm kinds/c.gif kinds/d.bmp kinds/sub/b.HeiC
check "some images that are not read" 0 cachex import kinds kinds
is "are counted" "$(summary)" "1 stored, 0 skipped, 0 bad, 1 ignored"
is "and named" "$(cat "$err")" \
	"cachex: import: ignored 1 image of kinds that are not read: 1 .heic"
check "a dry run" 0 cachex import -n kinds kinds

# Switches
check "dry run" 3 cachex import -n dry bad --id '{name}'
is "reads them all" "$(summary)" "2 good, 0 skipped, 4 bad"
also "makes no module" test ! -e "$XDG_CACHE_HOME/cachex/dry"
check "-q" 0 cachex import -q m in
is "says nothing" "$(cat "$out" "$err")" ""
check "-v" 0 cachex import -v m in/b.npy
is "says what is stored" "$(cat "$err")" "cachex: import: in/b.npy: u8[3] as 'b'"
check "--json" 0 cachex import m in --json
is "JSON" "$(sed 's/"seconds":[0-9.e+-]*/"seconds":N/' "$out")" \
	'{"stored":7,"skipped":0,"bad":0,"unreadable":0,"reduced":0,"ignored":0,"bytes":31,"seconds":N,"dry_run":false}'
check "--progress" 0 cachex import m in --progress
also "prints a line at the end of each phase" grep -Eq '^import: files: 7 of 7, 31 B, [0-9.]+ .*B/s$' "$err"
for j in 1 2 7; do
	check "-j $j" 0 cachex import "j$j" in -j "$j" --id '{path}'
	is "-j $j: order" "$(ids "j$j" --order commit)" "$(ids j1 --order commit)"
done

# Parts: files and containers in the order in which they are named and found.
mkdir -p pieces/deep pictures
for n in 0 1 2 3 4; do npy pieces/$n.npy "is $n"; npy pieces/deep/x$n.npy "deep $n"; done
cachex import -q boxed pieces/0.npy --id one >/dev/null
cachex export -q boxed box.safetensors --format safetensors >/dev/null
echo broken >pieces/3x.npy
whole() { cachex import "$@" pieces/deep/x0.npy pieces box.safetensors --id 'f/{path}'; }
check "all of them" 3 whole whole
is "is one machine's" "$(summary)" "12 stored, 0 skipped, 1 bad"
records() { for id in $(cachex ls -1 "$@"); do echo "$id $(cachex get "$@" "$id" | cksum)"; done; }
taken=
for i in 0 1 2; do
	check "part $i" $((i == 2 ? 3 : 0)) whole --root part$i m --shard $i/3
	taken="$taken$(tail -n 1 "$out"); "
	records --root part$i m >>records.parts
done
is "is told" "$taken" "task 0/3, 5 of 13 files and containers; task 1/3, 4 of 13 files and containers; task 2/3, 4 of 13 files and containers; "
is "they are the whole" "$(sort records.parts)" "$(records whole | sort)"
for i in 0 1 2 3; do
	whole --root one m --shard $i/4 --skip-existing >/dev/null 2>&1
done
is "with another number, too" "$(records --root one m | sort)" "$(records whole | sort)"
check "with all there" 0 env PMI_RANK=0 PMI_SIZE=2 "$CACHEX" import --root one m --skip-existing --shard auto \
	pieces/deep/x0.npy pieces box.safetensors --id 'f/{path}' --json
is "auto says which" "$(cat "$err")" '{"note":{"command":"import","message":"task 0/2, from PMI_RANK"}}'
also "as JSON" grep -q '"stored":0,"skipped":7,.*"found":13,"taken":7,' "$out"
check "more parts than files" 0 cachex import none pieces/0.npy --shard 1/2
also "makes no module" test ! -e "$XDG_CACHE_HOME/cachex/none"
wrong "no task" 2 "cachex: import: --shard: '2/2': tasks of 2 are numbered 0 to 1" cachex import none pieces --shard 2/2
wrong "a file of another part that is not there" 4 "cachex: import: gone.npy: No such file or directory" \
	cachex import none pieces/0.npy gone.npy --shard 0/2
check "a module_id that is none" 2 cachex import .m in/a.npy
finish
