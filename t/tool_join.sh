#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Joins: several modules as one record, in streams.
. "${srcdir:-.}/t/tap.sh"

words() { tr '\n' ' ' <"$out"; }
# A record of u8[N]: "put MODULE ID N..." with the byte N as many times.
records() { # MODULE SIZE ID...
	module=$1 size=$2
	shift 2
	for id; do
		bytes=$(i=0; while [ $i -lt "$size" ]; do printf %s "$id"; i=$((i + 1)); done)
		echo "{\"id\":\"$id\",\"dtype\":\"u8\",\"shape\":[$size],\"data\":\"$(printf %s "$bytes" | base64)\"}"
	done | cachex load -q "$module" -
}
records dino 1 a b c d e f
records vae 2 f e c b a z
records t5 3 a b c d f y

refuse "partners that are missing are refused, with their numbers" 3 \
"cachex: read: dino+vae+t5: 2 of 6 records lack a partner: 1 missing in vae, 1 missing in t5; the first is 'd'; --missing drop leaves such records out" \
	cachex read dino+vae+t5
check "or left out" 0 cachex read dino+vae+t5 --missing drop -1
is "in the order of the first" "$(words)" "a b c f "
is "and counted" "$(cat "$err")" \
"cachex: read: dino+vae+t5: 2 of 6 records are left out: 1 missing in vae, 1 missing in t5"
check "another first module" 0 cachex read vae+dino --missing drop -1
is "gives another order" "$(words)" "f e c b a "
cachex rm -qf vae z
check "none is missing" 0 cachex read vae+dino -1
is "so nothing is said" "$(cat "$err")" ""

# Fields
check "fields have the names of their modules" 0 \
	cachex read dino+vae+t5 --missing drop --batch 4 --npy npy
is "a file each" "$(ls npy/batch-00000000 | tr '\n' ' ')" "dino.npy t5.npy vae.npy "
is "rows of one record stand together" "$(for f in dino vae t5; do
	tail -c +129 npy/batch-00000000/$f.npy; echo; done)" "abcf
aabbccff
aaabbbcccfff"
check "some of them" 0 cachex read dino+vae+t5 --missing drop --batch 4 --npy one --field vae
is "is one file" "$(tail -c +129 one/batch-00000000.npy)" "aabbccff"
check "a field of no module" 3 cachex read vae+dino --sum --field vaes
is "is named" "$(cat "$err")" "cachex: read: vae+dino: field vaes begins with none of these modules"

# What cannot be joined
refuse "twice the same" 2 "cachex: read: join: two modules are named dino: their fields would have the same names" \
	cachex read dino+dino
check "no such module" 1 cachex read dino+nobody
is "is named" "$(sed 's/ in .*//' "$err")" "cachex: read: there is no module nobody"
check "an empty name" 2 cachex read dino+
check "follow takes no joins" 2 cachex follow dino+vae
check "plan takes no joins" 2 cachex plan dino+vae

# R readers see what one sees
cachex read dino+vae+t5 --missing drop --json --shuffle full --seed 5 --batch 3 2>/dev/null |
	sed 's/"row":[0-9]*,//' >whole
for r in 0 1; do
	cachex read dino+vae+t5 --missing drop --json --shuffle full --seed 5 --batch 3 \
		--reader $r/2 2>/dev/null
done | sed 's/"row":[0-9]*,//; s/.*"example":\([0-9]*\),.*/\1 &/' | sort -n |
	sed 's/[0-9]* //' >both
holds "two readers" cmp whole both

# Tokens
read_on() { cachex read "$@" --missing drop --batch 1 --batches 1 -1 --token-file token; }
check "a token" 0 read_on dino+vae
check "goes on" 0 read_on dino+vae
is "with the next" "$(words)" "b "
check "of other modules" 3 read_on dino+t5
records vae 2 q
check "after records were added" 0 read_on dino+vae
is "it goes on" "$(words)" "c "
records vae 2 e
check "after a partner was replaced" 1 read_on dino+vae
is "it is refused" "$(tail -n 1 "$err")" \
"cachex: read: token: what was read has changed in dino+vae since; --restart begins anew"

# A mixture of joins
check "a join in a mixture" 0 cachex read t5 --mix dino+vae=2 --missing drop --limit 30 -1
is "has so many" "$(wc -l <"$out" | tr -d ' ')" 30

# Completion
is "modules of a join" "$("$CACHEX" __complete read dino+v | tr '\t\n' '  ')" "words dino+vae  "
finish
