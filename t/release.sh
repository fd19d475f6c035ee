#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every file has a licence, and a release has the same bytes wherever and whenever it is
# made.
. "${srcdir:-.}/t/support/tap.sh"

spdx=$srcdir/packaging/spdx
mkdir -p tree/debian
cat >tree/debian/copyright <<'E2'
Files: *
License: BSD-2-Clause

Files: data.?
 notes/*
Copyright: 2001 A
 2002 B
License: GPL-2.0-or-later with Some-exception exception

License: BSD-2-Clause
 Files: none
E2
mkdir tree/notes
echo '/* SPDX-License-Identifier: BSD-2-Clause */' >tree/a.c
printf 'one\ntwo\nthree\n# SPDX-License-Identifier: BSD-2-Clause\n' >tree/late
: >tree/data.x >tree/dataxx >tree/notes/n
(cd tree && find . -type f | sed 's,^\./,,' | sort) >list
check "files without a licence" 1 sh -c '"$1" tree <list' - "$spdx"
is "are named" "$(cut -d : -f 1 "$err" | tr '\n' ' ')" "dataxx debian/copyright late "
echo '# SPDX-License-Identifier: MIT' >tree/notes/mit
check "an identifier that is not that of the paragraph" 1 \
	sh -c 'echo notes/mit | "$1" tree' - "$spdx"
is "is reported" "$(cat "$err")" \
	"notes/mit: its identifier is MIT, in debian/copyright it is GPL-2.0-or-later WITH Some-exception"
printf 'notes/n\na.c\n' >list
holds "a list of licences" sh -c '"$1" tree t-1.2 86400 <list' - "$spdx"
is "has the files in order, their sums and licences" \
	"$(sed -n '/^FileName/,$p' "$out" | grep -E '^(FileName|FileCh|License)')" \
	"FileName: ./a.c
FileChecksum: SHA1: $(sha1sum <tree/a.c | cut -c -40)
LicenseConcluded: BSD-2-Clause
LicenseInfoInFile: BSD-2-Clause
FileName: ./notes/n
FileChecksum: SHA1: da39a3ee5e6b4b0d3255bfef95601890afd80709
LicenseConcluded: GPL-2.0-or-later WITH Some-exception
LicenseInfoInFile: NOASSERTION"
is "its time, and who has rights" \
	"$(grep -E '^Created:|2002 B' "$out")" "Created: 1970-01-02T00:00:00Z
2002 B</text>"

give_up() {
	skip "licences and tarballs of this checkout" "$1"
	finish
	exit
}
for program in git autoreconf xz; do
	command -v $program >/dev/null || give_up "no $program"
done
files=$(git -C "$srcdir" ls-files -co --exclude-standard 2>/dev/null) && [ -n "$files" ] &&
	[ -f "$srcdir/.git" -o -d "$srcdir/.git" ] || give_up "not a git checkout"
echo "$files" | while read -r file; do
	[ ! -f "$srcdir/$file" ] || echo "$file"
done >files
holds "every file has a licence" sh -c '"$1" "$2" <files' - "$spdx" "$srcdir"

# What is in this checkout as a commit; then two checkouts of it, with other times, modes,
# time zones and locales.
unset MAKEFLAGS MFLAGS MAKELEVEL
mkdir one
tar -c -C "$srcdir" -T files | tar -x -C one
commit() {
	(cd "$1" && git init -q && git add -A && git -c user.name=t -c user.email=t@t \
	    -c commit.gpgsign=false commit -qm t --date '@1700000000 +0000')
}
GIT_COMMITTER_DATE='@1700000000 +0000' holds "a commit" commit one
(umask 077 && git clone -q one two)
find two -type f -exec touch -d '2001-02-03' {} +
echo change >>one/NEWS
check "a release of what is not committed is refused" 1 one/packaging/release out
is "with the reason" "$(cat "$err")" "release: there are changes that are not committed"
git -C one checkout -q NEWS
if grep -q '(unreleased)' one/NEWS; then
	check "a release without its date is refused" 1 one/packaging/release out
	is "with this reason" "$(cat "$err" | cut -c -30)" "release: NEWS has no line 'cac"
fi
holds "a release" one/packaging/release --snapshot out
made=$(cd out && echo *.tar.xz)
is "has a tarball, a list of licences and their sums" "$(cd out && ls | tr '\n' ' ')" \
	"${made%.tar.xz}.sha256 ${made%.tar.xz}.spdx $made "
holds "the sums are right" sh -c 'cd out && sha256sum -c *.sha256'
is "the list has each file of the tarball" "$(sed -n 's,^FileName: \./,,p' out/*.spdx)" \
	"$(tar -tf out/*.tar.xz | grep -v '/$' | sed 's,^[^/]*/,,' | LC_ALL=C sort)"
holds "make dist elsewhere" sh -c 'cd two && export TZ=Asia/Tokyo LC_ALL=C.UTF-8 &&
	umask 077 && autoreconf -fi && ./configure -q && make -s dist'
holds "gives the same bytes" cmp out/*.tar.xz two/*.tar.xz
is "files are of root and of the time of the commit" \
	"$(TZ=UTC tar --numeric-owner -tvf out/*.tar.xz | awk '{ print $2, $4, $5 }' | sort -u)" \
	"0/0 2023-11-14 22:13"
finish
