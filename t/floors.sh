#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Who may use whom. The compiler keeps the houses apart (configure.ac, floors/); what it
# does not see are links by symbols, and rooms of one house among each other. Each room
# may use those named before it in the list.
. "${srcdir:-.}/t/support/tap.sh"

rooms="lib/base
lib/s3 lib/objects lib/value lib/codec lib/pages lib/order lib/index lib/env lib/format lib/store lib/life
lib/shard lib/warehouse lib/stream lib/remote
bin/draw bin/image bin/formats bin/labels bin/fill bin/build bin/migrate bin/publish bin/report bin/ui bin/shell bin/cmd"

# No file includes another by a path through its parents: the include paths would not count.
is "no include climbs" "$(cd "$srcdir" && grep -rnE '#include "[^"]*\.\./' lib bin)" ""

if ! command -v nm >/dev/null 2>&1 || [ ! -d "$builddir/lib/base/.libs" ]; then
	skip "links between rooms" "no nm, or no objects"
	finish
	exit 0
fi
# "lib/store U lc__pages_check" and "lib/pages T lc__pages_check", of each object that is not
# left of a source that is gone.
for room in $(cd "$srcdir" && ls -d lib/*/ bin/*/ | sed 's|/$||'); do
	for object in "$builddir/$room"/*.o "$builddir/$room"/.libs/*.o; do
		name=${object##*/}
		name=${name##*-}
		[ -e "$object" ] && [ -e "$srcdir/$room/${name%.o}.c" ] || continue
		nm -g "$object" | awk -v room="$room" 'NF >= 2 { print room, $(NF - 1), $NF }'
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
is "no two rooms define the same name" "$(awk '$2 != "U" && $2 != "w" { print $3, $1 }' symbols |
	sort -u | awk '$1 == last { print $1 ": " room " " $2 } { last = $1; room = $2 }')" ""
also "there are links between rooms" test "$(wc -l <links)" -ge 500
is "every room has its place in the list" "$(cut -d ' ' -f 1 symbols | sort -u |
	while read -r room; do case " $(echo $rooms) " in *" $room "*) ;; *) echo "$room";; esac; done)" ""
is "no room uses one that comes after it" "$(awk -v order="$(echo $rooms)" '
	BEGIN { n = split(order, names); for (i = 1; i <= n; i++) place[names[i]] = i }
	place[$2] > place[$1] { print $1 " uses " $2 ": " $3 }' links)" ""
finish
