#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The programs in examples/, linked against the shared library's public functions: a
# corpus that is written and trained on at once, both killed and resumed, and the model
# that an undisturbed run gives. Nothing here depends on when a kill comes.
. "${srcdir:-.}/t/support/tap.sh"

text_cache=$builddir/examples/text_cache train=$builddir/examples/train

# Kill a background process unless it is done; whatever it said is not of interest.
kill_hard() { kill -KILL "$1" 2>/dev/null; wait "$1" 2>/dev/null; }

# Wait until something is true, or process $1 has ended.
until_true() {
	pid=$1; shift
	until "$@"; do kill -0 "$pid" 2>/dev/null || return 0; done
}

# Has the writer made its module? What a writer killed before that leaves is not one.
module_is_there() { cachex --root live stat corpus >stat.out 2>&1; }

# Real text: this project's own.
mkdir corpus
for room in lib man t; do
	mkdir "corpus/$room"
	find "$srcdir/$room" -type f \( -name '*.[ch135]' -o -name '*.sh' \) \
	    -exec cp {} "corpus/$room" \;
done
tokens=$(cat corpus/*/* | wc -c)
documents=$(find corpus -type f -size +0c | wc -l)

check "a corpus becomes a module" 0 "$text_cache" -k 5 -j 2 whole corpus corpus
is "with every document and token" "$(sed 's/ in .*//' "$out")" \
    "$documents documents, $tokens tokens"
is "to its end" "$(sed 's/.* of //' "$out")" "5 inputs, final"
check "once more there is nothing to do" 0 "$text_cache" -k 5 -j 2 whole corpus corpus
check "the module is sound" 0 cachex --root whole verify corpus
check "training on it, one reader" 0 "$train" -q -r 1 whole corpus
model=$(cat "$out")
for readers in 2 3 7; do
	check "the same with $readers readers" 0 "$train" -q -r "$readers" whole corpus
	is "gives the same model" "$(cat "$out")" "$model"
done

check "twenty batches" 0 "$train" -s 20 -c point -r 2 whole corpus
is "leave a checkpoint" "$(tail -n 1 "$out" | sed 's/ .*//'; ls point)" "model
point"
check "that another R goes on from" 0 "$train" -c point -r 5 whole corpus
is "at the right batch" "$(sed -n '1s/: .*//p' "$out")" "batch 20"
is "to the same model" "$(tail -n 1 "$out")" "$model"

# Written and trained on at once; everything is killed and started again.
"$text_cache" -k 5 -j 1 live corpus corpus >/dev/null 2>&1 & writer=$!
until_true $writer module_is_there
for round in 1 2 3; do
	"$train" -c live-point -r "$round" live corpus >>steps 2>&1 & trainer=$!
	until_true $trainer test -e live-point
	kill_hard $writer
	kill_hard $trainer
	"$text_cache" -k 5 -j 2 live corpus corpus >/dev/null 2>&1 & writer=$!
done
"$train" -c live-point -r 4 live corpus >last 2>&1 & trainer=$!
wait $writer
is "the writer that was killed three times ends" $? 0
wait $trainer
is "and so does the training" $? 0
is "with the model of an undisturbed run" "$(tail -n 1 last)" "$model"
check "the same chunks, the same order" 0 "$train" -q -r 2 live corpus
is "as an undisturbed run has" "$(cat "$out")" "$model"
check "the module is sound" 0 cachex --root live verify corpus

echo more >corpus/lib/another
check "a corpus with another list of files is refused" 1 "$text_cache" -k 5 -j 1 live corpus corpus
is "in one line" "$(wc -l <"$err")" 1
finish
