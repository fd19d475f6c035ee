#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the tool offers for completion, and that the shells' scripts ask for it.
. "${srcdir:-.}/t/support/tap.sh"

printf x >x
for id in img:1 img:2 'a b' "$(printf 'tab\tid')" "$(printf 'no\377')"; do
	cachex put photos "$id" x --dtype u8 --shape 1
done
cachex put papers p x --dtype u8 --shape 1
cachex --root other put elsewhere e x --dtype u8 --shape 1

# words of an answer, in one line; what they mean is left out
offered() { cachex __complete "$@" | cut -f1 | tr '\n' ' '; }

is "commands" "$(offered '')" \
	"words put get has rm ls stat top report schema set verify backup copy merge compact clear drop rename recover import export shard dump load fill buckets migrate build warehouse view read plan follow push publish pull gc shell config help "
is "commands that begin so" "$(offered ex)" "words export "
is "what they mean" "$(cachex __complete ve)" "words
verify	read everything and report damage"
is "modules" "$(offered ls '')" "words papers photos "
is "modules that begin so" "$(offered get ph)" "words photos "
is "modules of another root" "$(offered --root other ls '')" "words elsewhere "
is "by = too" "$(offered ls --root=other '')" "words elsewhere "
is "cache_ids, those that a shell can take" "$(offered get photos '')" "words a b img:1 img:2 "
is "cache_ids that begin so" "$(offered has photos img:)" "words img:1 img:2 "
is "more cache_ids" "$(offered rm photos img:1 img:2)" "words img:2 "
is "after --" "$(offered rm -- photos img:2)" "words img:2 "
is "no third operand" "$(offered get photos img:1 '')" "words "
is "files" "$(offered put photos new '')" "files "
is "directories" "$(offered export photos '')" "dirs "
is "a dataset and a warehouse" "$(offered build set '')" "dirs "
is "layouts of labels" "$(offered build --layout c)" "words capture coco "
is "dtypes of a warehouse" "$(offered build --dtype f)" "words f16 f32 "
is "words of shard" "$(offered shard '')" "words inspect verify extract union "
is "words of shard for help" "$(offered help shard e)" "words extract "
is "words of a command without any" "$(offered help get '')" "words "
is "nothing behind a word that is none" "$(offered shard verfy '')" "words "
is "options of a word" "$(offered shard extract --f)" "words --format --force --force-fs "
is "not another word's" "$(offered shard verify --f)" "words --force-fs "
is "files of shard" "$(offered shard verify '')" "files "
is "commands for help" "$(offered help im)" "words import "
is "global options" "$(offered --r)" "words --root --rank "
is "options of a command" "$(offered export --s)" "words --shard-size --shard-records --shard-version --sha256 --single-publisher --short-help "
is "not another's" "$(offered ls --sha)" "words "
is "choices" "$(offered get photos img:1 --format '')" "words auto npy raw json npz set "
is "codecs" "$(offered put --codec u8)" "words u8pack u8pack-lz4 "
is "conflicts" "$(offered copy --conflict '')" "words keep replace same fail "
is "a module for a source" "$(offered copy ph)" "words photos "
is "and for the target" "$(offered copy photos pa)" "words papers "
is "any number of modules" "$(offered merge photos papers p)" "words papers photos "
is "a module to compact" "$(offered compact pa)" "words papers "
is "settings" "$(offered set photos '')" "words codec=none codec=lz4 codec=shuffle-lz4 codec=u8pack codec=u8pack-lz4 codec=auto level= policy=evolve policy=strict max-bytes= evict=oldest evict=unread auto-compact=off auto-compact=on length= share=owner share=group share=all "
is "settings that begin so" "$(offered set photos codec=none policy=s)" "words policy=strict "
is "a module to read" "$(offered read '')" "words papers photos "
is "that begins so" "$(offered plan pa)" "words papers "
is "or a path, with a slash" "$(offered read ./)" "files "
is "or of no module" "$(offered read shards)" "files "
is "a module to follow" "$(offered follow ph)" "words photos "
is "options of read" "$(offered read --b)" "words --batch --block --batches --bits "
is "options of plan" "$(offered plan --s)" "words --show --share --store-mbps --store-ms --seek-ms --stride --shuffle --spread --seed --shares --split --split-by --split-seed --sources --short-help "
is "options of follow" "$(offered follow --w)" "words --window --wait --writer-rank "
is "shuffles" "$(offered read --shuffle '')" "words none full block era "
is "splits" "$(offered read --share c)" "words contiguous "
is "a directory for batches" "$(offered read --npy '')" "dirs "
is "a file for the token" "$(offered follow --token-file '')" "files "
is "files for fields" "$(offered put photos new --field '')" "files "
is "choices that begin so" "$(offered export --shard-version a)" "words auto "
is "dtypes" "$(offered put --dtype f)" "words f16 f32 f64 f8_e4m3 f8_e5m2 f8_e8m0 f8_e4m3fnuz f8_e5m2fnuz f4_e2m1_x2 "
printf '{"a": {"b": 1, "c.d": [1]}, "z": "x"}' >map
cachex put maps k map --format json
cachex put maps other x --dtype u8 --shape 1
is "fields, with what they are" "$(cachex __complete get maps k --field '')" "words
a	{b: integer, c.d: list}
a.b	integer
a.c\\.d	list
z	string"
is "pages of view" "$(offered view --ch) $(offered view --emb) $(offered view --du) $(offered view --cov)" \
	"words --chunks  words --embedding  words --duplicates  words --coverage "
is "a module to compare" "$(offered view --coverage ph)" "words photos "
is "fields that begin so" "$(offered view maps --field a.b)" "words a.b "
is "fields of no module" "$(offered get --field '')" "words "
cachex drop maps -f -q
is "a file for -o" "$(offered get photos img:1 -o '')" "files "
is "a directory for --root" "$(offered --root '')" "dirs "
is "any text for --id" "$(offered import m --id '')" "words "
is "an option's value is no operand" "$(offered get --format raw ph)" "words photos "
check "a module that is not there" 1 cachex __complete get gone ''
check "__complete is not listed" 0 cachex help
also "there" sh -c '! grep -q __complete "$1"' sh "$out"

PATH=$(dirname "$CACHEX"):$PATH
if command -v bash >/dev/null 2>&1; then
	# complete LINE: what bash would offer at its end
	cat >ask.bash <<'END'
. "$1"
COMP_LINE=$2 COMP_POINT=${#2}
_cachex 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
END
	asked() { bash ask.bash "$srcdir/completions/bash/cachex" "$1" | tr '\n' ' '; }
	is "bash: commands" "$(asked 'cachex im')" "import "
	is "bash: modules" "$(asked 'cachex ls p')" "papers photos "
	is "bash: cache_ids, behind the colon" "$(asked 'cachex get photos img:')" "1 2 "
	is "bash: cache_ids with blanks" "$(asked 'cachex get photos a')" 'a\ b '
	is "bash: settings, behind the sign" "$(asked 'cachex set photos codec=u8')" "u8pack u8pack-lz4 "
	is "bash: modules to merge" "$(asked 'cachex merge photos p')" "papers photos "
	is "bash: sources" "$(asked 'cachex read ph')" "photos "
	is "bash: paths to read" "$(asked 'cachex read ./as')" "./ask.bash "
	is "bash: files" "$(asked 'cachex put photos new as')" "ask.bash "
else
	skip "bash" "not installed"
fi
if command -v fish >/dev/null 2>&1; then
	asked() {
		fish --no-config -c "source '$srcdir/completions/fish/cachex.fish'; complete -C '$1'" |
			cut -f1 | tr '\n' ' '
	}
	is "fish: commands" "$(asked 'cachex im')" "import "
	is "fish: modules" "$(asked 'cachex ls p')" "papers photos "
	is "fish: cache_ids" "$(asked 'cachex get photos img')" "img:1 img:2 "
	is "fish: settings" "$(asked 'cachex set photos policy=')" "policy=evolve policy=strict "
	is "fish: modules to copy" "$(asked 'cachex copy photos pa')" "papers "
	is "fish: sources" "$(asked 'cachex plan pa')" "papers "
	is "fish: files" "$(asked 'cachex put photos new ask')" "ask.bash "
else
	skip "fish" "not installed"
fi
if command -v zsh >/dev/null 2>&1; then
	# The script's own words, with zsh's functions that show them replaced.
	cat >ask.zsh <<'END'
_files() { print -r -- files $* }
compadd() { print -rl -- $found }
words=("${@[2,-1]}") CURRENT=$#words
source $1
END
	asked() {
		zsh -f ask.zsh "$srcdir/completions/zsh/_cachex" "$@" | tr '\n' ' '
	}
	is "zsh: commands" "$(asked cachex im)" "import "
	is "zsh: modules" "$(asked cachex ls '')" "papers photos "
	is "zsh: cache_ids" "$(asked cachex get photos '')" "a b img:1 img:2 "
	is "zsh: settings" "$(asked cachex set photos evict=)" "evict=oldest evict=unread "
	is "zsh: modules to compact" "$(asked cachex compact pa)" "papers "
	is "zsh: sources" "$(asked cachex read ph)" "photos "
	is "zsh: paths to read" "$(asked cachex read ./)" "files "
	is "zsh: files" "$(asked cachex put photos new '')" "files "
	is "zsh: directories" "$(asked cachex export photos '')" "files -/ "
else
	skip "zsh" "not installed"
fi
finish
