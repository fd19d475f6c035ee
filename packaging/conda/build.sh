#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# LMDB itself has no file for pkg-config.
set -eu
autoreconf -fi
./configure --prefix="$PREFIX" --disable-lazy-loading --without-check --without-python \
	LMDB_CFLAGS="-I$PREFIX/include" LMDB_LIBS="-L$PREFIX/lib -llmdb"
make -j"${CPU_COUNT:-1}"
make install
