#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The Python package: each of python/tests/test_*.py by unittest, with the extension that
# make check builds. T_SEED and what else they take of the environment is handed on.
. "${srcdir:-.}/t/support/tap.sh"

extension=$builddir/python/lmdbcache/_core.abi3.so
if [ "${HAVE_PYTHON:-yes}" = no ] || [ ! -f "$extension" ]; then
	skip "the Python package" "no Python.h of Python 3.11 or newer"
	finish
	exit 0
fi

# The package as it would be installed, also where it is not built beside its sources.
mkdir -p package/lmdbcache
cp -r "$srcdir"/python/lmdbcache/* package/lmdbcache
rm -f package/lmdbcache/_core*.so
cp "$extension" package/lmdbcache
export PYTHONPATH="$scratch/package" PYTHONDONTWRITEBYTECODE=1 TMPDIR="$scratch"
python=${PYTHON:-python3}

# An extension that the address sanitizer watches needs it from the start. Leaks are the
# interpreter's own; t/torture and the tests in C look for the library's.
case $(ldd "$extension") in
*libasan*)
	# And that the library of C++, for what torch throws.
	preload="$(${CC:-gcc} -print-file-name=libasan.so) $(${CC:-gcc} -print-file-name=libstdc++.so.6)"
	export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" ;;
*) preload= ;;
esac
py() { LD_PRELOAD=${LD_PRELOAD:-}${preload:+ $preload} timeout 900 "$python" -W error::ResourceWarning "$@"; }

holds "the extension is found" py -c 'import lmdbcache; print(lmdbcache.__version__)'
if py -c 'import mypy.stubtest' 2>/dev/null; then
	export MYPYPATH="$scratch/package" MYPY_CACHE_DIR=/dev/null
	holds "the stubs are those of the extension" py -m mypy.stubtest --ignore-unused-allowlist \
		--allowlist "$srcdir/python/tests/stubtest.allow" lmdbcache._core
else
	skip "the stubs are those of the extension" "no mypy"
fi
for suite in "$srcdir"/python/tests/test_*.py; do
	name=${suite##*/}
	py "$suite" -v >"$scratch/.suite" 2>&1 </dev/null
	got=$?
	# A line a test, as unittest -v says it: "test_x (...)\nDocstring ... ok".
	if [ $got = 0 ]; then
		ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in.*/\1/p' "$scratch/.suite")
		skipped=$(sed -n 's/^OK (skipped=\([0-9]*\))$/\1/p' "$scratch/.suite")
		case $ran:$skipped in
		:*|0:*) skip "$name" "$(sed -n "s/.*skipped ['\"]\(.*\)['\"]\$/\1/p" "$scratch/.suite" | head -n 1)" ;;
		*) result 0 "$name: $ran tests${skipped:+, $skipped of them skipped}" ;;
		esac
	else
		result 1 "$name"
		echo "#   exit status $got"
		tail -n 100 "$scratch/.suite" | sed 's/^/#   /'
	fi
done
for example in "$srcdir"/python/examples/*.py; do
	[ -f "$example" ] || continue
	holds "${example##*/} runs" py "$example"
	[ -f "${example%.py}.out" ] || continue
	is "${example##*/}: its output" "$(cat "$out")" "$(cat "${example%.py}.out")"
done
finish
