# SPDX-License-Identifier: BSD-2-Clause
# Sourced after tap.sh by the tests of stores on S3: t/support/s3_server.py on loopback and
# t/support/fault_proxy.py before it. The script's plan is a skip where there is no Python, and
# in a build without S3.
#
#   serve [OPTION...]        start the server: its objects are files in ./s3/bucket
#   server_does [OPTION...]  what it does from now on; none: what it should
#   proxy                    start a proxy, through which all requests go from then on
#   proxy_does [OPTION...]   the same for the proxy
#   requests REGEX           count the requests since the last `: >"$requests"` whose lines
#                            "METHOD TARGET RANGE STATUS" match
#   faults REGEX             the same for the proxy's "NAME METHOD TARGET RANGE" in $faults
#
# An option whose value has blanks is in quotes inside of its own: "--fault 'flip times=2'".
command -v python3 >/dev/null 2>&1 || { echo "1..0 # SKIP python3 is not installed"; exit 0; }
if cachex ls s3:/// 2>&1 | grep -q "built without S3"; then
	echo "1..0 # SKIP cachex was built without S3"
	exit 0
fi
requests=$scratch/.requests faults=$scratch/.faults
servers=''
trap 'for server in $servers; do kill "$server"; done 2>/dev/null; rm -rf "$scratch"' EXIT

export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=secret AWS_REGION=us-east-1
export AWS_EC2_METADATA_DISABLED=true

# launch NAME PROGRAM OPTION...: $port, when it answers.
launch() {
	name=$1; shift
	: >"$scratch/.$name.options"
	rm -f "$scratch/.$name.port"
	python3 "$srcdir/t/support/$@" --ready "$scratch/.$name.port" \
		--control "$scratch/.$name.options" >/dev/null 2>"$scratch/.$name.err" &
	servers="$servers $!"
	for _ in $(seq 300); do
		[ ! -s "$scratch/.$name.port" ] || break
		sleep 0.1
	done
	port=$(cat "$scratch/.$name.port") || { show "$scratch/.$name.err"; exit 99; }
	export AWS_ENDPOINT_URL="http://127.0.0.1:$port"
}

# instruct NAME OPTION...
instruct() {
	name=$1; shift
	echo "$*" >"$scratch/.$name.options.new"
	mv "$scratch/.$name.options.new" "$scratch/.$name.options"
}

serve() {
	: >"$requests"
	launch server s3_server.py --data "$scratch/s3" --log "$requests" "$@"
	server=$! server_port=$port
}
server_does() { instruct server "$@"; }
proxy() { : >"$faults"; launch proxy fault_proxy.py --to "$server_port" --log "$faults"; }
proxy_does() { instruct proxy "$@"; }
requests() { grep -cE "$1" "$requests"; }
faults() { grep -cE "$1" "$faults"; }
