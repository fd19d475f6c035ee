#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fill, build and export with --push to a store on S3: a command that is killed in the middle of
# its push goes on, and then the store has the bytes that an undisturbed run puts. A store that
# takes no puts is an error before any work.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/s3.sh"

export SOURCE_DATE_EPOCH=1700000000
producer="exec '$builddir/t/support/bad_producer' good"
for i in 0 1 2 3 4 5; do
	awk -v i=$i 'BEGIN { for (k = 0; k < 4 + i % 3; k++)
		print substr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", i * 6 + k + 1, 1) }' >in$i
done
"$builddir/t/support/mkdataset" make set 12
i=0
while [ $i -lt 64 ]; do
	i=$((i + 1))
	printf '{"id":"%02d","dtype":"u8","shape":[192],"data":"%0256d"}\n' $i $i
done >records.jsonl
check "records to export" 0 cachex load --root records rows records.jsonl

# go COMMAND DIRECTORY URL: the shell becomes the command, which makes its files in DIRECTORY.
go() {
	mkdir -p "$2"
	case $1 in
	fill) exec "$CACHEX" fill feats -q --root "$2" -b 1 --chunk 2 --exec "$producer" \
		--push "$3" --from in0 in1 in2 in3 in4 in5 ;;
	build) exec "$CACHEX" build -q set "$2/wh" --size 32 --shard-size 16K --push "$3" ;;
	export) exec "$CACHEX" export -q --root records rows "$2/shards" \
		--shard-size 4K --push "$3" ;;
	esac
}
run() (go "$@")
sums() { (cd "$1" && find obj part run manifest -type f -exec sha256sum {} + | LC_ALL=C sort -k 2); }
receipts() { find "$1/run" -name '0*.json' | wc -l; }
torn() { # STORE: its shards whose bytes are not those of their name
	find "$1/obj" -type f | while read -r f; do
		sha256sum <"$f" | grep -q "^$(basename "$f" .twh1) " || echo "$f"
	done
}
seen() { # REGEX: wait until the proxy has made such a fault
	for _ in $(seq 600); do
		[ "$(faults "$1")" = 0 ] || return 0
		sleep 0.1
	done
	return 1
}

serve
proxy
for command in fill build export; do
	good=s3://bucket/$command-good url=s3://bucket/$command-killed at=s3/bucket/$command-killed
	check "$command: undisturbed" 0 run "$command" "$command.good" "$good"
	check "published" 0 cachex publish -q "$good"
	proxy_does "--fault 'stall-request method=PUT key=$command-killed/obj/ skip=2'"
	go "$command" "$command.killed" "$url" >.job.out 2>.job.err </dev/null &
	job=$!
	also "$command: a put is under way" seen "^stall-request PUT [^ ]*$command-killed/"
	kill -KILL $job; wait $job 2>/dev/null
	is "and killed: receipts" "$(receipts "$at")" "$([ $command = fill ] && echo 2 || echo 0)"
	is "what is there is whole" "$(torn "$at")" ""
	proxy_does
	check "it goes on" 0 run "$command" "$command.killed" "$url"
	check "published" 0 cachex publish -q "$url"
	sums "s3/bucket/$command-good" >.good; sums "$at" >.killed
	also "the same bytes as undisturbed" cmp .good .killed
	check "verify" 0 cachex verify --deep "$url"
	check "pull" 0 cachex pull -q "$url" "$command.pulled"
	: >"$requests"
	check "again" 0 run "$command" "$command.killed" "$url"
	is "no shard is put" "$(requests "^PUT bucket/$command-killed/obj/")" 0

	# Before any work
	for url in s3://none-such/x s3://bucket/$command-refused; do
		server_does --refuse-conditions
		check "$url is refused" "$([ $url = s3://none-such/x ] && echo 4 || echo 3)" \
			run "$command" "$command.early" "$url"
		is "in one line" "$(grep -c "^cachex: $command: $url[/:]" "$err") $(wc -l <"$err")" "1 1"
		is "before any work" "$(ls -A "$command.early")" ""
		server_does
	done
done
finish
