#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the examples of every page and of the README, and compares what they
# print with what the page says. man_examples.awk says what an example is and
# man_compare.awk what "..." stands for. A command must succeed; one that does
# not says so by `; echo $?`.
#
# The commands of a page run in order in one directory that holds
#   feature.npy            float32[512]: 0, 1, 2 … 511
#   features/{ant,bee}.npy float32[4]
#   photo.jpg photo.png    24 x 16 pixels
#   photos/{beach.jpg,forest.png}
# and, for files that an example shows (section 3, README), those files.
# MAN_PAGES="man/cachex-put.1 …" runs only these. With INSTALLED=yes they run on what the
# PATH has: cachex, the library and the Python package of an installation.

. "${srcdir:-.}/t/support/tap.sh"
awk_dir=$srcdir/t/support
: "${CC:=cc}" "${CFLAGS:=}"

# The bytes of float32 FIRST, FIRST + 1 … LAST.
floats() {
	printf %b "$(awk -v first="$1" -v last="$2" 'BEGIN {
		for (i = first; i <= last; i++) {
			exponent = 0
			for (m = i; m >= 2; m /= 2)
				exponent++
			mantissa = i ? (m - 1) * 8388608 : 0
			top = i ? 127 + exponent : 0
			printf "\\0%03o\\0%03o\\0%03o\\0%03o", mantissa % 256,
			    int(mantissa / 256) % 256,
			    int(mantissa / 65536) + top % 2 * 128, int(top / 2)
		}
	}')"
}

# npy_header LENGTH: the header of a float32 vector, as NumPy writes it.
npy_header() {
	printf '\223NUMPY\001\000\166\000%-117s\n' \
	    "{'descr': '<f4', 'fortran_order': False, 'shape': ($1,), }"
}

make_fixtures() {
	mkdir -p "$1/features" "$1/photos"
	{ npy_header 512; floats 0 511; } >"$1/feature.npy"
	{ npy_header 4; floats 1 4; } >"$1/features/ant.npy"
	{ npy_header 4; floats 5 8; } >"$1/features/bee.npy"
	base64 -d >"$1/photo.png" <<-END
	iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijCAAAAAXNSR0IArs4c6QAAACBJREFUOI1j
	ZGBo4GJgoByxMAgwUAWMGjRq0KhBI9UgAPK6ApRUkkqeAAAAAElFTkSuQmCC
	END
	base64 -d >"$1/photo.jpg" <<-END
	/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkz
	ODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2Nj
	Y2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAQABgDASIA
	AhEBAxEB/8QAFwAAAwEAAAAAAAAAAAAAAAAAAAQFBv/EABcQAAMBAAAAAAAAAAAAAAAAAAADBGH/
	xAAWAQEBAQAAAAAAAAAAAAAAAAAEAwb/xAAbEQACAQUAAAAAAAAAAAAAAAAABAIDISIxYf/aAAwD
	AQACEQMRAD8AziocHFQ4WlQ4OKhwrNsIq90iqhwDSqhwAsm7mgpPY7P/2Q==
	END
	cp "$1/photo.jpg" "$1/photos/beach.jpg"
	cp "$1/photo.png" "$1/photos/forest.png"
}

# The programs that examples name, as if the build tree were installed.
make_programs() {
	mkdir "$1"
	cat >"$1/cachex" <<-END
	#!/bin/sh
	exec "$CACHEX" "\$@"
	END
	cat >"$1/cc" <<-END
	#!/bin/sh
	PATH='$PATH' exec $CC $CFLAGS "\$@"
	END
	cat >"$1/pkg-config" <<-END
	#!/bin/sh
	PATH='$PATH' PKG_CONFIG_PATH='$builddir' exec pkg-config \\
	    --define-variable=libdir='$builddir/.libs' \\
	    --define-variable=includedir='$srcdir/include' "\$@"
	END
	if [ -f "$builddir/python/lmdbcache/_core.abi3.so" ]; then
		mkdir -p "$scratch/package"
		cp -r "$srcdir/python/lmdbcache" "$scratch/package"
		cp "$builddir/python/lmdbcache/_core.abi3.so" "$scratch/package/lmdbcache"
		# An extension that the address sanitizer watches needs it from the start.
		preload=
		if ldd "$scratch/package/lmdbcache/_core.abi3.so" | grep -q libasan; then
			preload="LD_PRELOAD='$(${CC:-gcc} -print-file-name=libasan.so) $(${CC:-gcc} \
				-print-file-name=libstdc++.so.6)' ASAN_OPTIONS='detect_leaks=0'"
		fi
		cat >"$1/python3" <<-END
		#!/bin/sh
		PATH='$PATH' PYTHONPATH='$scratch/package' $preload exec ${PYTHON:-python3} "\$@"
		END
	fi
	chmod +x "$1"/*
}

# The first program that a command names and this machine lacks, or package that the
# program in Python it runs imports.
lacking() {
	case $page:${INSTALLED:-no} in
	*_python.3:no|*.7:no)
		[ -d "$scratch/package" ] || { echo "Python.h"; return; } ;;
	README:no)
		[ -d "$scratch/package" ] || ! grep -q '^python3 ' "$1" ||
		    { echo "Python.h"; return; } ;;
	esac
	script=$(sed -n 's/^python3 \([a-z_]*\.py\)$/\1/p' "$1")
	for module in $(sed -n 's/^import \([a-z]*\).*/\1/p; s/^from \([a-z]*\)[ .].*/\1/p' \
	    ${script:-/dev/null}); do
		python3 -c 'import importlib.util as i, sys
sys.exit(i.find_spec(sys.argv[1]) is None)' "$module" && continue
		echo "$module for Python"
		return
	done
	if grep -qE 'cachex (view|warehouse report.*\.pdf)' "$1" &&
	    "$CACHEX" view /dev/null -n 2>&1 | grep -q 'without cairo'; then
		echo "cairo"
		return
	fi
	for program in jq mdb_stat mdb_dump mandoc man; do
		if grep -qw "$program" "$1" && ! command -v "$program" >/dev/null; then
			echo "$program"
			return
		fi
	done
}

# example NAME STEP: run STEP.cmd in the current directory, compare with STEP.want.
example() {
	# Some shells' echo would take a backslash in the name of the test.
	label="$1: $(head -n 1 "$2.cmd" | sed 's,[\\],,g')"
	missing=$(lacking "$2.cmd")
	if [ -n "$missing" ]; then
		skip "$label" "$missing is not installed"
		return
	fi
	timeout 300 sh "$2.cmd" >"$2.got" 2>&1 </dev/null
	got=$?
	if awk -f "$awk_dir/man_compare.awk" "$2.want" "$2.got" && [ $got = 0 ]; then
		result 0 "$label"
		return
	fi
	result 1 "$label"
	echo "#   exit status $got; it printed"; show "$2.got"
	echo "#   the page says"; show "$2.want"
}

# page FILE KIND
page() {
	page=${1##*/}
	dir=$scratch/$page
	mkdir -p "$dir/steps/files"
	cp -r "$scratch/fixtures" "$dir/work"
	problems=$(awk -v dir="$dir/steps" -v kind="$2" -f "$awk_dir/man_examples.awk" "$1")
	is "$page: every line of its examples belongs to a command" "$problems" ""
	holds "$page: has examples" test -e "$dir/steps/001.cmd"
	cp -r "$dir/steps/files/." "$dir/work"
	mkdir "$dir/home"
	export HOME="$dir/home" XDG_CACHE_HOME="$dir/home/.cache" XDG_CONFIG_HOME="$dir/home/.config"
	for cmd in "$dir"/steps/*.cmd; do
		[ -e "$cmd" ] || continue
		cd "$dir/work" && example "$page" "${cmd%.cmd}"
	done
	cd "$scratch" || exit 99
}

printf 'a\n...\nb...d\n' >"$scratch/want"
for text in 'a bcd' 'a x  bd'; do
	echo "$text" | tr ' ' '\n' >"$scratch/got"
	holds "the comparison takes $text" \
	    awk -f "$awk_dir/man_compare.awk" "$scratch/want" "$scratch/got"
done
for text in 'a b' 'a bd x' 'xa bd' 'a'; do
	echo "$text" | tr ' ' '\n' >"$scratch/got"
	check "the comparison refuses $text" 1 \
	    awk -f "$awk_dir/man_compare.awk" "$scratch/want" "$scratch/got"
done
make_fixtures "$scratch/fixtures"
if [ "${INSTALLED:-no}" = no ]; then
	make_programs "$scratch/programs"
	PATH=$scratch/programs:$PATH
	export PATH LD_LIBRARY_PATH="$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi

for file in ${MAN_PAGES:-$(cd "$srcdir" && echo man/*.[1-9] README)}; do
	case $file in
	*.[1-9]) page "$srcdir/$file" page ;;
	*) page "$srcdir/$file" text ;;
	esac
done
finish
