#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names that look like a file of a format, and "-", as targets and sources.
. "${srcdir:-.}/t/support/tap.sh"

printf 0123456789abcdef | cachex put m k1 --dtype f32 --shape 4
printf fedcba9876543210 | cachex put m k2 --dtype f32 --shape 4

# A slip in an ending that decides the format.
while read -r target meant; do
	wrong "export to $target" 2 "cachex: export: $target: no format has this ending; did you \
mean $meant? --format twh1 writes a directory of shards" cachex export m "$target"
	also "$target is not made" test ! -e "$target"
done <<END
out.safetensor out.safetensors
out.saftensors out.safetensors
dir.d/out.SAFETENSORS dir.d/out.safetensors
out.nzp out.npz
out.Tar out.tar
END

# Endings of formats that cannot be written, or are directories.
other="cachex writes lmdb, mds, npy, npz, safetensors, twh1 and webdataset; choose one with --format"
while read -r target what; do
	wrong "export to $target" 2 "cachex: export: $target: looks like $what; $other" \
		cachex export m "$target"
	also "$target is not made" test ! -e "$target"
done <<END
out.parquet Parquet
out.h5 HDF5
out.tar.gz a compressed file
out.tgz a compressed file
out.npz.zst a compressed file
out.zip a zip archive
out.json JSON
out.jsonl JSON
out.csv CSV
out.pt a file of PyTorch
out.npy a .npy file
out.twh1 a TWH1 shard
out.PARQUET Parquet
END

for target in v1.0 set.old out.d .hidden a.b/c shards.2026-01-01; do
	check "export to $target" 0 cachex export m "$target"
	also "$target is a directory of shards" test -e "$target/manifest.json"
done
check "a format that is named" 0 cachex export m named.npy --format npy
is "takes any name" "$(ls named.npy | tr '\n' ' ')" "k1.npy k2.npy "
check "so do shards" 0 cachex export m named.twh1 --format twh1
also "with that name" test -e named.twh1/manifest.json

# Standard output
cachex export m file.tar >/dev/null; cachex export m file.npz >/dev/null
check "a tar archive to standard output" 0 cachex export m - --format webdataset
also "is the same archive" cmp "$out" file.tar
is "the count is no part of it" "$(cat "$err")" \
"cachex: export: 2 records on standard output, 3.00 KiB"
check "npz to standard output" 0 cachex export m - --format npz -q
also "is the same file" cmp "$out" file.npz
is "quietly" "$(cat "$err")" ""
check "with --json" 0 cachex export m - --format npz -q --json
also "the archive alone is there" cmp "$out" file.npz
wrong "no format" 2 "cachex: export: -: standard output needs --format npz or webdataset" \
	cachex export m -
for format in mds npy safetensors twh1; do
	wrong "$format to standard output" 2 \
"cachex: export: -: $format cannot be written to standard output; npz and webdataset can" \
		cachex export m - --format $format
done
wrong "a series of archives" 2 \
"cachex: export: -: a series of archives needs a directory, not standard output" \
	cachex export m - --format webdataset --shard-records 1
also "no file of that name" test ! -e ./-
check "./- is a name" 0 cachex export m ./-
also "of a directory" test -e ./-/manifest.json
if [ -w /dev/full ]; then
	cachex export m - --format webdataset >/dev/full 2>"$err"
	is "a full disk" "$? $(cat "$err")" \
"4 cachex: export: standard output: write: No space left on device"
fi
rm -rf ./-

# Standard input
through() { cachex export m - --format webdataset -q | cachex import "$@"; }
check "an archive through a pipe" 0 through n - --format webdataset
is "is stored" "$(cachex get n k2 --format raw | cksum)" "$(printf fedcba9876543210 | cksum)"
only="-: standard input is read only as a tar archive, with --format webdataset; \
use cachex put for one value"
wrong "import - of unknown format" 2 "cachex: import: $only" cachex import n -
wrong "import - as npz" 2 "cachex: import: $only" cachex import n - --format npz
wrong "a list that has it" 2 "cachex: import: $only" sh -c "echo - | '$CACHEX' import n @-"
printf 1234 >./-
for word in inspect verify "extract -o x"; do
	wrong "shard ${word%% *} -" 2 "cachex: shard: -: a shard must be a file that \
can be mapped, not standard input; use ./- for a file of that name" cachex shard ${word%% *} - ${word#"${word%% *}"}
done
wrong "a directory -" 2 "cachex: shard: -o: - is not a directory; use ./- for one of that name" \
	cachex shard extract file -o -
finish
