# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests of t/scale: sixteen inputs, what one machine makes of them, and what
# an engine must have made of them with a worker killed.
#
#   needs COMMAND PACKAGE           the plan of a script that is skipped, unless it is there
#   module PYTHON_MODULE            the same for a module of $python
#   sets $store, $inputs, $producer: the arguments of the examples
#   dies WHEN N                     $producer kills its cachex and N processes above it
#   on_engine NAME COMMAND...       check that it succeeds; an engine that hangs is ended
#   same_as_one_machine             the store has what one machine publishes, and a worker died
. "${srcdir:-.}/t/support/tap.sh"

examples=$srcdir/examples
# What bootstrap check-scale installs from Python's package index.
python=${SCALE_PYTHON:-$builddir/scale/venv/bin/python}

skip_all() { echo "1..0 # SKIP $1 is not installed"; exit 0; }
needs() { command -v "$1" >/dev/null 2>&1 || skip_all "$2"; }
module() { "$python" -c "import $1" 2>/dev/null || skip_all "$1 for Python"; }

mkdir bin input
ln -s "$CACHEX" bin/cachex
PATH=$scratch/bin:$PATH
unset -f cachex
export PATH

inputs=$scratch/parts.txt
for part in $(seq 10 25); do
	# Lines of one length: shards hold tensors of one shape.
	seq -w "$part" 7 99999 | head -n $((part * 20)) | sed "s/\$/ of input $part/" \
		>"input/$part.txt"
	echo "$scratch/input/$part.txt" >>"$inputs"
done
store=file://$scratch/store
one=file://$scratch/one

dies() {
	producer="'$srcdir/t/support/dying_producer.sh' '$scratch/store' $1 $2"
	producer="$producer '$builddir/examples/producer'"
}

on_engine() {
	name=$1; shift
	check "$name" 0 timeout -k 10 900 "$@"
}

# The parts in the newest generation of a store, and the hash of its text.
generation() {
	newest=$(find "$scratch/$1" -path '*/manifest/*.json' 2>/dev/null | sort | tail -n 1)
	[ -z "$newest" ] || { grep -c '"counts"' "$newest"; sha256sum <"$newest"; }
}
starts() { wc -c <"$scratch/store.starts"; }

same_as_one_machine() {
	is "a worker was killed" "$([ -d "$scratch/store.died" ] && echo killed)" killed
	check "one machine fills the same" 0 cachex fill -q --root root --push "$one" \
	    --from "@$inputs" --exec "$builddir/examples/producer" feats
	check "and publishes" 0 cachex publish -q "$one"
	is "the same generation, byte for byte" "$(generation store)" "$(generation one)"
	is "of all parts" "$(generation store | head -n 1)" 16
	check "it is pulled" 0 cachex pull -q "$store" pulled
	check "and read" 0 cachex read --sum ./pulled
	is "with a record of each line" "$(awk '{ n += $2 } END { print n }' "$out")" \
	    "$(cat "$scratch"/input/* | wc -l)"
}
