#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Which directory may use which. The compiler keeps the layers apart (configure.ac, floors/); it
# does not see links by symbols, nor the directories within a layer. Each directory may use
# those before it in the list.
. "${srcdir:-.}/t/support/tap.sh"

directories="lib/base
lib/s3 lib/objects lib/value lib/codec lib/pages lib/order lib/index lib/env lib/format lib/store lib/life
lib/shard lib/warehouse lib/stream lib/remote
bin/draw bin/image bin/formats bin/labels bin/fill bin/build bin/migrate bin/publish bin/report bin/ui bin/shell bin/cmd"

# No file includes another by a path through its parents: the include paths would not count.
is "no include climbs" "$(cd "$srcdir" && grep -rnE '#include "[^"]*\.\./' lib bin)" ""

if ! command -v nm >/dev/null 2>&1 || [ ! -d "$builddir/lib/base/.libs" ]; then
	skip "links between directories" "no nm, or no objects"
	finish
	exit 0
fi
# "lib/store U lc__pages_check" and "lib/pages T lc__pages_check", for each object that still
# has a source.
for dir in $(cd "$srcdir" && ls -d lib/*/ bin/*/ | sed 's|/$||'); do
	for object in "$builddir/$dir"/*.o "$builddir/$dir"/.libs/*.o; do
		name=${object##*/}
		name=${name##*-}
		[ -e "$object" ] && [ -e "$srcdir/$dir/${name%.o}.c" ] || continue
		nm -g "$object" | awk -v dir="$dir" 'NF >= 2 { print dir, $(NF - 1), $NF }'
	done
done >symbols
awk '$2 != "U" && $2 != "w" { home[$3] = $1 }
	$2 == "U" { wants[$1 " " $3] }
	END {
		for (want in wants) {
			split(want, of)
			if (of[2] in home && home[of[2]] != of[1])
				print of[1], home[of[2]], of[2]
		}
	}' symbols | sort >links
is "no two directories define the same name" "$(awk '$2 != "U" && $2 != "w" { print $3, $1 }' symbols |
	sort -u | awk '$1 == last { print $1 ": " dir " " $2 } { last = $1; dir = $2 }')" ""
also "there are links between directories" test "$(wc -l <links)" -ge 500
is "every directory is in the list" "$(cut -d ' ' -f 1 symbols | sort -u |
	while read -r dir; do case " $(echo $directories) " in *" $dir "*) ;; *) echo "$dir";; esac; done)" ""
is "no directory uses one that comes after it" "$(awk -v order="$(echo $directories)" '
	BEGIN { n = split(order, names); for (i = 1; i <= n; i++) place[names[i]] = i }
	place[$2] > place[$1] { print $1 " uses " $2 ": " $3 }' links)" ""
finish
