#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What make install puts down can be compiled against, linked with and run.
. "${srcdir:-.}/t/support/tap.sh"

dest=$scratch/dest
CC=${CC:-cc} CFLAGS=${CFLAGS:-} PKG_CONFIG=${PKG_CONFIG:-pkg-config}

in_build() { (cd "$builddir" && "${MAKE:-make}" "$@"); }

# The C++ compiler of the same family, as sanitizers do not mix.
find_cxx() {
	case ${CC##*/} in
	clang*) command -v clang++ ;;
	*) command -v g++ || command -v c++ ;;
	esac
}

holds "make install" in_build install DESTDIR="$dest"
pc=$(find "$dest" -name liblmdbcache.pc)
libdir=$(dirname "$(dirname "$pc")")
bindir=$(dirname "$(find "$dest" -path '*/bin/cachex')")
export PKG_CONFIG_PATH="${pc%/*}${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export PKG_CONFIG_SYSROOT_DIR="$dest"
export LD_LIBRARY_PATH="$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

is "the shared library has its version in its name" \
    "$(cd "$libdir" && find . -name 'liblmdbcache.so*' | sort | tr '\n' ' ')" \
    "./liblmdbcache.so ./liblmdbcache.so.0 ./liblmdbcache.so.0.0.0 "
nm -D --defined-only "$libdir/liblmdbcache.so" |
    sed -n 's/.* [TDBRVW] \([^@]*\).*/\1/p' | sort >exported
sed -n 's/^LC_API.*[ *]\(lc_[a-z0-9_]*\)(.*/\1/p' "$srcdir/include/lmdbcache.h" |
    sort >declared
is "it exports what the header declares and nothing else" \
    "$(comm -3 declared exported | tr '\n' ' ')" ""
is "cachex, as installed, tells the version of the .pc file" \
    "$("$bindir/cachex" --version | sed 's/.* //; q')" "$($PKG_CONFIG --modversion liblmdbcache)"

holds "its .pc file asks for no other one" env PKG_CONFIG_LIBDIR="${pc%/*}" PKG_CONFIG_PATH= \
    $PKG_CONFIG --cflags --libs liblmdbcache

cat >consumer.c <<'END'
#include <lmdbcache.h>

#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
	const float in[4] = { 0.5f, -1.0f, 2.0f, 1e-3f };
	const uint64_t shape[2] = { 2, 2 };
	lc_cache *cache = NULL;
	lc_tensor tensor;
	lc_view view;
	int same;

	if (argc != 2 || strcmp(lc_version(), LC_PC_VERSION) != 0 ||
	    lc_tensor_init(&tensor, LC_F32, 2, shape, in) != LC_OK ||
	    lc_open(argv[1], "consumer", NULL, &cache) != LC_OK ||
	    lc_put(cache, "id", 2, &tensor) != LC_OK || lc_flush(cache) != LC_OK ||
	    lc_get(cache, "id", 2, &view) != LC_OK) {
		fprintf(stderr, "%s\n", lc_last_error()->text);
		return 1;
	}
	same = view.tensor.nbytes == sizeof(in) && memcmp(view.tensor.data, in, sizeof(in)) == 0;
	lc_view_release(&view);
	if (lc_close(cache) != LC_OK || !same)
		return 1;
	puts("same");
	return 0;
}
END
cp consumer.c consumer.cc

# consumer NAME COMPILER...: compile and link by what pkg-config says, then run.
consumer() {
	program=$1; shift
	# shellcheck disable=SC2046,SC2086 # flags are words
	holds "$program compiles and links by pkg-config" "$@" $CFLAGS \
	    -DLC_PC_VERSION="\"$($PKG_CONFIG --modversion liblmdbcache)\"" \
	    $($PKG_CONFIG --cflags liblmdbcache) -o "$scratch/consumer" \
	    $($PKG_CONFIG --libs liblmdbcache)
	is "$program puts and gets" "$("$scratch/consumer" "$scratch/root-$count" 2>&1)" same
}

# shellcheck disable=SC2086 # a compiler with its flags
consumer "a C program" $CC -std=c99 -pedantic -Wall -Wextra -Werror consumer.c
if cxx=$(find_cxx); then
	consumer "a C++ program" "$cxx" -std=c++11 -pedantic -Wall -Wextra -Werror consumer.cc
else
	skip "a C++ program" "no C++ compiler of ${CC%% *}'s family"
fi

if command -v cmake >/dev/null; then
	cat >CMakeLists.txt <<-'END'
	cmake_minimum_required(VERSION 3.10)
	project(consumer C)
	find_package(lmdbcache 0.1 REQUIRED)
	add_executable(consumer consumer.c)
	target_compile_definitions(consumer PRIVATE LC_PC_VERSION="${lmdbcache_VERSION}")
	target_link_libraries(consumer PRIVATE lmdbcache::lmdbcache)
	END
	holds "CMake finds the package" env CC="$CC" cmake -S . -B cmake-build \
	    -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_PREFIX_PATH="${libdir%/lib*}"
	holds "CMake builds a program with it" cmake --build cmake-build
	is "the program puts and gets" "$(cmake-build/consumer "$scratch/root-cmake" 2>&1)" same
	sed 's/lmdbcache 0.1/lmdbcache 99/' CMakeLists.txt >new && mv new CMakeLists.txt
	check "a version that is too old is not found" 1 env CC="$CC" cmake -S . -B cmake-99 \
	    -DCMAKE_PREFIX_PATH="${libdir%/lib*}"
else
	skip "CMake" "no cmake"
fi

# A page of section 3 has the names of its functions.
man3=$(dirname "$(find "$dest" -name lmdbcache.3)")
is "a page for every function" \
    "$(for name in $(cat declared); do [ -s "$man3/$name.3" ] || echo "$name"; done)" ""

holds "make uninstall" in_build uninstall DESTDIR="$dest"
is "nothing is left behind" "$(find "$dest" ! -type d)" ""
finish
