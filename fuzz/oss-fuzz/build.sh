#!/bin/sh -eu
# SPDX-License-Identifier: BSD-2-Clause
# Builds all targets into $OUT as OSS-Fuzz wants them: programs, corpora, dictionaries, and the
# libraries that the machine which runs them lacks.
cd "$SRC/cachex"
test -x configure || autoreconf -fi
mkdir -p "$WORK/configured"
# Only config.h is needed; the sanitizers' flags would fail configure's small programs.
if test ! -f config.h; then
	(cd "$WORK/configured" && CC=cc CFLAGS= CXXFLAGS= "$SRC/cachex/configure" --disable-lazy-loading >configure.out)
	config=$WORK/configured
else
	config=.
fi
build() { make -f fuzz/fuzz.mk SRC=. CONFIG="$config" OUT="$WORK/fuzz" "$@"; }
build -j"$(nproc)" CC="$CC" CFLAGS="$CFLAGS" ENGINE="$LIB_FUZZING_ENGINE" LINK="${CXX:-$CC}" \
	LDFLAGS='-Wl,-rpath,\$$ORIGIN/lib'
mkdir -p "$OUT/lib"
for target in $(build -s list); do
	cp "$WORK/fuzz/fuzz_$target" "$OUT/$target"
	(cd "fuzz/corpus/$target" && zip -q -r - .) >"$OUT/${target}_seed_corpus.zip"
	test ! -f "fuzz/dict/$target.dict" || cp "fuzz/dict/$target.dict" "$OUT/"
done
# Not libc itself, which programs and their loader must agree about.
ldd "$OUT"/value_json "$OUT"/incoming "$OUT"/image | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u |
	grep -v -e "^$OUT/" -e '/lib\(c\|m\|dl\|rt\|pthread\|gcc_s\)\.so' | xargs -I{} cp {} "$OUT/lib/"
