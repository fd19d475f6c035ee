#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Calls that the library must not make, as its sources say.
. "${srcdir:-.}/t/support/tap.sh"

# calls FUNCTIONS FILE: lines of lib/ that call one of them, but for those of FILE and
# for comments. A name after a dot or an arrow is a member.
calls() {
	grep -rnE --include='*.c' "(^|[^A-Za-z0-9_>.])($1)\(" "$srcdir/lib" |
		sed "s|^$srcdir/||; s|/\*.*||" | grep -v "^$2:" | grep -vE ':[0-9]+: \*' |
		grep -E "[^A-Za-z0-9_>.]($1)\("
}

# Descriptors below 3 are the program's: lib/base/fd.h says how files are opened.
is "lib/base/fd.c alone opens files" "$(calls 'open|open64|openat|creat|opendir|scandir|fopen|freopen|pipe|pipe2|socket|socketpair|memfd_create|tmpfile|popen|mkstemp|dup|eventfd|shm_open' \
	lib/base/fd.c)" ""
# It changes the modes of files that other threads make meanwhile.
is "umask is not called" "$(calls umask none; grep -rnE "[^A-Za-z_]umask\(" "$srcdir/bin" | grep -v base/newfile)" ""
is "what opens files by itself is held off the standard descriptors" \
	"$(calls 'mdb_env_open|mkostemp|nftw|lib.curl_easy_init|lib.curl_easy_perform' lib/base/fd.c | while IFS=: read -r file line rest; do
		sed -n "$((line - 1))p" "$srcdir/$file" | grep -q 'lc__fds_hold();' || echo "$file:$line:$rest"
	done)" ""
is "scripts can be run" "$(find "$srcdir/t" -name '*.sh' ! -path '*/support/*' ! -perm -u+x)" ""
finish
