#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Joins: several modules as one record, in streams.
. "${srcdir:-.}/t/support/tap.sh"

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
"cachex: read: dino+vae+t5: 2 of 6 records have no partner: 1 missing in vae, 1 missing in t5; the first is 'd'; use --missing drop to leave them out" \
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
is "is named" "$(sed 's/ in .*//' "$err")" "cachex: read: no module nobody"
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
"cachex: read: token: records that were read have changed in dino+vae since; --restart starts again"

# A mixture of joins
check "a join in a mixture" 0 cachex read t5 --mix dino+vae=2 --missing drop --limit 30 -1
is "has so many" "$(wc -l <"$out" | tr -d ' ')" 30

# Completion
is "modules of a join" "$("$CACHEX" __complete read dino+v | tr '\t\n' '  ')" "words dino+vae  "

# Lines of JSON
cat >lines.jsonl <<'END'
{"image_id":"a","caption":"one","mask":[1,0,1],"aspect_bucket":"832x1216","height":1,"width":1}
{"image_id":"b","caption":"two","mask":[1,1,1],"width":1217,"height":832}
{"image_id":"c","caption":"three","mask":[0,0,0.5]}
END
check "lines become a module" 0 cachex load meta lines.jsonl --id-field image_id
is "lists of numbers become tensors" "$(cachex dump meta | sed -n 's/.*"mask":{"$tensor":"\([^"]*\)".*/\1/p' | tr '\n' ' ')" \
	"i64[3] i64[3] f64[3] "
refuse "a line without the member" 3 "cachex: load: lines.jsonl:1: has no member 'id'" \
	cachex load other lines.jsonl --id-field id
check "they are joined in a stream" 0 cachex read meta+dino --field meta.mask --field dino --batches 0-0 --batch 2 --npy lines
is "as fields" "$(ls lines/batch-00000000 | tr '\n' ' ')" "dino.npy meta.mask.npy "

# Exports
refuse "an export is refused, too" 3 \
"cachex: export: dino+vae+t5: 2 of 6 records have no partner: 1 missing in vae, 1 missing in t5; the first is 'd'; use --missing drop to leave them out" \
	cachex export dino+vae+t5 refused --format webdataset
also "and nothing is written" test ! -e refused
check "an export" 0 cachex export dino+vae+t5 wds --format webdataset --missing drop -q
is "has a member a module" "$(tar tf wds/shard-000000.tar | tr '\n' ' ')" \
"a.dino.npy a.vae.npy a.t5.npy b.dino.npy b.vae.npy b.t5.npy c.dino.npy c.vae.npy c.t5.npy f.dino.npy f.vae.npy f.t5.npy "
is "with its bytes" "$(tar xOf wds/shard-000000.tar b.t5.npy | tail -c 3)" bbb
cachex export dino+vae+t5 again --format webdataset --missing drop -q 2>/dev/null
also "the same bytes again" cmp wds/shard-000000.tar again/shard-000000.tar
check "with the lines" 0 cachex export meta+dino meta.tar -q
is "plain data is JSON" "$(tar tf meta.tar | sed -n '/^a/p' | tr '\n' ' ')" \
"a.meta.image_id.txt a.meta.caption.txt a.meta.mask.npy a.meta.aspect_bucket.txt a.meta.height.json a.meta.width.json a.dino.npy "
cachex load pure -q --id-field image_id - <<'END'
{"image_id":"a","caption":"one","words":["x","y"]}
END
check "columns of MDS" 0 cachex export pure+dino mds --format mds -q
is "are named by module and part" "$(tr -d '" ' <mds/index.json | sed 's/.*column_names:\[\([^]]*\)\].*/\1/')" \
	"dino,id,pure"
check "safetensors" 0 cachex export dino+vae+t5 x.safetensors --missing drop -q
cachex import -q back x.safetensors
is "come back by their names" "$(cachex ls back --ids | head -n 3 | tr '\n' ' ')" "a.dino a.t5 a.vae "
cachex dump dino | cachex load -q coded --codec lz4 -
printf '{"id":"a","dtype":"u8","shape":[3000],"data":"%s"}\n' \
	"$(head -c 3000 /dev/zero | base64 | tr -d '\n')" | cachex load -q coded --codec lz4 -
cachex get coded a >zeros.npy
check "coded tensors" 0 cachex export coded coded.safetensors -q
cachex import -q decoded coded.safetensors
also "come back" sh -c '"$1" get decoded a | cmp - "$2"' sh "$CACHEX" zeros.npy
check "and joined" 0 cachex export dino+coded both.safetensors -q
check "one part of the joined record" 0 cachex export dino+vae+t5 t5.safetensors --missing drop -q --field t5
refuse "TWH1 takes no joins" 2 "cachex: export: TWH1 shards hold the records of one module; use another --format for a join" \
	cachex export dino+vae twh

# Buckets: what the record says, not what the sides of a latent are rounded to
one_latent() { # WIDTHxHEIGHT of a latent
	printf '{"id":"%s","dtype":"u8","shape":[1,%s,%s],"data":"%s"}\n' "$1" "$3" "$2" \
		"$(head -c $(($2 * $3)) /dev/zero | base64 | tr -d '\n')"
}
{ one_latent a 104 104; one_latent b 104 152; } | cachex load -q latents -
head -n 2 lines.jsonl | cachex load sizes -q --id-field image_id -
check "by bucket" 0 cachex export latents+sizes buckets --format webdataset --by-bucket -q
is "from the records" "$(cd buckets && ls -d bucket_* | tr '\n' ' ')" "bucket_1216x832 bucket_832x1216 "
check "by bucket of the module alone" 0 cachex export sizes alone --format webdataset --by-bucket -q
is "from the record" "$(cd alone && ls -d bucket_* | tr '\n' ' ')" "bucket_1216x832 bucket_832x1216 "
check "by the sides when asked" 0 cachex export latents+sizes sides --format webdataset --by-bucket --bucket-scale 8 -q
is "of the latents" "$(cd sides && ls -d bucket_* | tr '\n' ' ')" "bucket_1024x1024 bucket_832x1216 "
check "by a field that is no bucket" 3 cachex export latents+sizes field --format webdataset --by-bucket --bucket-field sizes.image_id -q
finish
