#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The hardening options that configure chose have left their traces in what was built.
. "${srcdir:-.}/t/support/tap.sh"

library=$builddir/.libs/liblmdbcache.so
tool=$builddir/.libs/cachex
[ -e "$tool" ] || tool=$builddir/cachex
if ! command -v readelf >/dev/null 2>&1 || ! readelf -h "$library" >/dev/null 2>&1; then
	skip "hardening" "no readelf, or no shared library"
	finish
	exit 0
fi

if [ -z "${HARDENING+set}" ]; then
	skip "hardening" "HARDENING is not set: make check sets it to configure's choice"
	finish
	exit 0
fi

chosen() { case " $HARDENING " in *" $1 "*) ;; *) return 1 ;; esac; }

# traces WHAT OPTION COMMAND...: both files have them, as COMMAND FILE tells.
traces() {
	mitigation=$1 option=$2; shift 2
	for file in "$library" "$tool"; do
		if chosen "$option"; then
			also "$mitigation: ${file##*/}" "$@" "$file"
		else
			skip "$mitigation: ${file##*/}" "$option was not chosen"
		fi
	done
}

relocations_are_read_only() { readelf -lW "$1" | grep -q GNU_RELRO; }
symbols_are_bound_at_start() { readelf -dW "$1" | grep -q 'FLAGS_1.*NOW'; }
stack_is_not_executable() { readelf -lW "$1" | grep -q 'GNU_STACK.* RW '; }
imports() { readelf -W --dyn-syms "$2" | grep -q "UND.* $1"; }
# The linker drops the property where the C library's own objects lack it: look at ours.
objects_have_targets() {
	for object in "$builddir"/lib/base/.libs/*buf.o; do
		readelf -nW "$object" | grep -q 'IBT, SHSTK\|BTI' || return 1
	done
}

traces "relocations are read-only" -Wl,-z,relro relocations_are_read_only
traces "symbols are bound at the start" -Wl,-z,now symbols_are_bound_at_start
traces "the stack is not executable" -Wl,-z,noexecstack stack_is_not_executable
traces "stacks are protected" -fstack-protector-strong imports __stack_chk_fail
fortified=-D_FORTIFY_SOURCE=3
chosen $fortified || fortified=-D_FORTIFY_SOURCE=2
traces "functions of libc are checked" $fortified imports '__[a-z]*_chk@'
control=-fcf-protection
chosen $control || control=-mbranch-protection=standard
traces "jumps have targets" $control objects_have_targets
finish
