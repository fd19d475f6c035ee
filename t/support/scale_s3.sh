# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests of t/scale that run a server of S3 of their own: a cycle of fill, push,
# publish and pull, compared with that of a store in a directory.
#
#   free_port               a port above 20000 that nobody listens on, with 9 free ones after it
#   daemon NAME COMMAND...  start it; its output is in NAME.log, and it ends with the script
#   answers URL             wait until a server answers there; exit 99 if it does not
#   new_bucket NAME         make a bucket at $AWS_ENDPOINT_URL
#   in_tasks N COMMAND...   run it N times at once, with i/N at its end; the tasks that failed
#   whole STORE             check what is in it, and that its newest generation is the one of
#                           one machine in a directory
. "${srcdir:-.}/t/support/scale.sh"
needs curl "curl"
export AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true

daemons=''
stop() {
	for pid in $daemons; do kill "$pid"; done
	for _ in $(seq 50); do
		for pid in $daemons; do kill -0 "$pid" && break; done || break
		sleep 0.1
	done
	for pid in $daemons; do kill -KILL "$pid"; done
	rm -rf "$scratch"
}
trap 'stop 2>/dev/null' EXIT

free_port() {
	python3 -c '
import random, socket
while True:
	first, ends = random.randrange(20000, 32000), []
	try:
		for i in range(10):
			ends.append(socket.create_server(("127.0.0.1", first + i)))
		print(first)
		break
	except OSError:
		for end in ends:
			end.close()'
}

daemon() {
	name=$1; shift
	"$@" >"$name.log" 2>&1 </dev/null &
	daemons="$daemons $!"
}

answers() {
	for _ in $(seq 600); do
		curl -s -o "$out" "$1" && return
		sleep 0.1
	done
	for log in "$scratch"/*.log; do show "$log"; done
	exit 99
}

# curl cuts the key's id at a colon, unless it is in the URL.
new_bucket() {
	id=$(printf %s "$AWS_ACCESS_KEY_ID" | sed 's/:/%3A/')
	check "a bucket is made" 0 curl -sSf -X PUT --aws-sigv4 "aws:amz:$AWS_REGION:s3" \
		-H "x-amz-content-sha256: UNSIGNED-PAYLOAD" \
		"http://$id:$AWS_SECRET_ACCESS_KEY@${AWS_ENDPOINT_URL#http://}/$1"
}

in_tasks() {
	n=$1 tasks='' ended=0; shift
	for i in $(seq 0 $((n - 1))); do
		"$@" "$i/$n" >"task$i.out" 2>&1 </dev/null &
		tasks="$tasks $!"
	done
	for task in $tasks; do wait "$task" || ended=$((ended + 1)); done
	echo "$ended"
}

whole() {
	check "one machine fills the same" 0 cachex fill -q --root one_root --push "$one" \
	    --from "@$inputs" --exec "$builddir/examples/producer" feats
	check "and publishes" 0 cachex publish -q "$one"
	check "and pulls" 0 cachex pull -q "$one" one_pulled
	check "and reads" 0 cachex read --sum ./one_pulled
	cp "$out" one.sum
	check "the store is listed" 0 cachex ls "$1"
	is "with one generation, of all parts" \
	    "$(sed -n 's/^generation \([0-9]*\) .*  \([0-9]* parts\) .*/\1: \2/p' "$out")" "1: 16 parts"
	check "it is verified" 0 cachex verify --deep "$1"
	check "it is pulled" 0 cachex pull -q "$1" pulled
	also "the same manifest, byte for byte" cmp pulled/manifest.json one_pulled/manifest.json
	check "it is read" 0 cachex read --sum ./pulled
	also "with the same sum" cmp "$out" one.sum
	check "it is pulled again" 0 cachex pull --json "$1" pulled
	is "nothing is fetched" "$(sed 's/.*"fetched":\([0-9]*\).*/\1/' "$out")" 0
	check "gc finds nothing" 0 cachex gc --older 0s -n "$1"
	is "that it could remove" "$(cat "$out")" \
	    "would remove 0 generations, 0 runs, 0 manifests of parts, 0 shards, 0 unfinished files; 0 B"
	check "the store is whole" 0 cachex verify --deep "$1"
}
