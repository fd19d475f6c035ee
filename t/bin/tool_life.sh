#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The life of a module through the tool: set, compact, clear, copy, merge, recover.
. "${srcdir:-.}/t/support/tap.sh"

root=$XDG_CACHE_HOME/cachex
put() { printf %s "$3" | cachex put "$1" "$2" --dtype u8 --shape "${#3}"; }
# One member of a line of JSON: number LINE NAME
number() { printf '%s\n' "$1" | sed -n 's/.*"'"$2"'":\([0-9]*\).*/\1/p'; }

for command in 'compact m' 'clear -f m' 'copy m n' 'merge m n' 'recover m' 'set m' 'schema m'; do
	check "$command without the module" 1 cachex $command
	is "$command names it" "$(cat "$err")" "cachex: ${command%% *}: no module m in $root"
done
also "nothing was made" test ! -e "$root"

# set
refuse "set of no module" 1 "cachex: set: no module m in $root" cachex set m codec=lz4
check "set -c makes it" 0 cachex set -c m codec=lz4
is "says nothing" "$(cat "$out" "$err")" ""
check "set shows them" 0 cachex set m
is "all" "$(cat "$out")" "codec=lz4
level=0
policy=evolve
max-bytes=0
evict=oldest
auto-compact=on
length=none
share=owner"
check "set some" 0 cachex set m level=-3 max-bytes=1536K evict=unread policy=strict codec=shuffle-lz4
is "as JSON" "$(cachex set m --json)" \
	'{"module":"m","codec":"shuffle-lz4","level":-3,"policy":"strict","max_bytes":1572864,"evict":"unread","auto_compact":true,"share":"owner"}'
check "what set prints" 0 sh -c 'cachex() { "$0" "$@"; }; cachex set -c copy $(cachex set m)' "$CACHEX"
is "it takes" "$(cachex set copy)" "$(cachex set m)"
check "set -n" 0 cachex set -n m level=7
is "says what would be" "$(sed -n 2p "$out")" "level=7"
is "and changes nothing" "$(cachex set m | sed -n 2p)" "level=-3"
while IFS='	' read -r word text; do
	refuse "set $word" 2 "cachex: set: $text" cachex set m codec=none "$word"
	refuse "set -c $word" 2 "cachex: set: $text" cachex set -c new "$word"
done <<'END'
codec	'codec' is not NAME=VALUE
codex=lz4	unknown setting codex; did you mean codec?
x=1	unknown setting x; known are codec, level, policy, max-bytes, evict, auto-compact, length, share
codec=zip	codec: 'zip' is not one of none|lz4|shuffle-lz4|u8pack|u8pack-lz4|auto
level=fast	level: 'fast' is not a number
policy=lax	policy: 'lax' is not one of evolve|strict
max-bytes=much	max-bytes: 'much' is not a size, such as 192M
auto-compact=1	auto-compact: '1' is not one of off|on
evict=none	evict: 'none' is not one of oldest|unread
END
refuse "a length of no tensor" 2 "cachex: set: settings: length field 'a..b': not a path" cachex set m length=a..b
refuse "a long length" 2 "cachex: set: length: a path of more than 255 bytes" cachex set m length="$(printf %256s x)"
check "a level that there is not" 2 cachex set m level=99
is "nothing of that holds" "$(cachex set m --json | cut -d, -f2)" '"codec":"shuffle-lz4"'
also "and makes no module" test ! -e "$root/new"

# The length of records
cachex set -c texts length=text.tokens
is "a length is set" "$(cachex set texts | grep ^length=)" "length=text.tokens"
is "and in JSON" "$(cachex set texts --json | cut -d, -f8)" '"length":"text.tokens"'
also "stat shows it" sh -c 'cachex() { "$0" "$@"; }; cachex stat texts | grep -q "^  length  *text.tokens$"' "$CACHEX"
check "length= takes it off" 0 cachex set texts length=
is "so" "$(cachex set texts | grep ^length=)" "length=none"
check "so does none" 0 cachex set texts length=. length=none
is "so too" "$(cachex set texts | grep ^length=)" "length=none"
cachex set texts length=. && put texts a abc
refuse "a length with records" 2 "cachex: set: settings: the length field of a module with records cannot be changed" cachex set texts length=none
check "the same length with records" 0 cachex set texts length=. codec=lz4
check "verify" 0 cachex verify texts
cachex clear -f texts
check "another length without records" 0 cachex set texts length=none

# A strict module, a codec as the default, a budget
put m a abc
check "another structure in a strict module" 3 cachex put m b --field 'x:=1'
is "is refused in one line" "$(wc -l <"$err" | tr -d ' ')" 1
also "which names both" grep -q 'u8\[.*x: ' "$err"
check "the same structure" 0 sh -c 'printf abcd | "$1" put m b --dtype u8 --shape 4' sh "$CACHEX"
i=0; while [ $i -lt 4096 ]; do printf abcdefgh; i=$((i + 1)); done >text
check "put by the settings" 0 cachex put m text text --dtype u8 --shape 32768
is "has their codec" "$(cachex ls m text --json | sed 's/.*"codec":"\([^"]*\).*/\1/')" shuffle-lz4
check "--codec beats them" 0 cachex put m text text --dtype u8 --shape 32768 --codec none
is "so" "$(cachex ls m text --json | sed 's/.*"codec":"\([^"]*\).*/\1/')" none
cachex set -c small max-bytes=100K
for i in 1 2 3 4 5 6; do cachex put small $i text --dtype u8 --shape 32768; done
also "a budget holds" test "$(number "$(cachex stat small --json)" live_bytes)" -le 102400
is "the oldest went" "$(cachex ls small -1 | tail -n 1)" 6
also "and are counted" test "$(number "$(cachex stat small --json)" evicted_records)" -ge 3
cachex has small 1
is "they are not found" $? 1

# Ranks
check "another rank" 0 sh -c 'printf x | "$1" --rank 1 --writer-rank 0 put m rank --dtype u8 --shape 1' sh "$CACHEX"
is "says that it does not write" "$(cat "$err")" \
	"cachex: put: rank 1 does not write, rank 0 does; nothing is stored in m"
check "and has not" 1 cachex has m rank
check "the writer" 0 sh -c 'printf x | CACHEX_RANK=2 CACHEX_WRITER_RANK=2 "$1" put m rank --dtype u8 --shape 1' sh "$CACHEX"
is "says nothing" "$(cat "$err")" ""
check "has written" 0 cachex has m rank
check "RANK of a launcher" 0 sh -c 'printf x | RANK=3 "$1" put --writer-rank 0 m rank3 --dtype u8 --shape 1' sh "$CACHEX"
check "is this one's" 1 cachex has m rank3
check "any" 0 sh -c 'printf x | RANK=3 "$1" put --writer-rank any m rank3 --dtype u8 --shape 1' sh "$CACHEX"
check "writes" 0 cachex has m rank3
refuse "no rank" 2 "cachex: ls: --writer-rank: neither a rank nor any: 'all'" cachex ls --writer-rank all
CACHEX_WRITER_RANK=-1 refuse "no rank in a variable" 2 \
	"cachex: ls: CACHEX_WRITER_RANK: neither a rank nor any: '-1'" cachex ls
refuse "nor for this one" 2 "cachex: ls: --rank: 'x' is not a number" cachex ls --rank x
check "without an LRU" 0 cachex get --lru-bytes 0 m a
is "it is config as all are" "$(cachex config | grep -E '^(rank|writer-rank|lru-bytes) ' | sed 's/ *=.*# / /')" \
	"rank default
writer-rank default
lru-bytes default"

# compact
cachex set -c c auto-compact=off
is "commits do not" "$(cachex set c | grep ^auto-)" "auto-compact=off"
for i in 1 2 3 4 5 6 7 8 9; do put c $i "record $i"; done
cachex rm -f c 1 2 3 4 5 6 7
before=$(cachex dump c)
check "compact -n" 0 cachex compact -n c --live-ratio 1
also "says what it would do" grep -Eq '^c: 9 chunks would become [12], 7 dead records dropped; ' "$out"
is "and does not" "$(number "$(cachex stat c --json)" dead_records)" 7
check "compact" 0 cachex compact c --live-ratio 1
also "says what it did" grep -Eq '^c: 9 chunks became [12], 7 dead records dropped; 256 B, was 1.12 KiB$' "$out"
is "no dead records" "$(number "$(cachex stat c --json)" dead_records)" 0
is "the live ones are the same" "$(cachex dump c)" "$before"
check "verify is content" 0 cachex verify c
check "compact --json" 0 cachex compact c --json
is "as JSON" "$(sed 's/"chunks_[a-z]*":[0-9]*,//g' "$out")" \
	'{"module":"c","rewritten":0,"moved":0,"dropped":0,"bytes_before":256,"bytes_after":256,"damaged":0}'
cachex put c text text --dtype u8 --shape 32768
check "recode" 0 cachex compact c --recode lz4
is "has the codec" "$(cachex ls c text --json | sed 's/.*"codec":"\([^"]*\).*/\1/')" lz4
check "and the data" 0 cachex get c text --format raw
also "bit for bit" cmp "$out" text
check "recode to none" 0 cachex compact c --recode none
is "goes back" "$(cachex ls c text --json | sed 's/.*"codec":"\([^"]*\).*/\1/')" none
head -c 3000000 /dev/urandom >large
cachex put c large large --dtype u8 --shape 3000000
cachex rm -f c large
check "shrink" 0 cachex compact c --live-ratio 1 --shrink --json
also "gives the space back" test "$(number "$(cat "$out")" file_after)" -lt 1000000
is "file_after is the file's" "$(number "$(cat "$out")" file_after)" "$(wc -c <"$root/c/data.mdb" | tr -d ' ')"
check "everything is there" 0 cachex verify c
check "the text too" 0 cachex get c text --format raw
also "as it was" cmp "$out" text
check "-q is quiet" 0 cachex compact -q c
is "so" "$(cat "$out" "$err")" ""
refuse "no ratio" 2 "cachex: compact: --live-ratio: '2' is not a ratio from 0 to 1" cachex compact c --live-ratio 2
refuse "no size of chunks" 2 "cachex: compact: --chunk-bytes: '1K' is below 64K" cachex compact c --chunk-bytes 1K
refuse "no codec" 2 \
	"cachex: compact: --recode: 'zip' is not one of keep|none|lz4|shuffle-lz4|u8pack|u8pack-lz4|auto" \
	cachex compact c --recode zip
refuse "no level" 2 "cachex: compact: --level: 13 is not -65537 to 12" cachex compact c --level 13

# copy and merge
put s a 1; put s b 2; put s c 3; put t b x; put t d 4
check "copy to a new module" 0 cachex copy s new
is "says how much" "$(cat "$out")" "new: 3 records copied, 0 replaced, 0 kept; 384 B"
is "the same records" "$(cachex dump new)" "$(cachex dump s)"
check "copy -n to a new module" 0 cachex copy -n s newer --prefix b
is "says how much it would" "$(cat "$out")" "newer: 1 record to be copied, 0 replaced, 0 kept; 128 B"
also "and makes none" test ! -e "$root/newer"
check "a conflict" 3 cachex copy s t
also "is named" grep -q "^cachex: copy: .*'b'" "$err"
is "nothing is copied" "$(cachex ls t -1 | tr '\n' ' ')" "b d "
check "same where it is not" 3 cachex copy s t --conflict same
check "same where it is" 0 cachex copy s new --conflict same
is "keeps" "$(cat "$out")" "new: 0 records copied, 0 replaced, 3 kept; 0 B"
check "keep" 0 cachex copy s t --conflict keep
is "says so" "$(cat "$out")" "t: 2 records copied, 0 replaced, 1 kept; 256 B"
is "keeps" "$(cachex get t b --format raw)" x
check "replace -n" 0 cachex copy -n s t --conflict replace --json
is "as JSON" "$(cat "$out")" '{"module":"t","copied":0,"replaced":3,"kept":0,"damaged":0,"bytes":384}'
is "replaces nothing" "$(cachex get t b --format raw)" x
check "replace" 0 cachex copy s t --conflict replace
is "replaces" "$(cachex get t b --format raw)" 2
check "a prefix" 0 cachex copy s some --prefix c
is "copies those" "$(cachex ls some -1)" c
check "to another root" 0 cachex copy s s --to-root elsewhere
is "copies there" "$(cachex --root elsewhere dump s)" "$(cachex dump s)"
check "and from it" 0 cachex copy s back --from-root elsewhere -q
is "in silence" "$(cat "$out" "$err")" ""
is "back" "$(cachex dump back)" "$(cachex dump s)"
refuse "to itself" 2 "cachex: copy: s is both source and target" cachex copy s s
cachex put s text text --dtype u8 --shape 32768 --codec lz4
cachex put s value --field 'x:={"$tuple":[1,"é"]}' --field t:='{"$tensor":"u8[1]","data":"AA=="}'
check "coded and structured ones" 0 cachex copy s rich
is "are the same" "$(cachex dump rich)" "$(cachex dump s)"
is "and coded" "$(cachex ls rich text --json | sed 's/.*"codec":"\([^"]*\).*/\1/')" lz4
cachex set -c strict policy=strict
put strict z 1
check "into a strict module" 3 cachex copy s strict
also "names the structures" grep -q 'x: plain' "$err"
put p1 a 1; put p2 b 2; put p3 a 3
check "merge" 0 cachex merge p1 p2 all
is "says how much" "$(cat "$out")" "all: 2 records copied, 0 replaced, 0 kept; 256 B"
is "has both" "$(cachex ls all -1 | tr '\n' ' ')" "a b "
check "a conflict between sources" 3 cachex merge p1 p2 p3 all2
check "replace takes the last" 0 cachex merge p1 p2 p3 all3 --conflict replace
is "so" "$(cachex get all3 a --format raw)" 3
refuse "a source that is the target" 2 "cachex: merge: p1 is both source and target" cachex merge p2 p1 p1
check "a source that is not there" 1 cachex merge p1 gone all4
also "makes no target" test ! -e "$root/all4"

# clear
refuse "clear without a terminal" 2 "cachex: clear: not a terminal, cannot ask for confirmation; use -f" cachex clear s
check "clear -n" 0 cachex clear -n s
is "says how many" "$(cat "$err")" "cachex: clear: would delete 5 records of s"
check "clear -f -v" 0 cachex clear -f -v s
is "says so" "$(cat "$err")" "cachex: clear: deleted 5 records of s"
is "none is left" "$(cachex ls s)" ""
check "verify is content" 0 cachex verify s
check "new ones come" 0 sh -c 'printf x | "$1" put s x --dtype u8 --shape 1' sh "$CACHEX"
cachex set strict codec=lz4 && cachex clear -f strict
is "settings stay" "$(cachex set strict --json | cut -d, -f2)" '"codec":"lz4"'
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
	printf 'n\n' | NO_COLOR=1 script -qec "'$CACHEX' clear t; echo status \$?" /dev/null >answer
	also "it asks on a terminal" grep -q 'delete all 4 records of t? \[y/N\]' answer
	also "and takes no" grep -q '^status 1' answer
	is "then nothing is gone" "$(cachex ls t -1 | wc -l | tr -d ' ')" 4
	printf 'y\n' | script -qec "'$CACHEX' clear t" /dev/null >answer
	is "yes is yes" "$(cachex ls t)" ""
else
	skip "it asks on a terminal" "no script(1)"
fi

# recover
put r whole hello; put r broken world; put r gone again
cachex rm -f r gone
check "nothing to recover" 0 cachex recover r
is "says so" "$(cat "$out")" "r: no damage; 2 records"
data=$root/r/data.mdb
for at in $(LC_ALL=C grep -abo world "$data" | cut -d: -f1); do
	printf W | dd of="$data" bs=1 seek="$at" conv=notrunc 2>/dev/null
done
check "a damaged record" 3 cachex verify r
check "recover -n" 3 cachex recover -n r
also "names what is lost" grep -q "^r: .*'broken'" "$out"
is "and what there would be" "$(tail -n 1 "$out" | cut -d, -f1-3 | cut -d';' -f1)" \
	"r: would have 1 record, 0 rescued, 1 lost"
check "changes nothing" 3 cachex verify r
check "recover --json" 3 cachex recover r --json
is "counts" "$(tail -n 1 "$out")" '{"module":"r","records":1,"rescued":0,"lost":1,"unknown":0,"runs":0,"rows":0,"reset":0,"kept":1}'
check "the old file is kept" 0 test -s "$root/r/data.mdb.damaged-1"
is "and nothing else is left" "$(ls "$root/r" | tr '\n' ' ')" "data.mdb data.mdb.damaged-1 lock.mdb "
is "which is no module" "$(cachex ls -1 | tr '\n' ' ')" "$(cachex ls -1 | grep -v damaged | tr '\n' ' ')"
check "nor in the way of stat" 0 cachex stat r
check "verify is content" 0 cachex verify r
is "the whole one is there" "$(cachex get r whole --format raw)" hello
is "the deleted one is not back" "$(cachex ls r -1)" whole
finish
