#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# After `make install` by root, without DESTDIR, the README's C program compiles, links and
# runs as it is printed there, and man finds the page of every function. It happens in a
# mount namespace of its own, where overlays keep what is written from this system.

# So that the mounts are seen by this script alone.
if [ "$(id -u)" = 0 ] && [ -z "${CACHEX_TEST_UNSHARED:-}" ] && unshare -m true 2>/dev/null; then
	CACHEX_TEST_UNSHARED=yes exec unshare -m "$0" "$@"
fi
unshared=${CACHEX_TEST_UNSHARED:-}
. "${srcdir:-.}/t/support/tap.sh"

# What must be the user's default, since a reader of the README sets none of it.
unset PKG_CONFIG_PATH LD_LIBRARY_PATH MANPATH

give_up() {
	skip "make install by root" "$1"
	finish
	exit
}

# variable NAME: as the Makefile has it.
variable() {
	(cd "$builddir" && printf 'show: ; @echo "$(%s)"\n' "$1" |
	    "${MAKE:-make}" -s --no-print-directory -f Makefile -f - show)
}

# overlay DIR: what is written under it goes to memory from now on.
overlay() {
	layer=$layers/$(echo "$1" | tr / _)
	mkdir "$layer" "$layer/upper" "$layer/work" &&
	    mount -t overlay overlay \
	    -o "lowerdir=$1,upperdir=$layer/upper,workdir=$layer/work" "$1"
}

[ -n "$unshared" ] || give_up "not root, or no mount namespaces here"
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
for program in cc pkg-config ldconfig; do
	command -v $program >/dev/null || give_up "no $program"
done
case $(variable CFLAGS) in
*-fsanitize*) give_up "a sanitized library wants a sanitized program" ;;
esac
prefix=$(variable prefix) libdir=$(variable libdir) bindir=$(variable bindir)
ldconfig -v -N -X 2>/dev/null | grep -q "^$libdir:" ||
    give_up "programs are not meant to find what is in $libdir"
case :$PATH: in
*:"$bindir":*) ;;
*) give_up "$bindir is not in the PATH" ;;
esac
layers=$scratch/layers
mkdir layers
mount -t tmpfs tmpfs "$layers" || give_up "no tmpfs can be mounted"
trap 'umount -l "$layers"; rm -rf "$scratch"' EXIT
for dir in "$prefix" /etc /var/cache; do
	overlay "$dir" 2>/dev/null || give_up "no overlay can be mounted on $dir"
done

holds "make install" sh -c 'cd "$1" && "${MAKE:-make}" install' - "$builddir"
mkdir -p steps/files work
awk -v dir=steps -v kind=text -f "$srcdir/t/support/man_examples.awk" "$srcdir/README"
cp steps/files/first.c work
ran=''
for step in steps/*.cmd; do
	read -r command <"$step"
	case $command in
	*first*|*faces*) ;;
	*) continue ;;
	esac
	ran="$ran ${command%% *}"
	holds "$command" sh -c 'cd work && . "$1"' - "$scratch/$step"
	is "$command: what it prints" "$(cat "$out")" "$(cat "${step%.cmd}.want")"
done
is "the README compiles it, runs it and lists what it stored" "$ran" " cc ./first cachex"

if command -v man >/dev/null; then
	sed -n 's/^LC_API.*[ *]\(lc_[a-z0-9_]*\)(.*/\1/p' "$srcdir/include/lmdbcache.h" >declared
	is "man finds a page for every function" "$(while read -r name; do
		man -w 3 "$name" >/dev/null 2>&1 </dev/null || echo "$name"; done <declared)" ""
	is "and shows it" \
	    "$(man 3 lc_put 2>/dev/null </dev/null | grep -c '^LMDBCACHE(3)')" 1
else
	skip "man" "no man"
fi
finish
