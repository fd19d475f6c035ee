# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the script tests: TAP output, a scratch directory, the tool's path.
#
#   check NAME EXPECTED_STATUS COMMAND...   runs it; output in $out, messages in $err (files)
#   is NAME ACTUAL EXPECTED                 compares two strings
#   holds NAME COMMAND...                   the command succeeds; output as with check
#   also NAME COMMAND...                    the same, but $out and $err stay as they are
#   refuse NAME STATUS MESSAGE COMMAND...   this status, and this is all that is said
#   wrong NAME STATUS MESSAGE COMMAND...    the same, and nothing is printed
#   skip NAME REASON
#   sign_manifest                           a manifest.json, with the digest of this text
#   finish                                  the plan; last line of every script

set -u
srcdir=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
CACHEX=${CACHEX:-$builddir/cachex}
export LC_ALL=C.UTF-8
# No setting of the user's reaches the tool; CACHEX itself is the tool.
for variable in $(env | sed -n 's/^\(\(CACHEX\|AWS\)_[A-Z0-9_]*\)=.*/\1/p; s/^\([a-z]*_proxy\)=.*/\1/p
		s/^\([A-Z]*_PROXY\)=.*/\1/p'); do
	unset "$variable"
done
# Nor does it take the tests for a scheduler's task.
for variable in $(env | sed -n 's/^\(\(SLURM\|OMPI\|PMI\|JOB\)_[A-Z0-9_]*\)=.*/\1/p'); do unset "$variable"; done
unset NO_COLOR CLICOLOR_FORCE SOURCE_DATE_EPOCH 2>/dev/null
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cachex-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$scratch/xdg-cache" XDG_CONFIG_HOME="$scratch/xdg-config" HOME="$scratch"
cd "$scratch" || exit 99
out=$scratch/.out err=$scratch/.err
count=0

# A shell function, so that commands and pipelines read as a user types them.
cachex() { "$CACHEX" "$@"; }

sign_manifest() {
	sed 2d >"$scratch/.unsigned"
	sed "1a\\  \"manifest_sha256\": \"$(sha256sum <"$scratch/.unsigned" | cut -c -64)\"," \
		"$scratch/.unsigned"
}

result() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

show() { sed 's/^/#   /' "$1" | head -n 20; }

check() {
	name=$1 want=$2; shift 2
	"$@" >"$out" 2>"$err" </dev/null
	got=$?
	if [ "$got" = "$want" ]; then result 0 "$name"; else
		result 1 "$name"
		echo "#   exit status $got, expected $want: $*"; show "$out"; show "$err"
	fi
}

is() {
	if [ "$2" = "$3" ]; then result 0 "$1"; else
		result 1 "$1"
		printf '%s\n' "$2" | sed 's/^/#   got      /'
		printf '%s\n' "$3" | sed 's/^/#   expected /'
	fi
}

holds() {
	name=$1; shift
	if "$@" >"$out" 2>"$err" </dev/null; then result 0 "$name"; else
		result 1 "$name"; echo "#   failed: $*"; show "$out"; show "$err"
	fi
}

also() {
	name=$1; shift
	if "$@" >"$scratch/.also" 2>&1 </dev/null; then result 0 "$name"; else
		result 1 "$name"; echo "#   failed: $*"; show "$scratch/.also"
	fi
}

refuse() {
	what=$1 status=$2 message=$3; shift 3
	check "$what: status" "$status" "$@"
	is "$what: message" "$(cat "$err")" "$message"
}

wrong() {
	refuse "$@"
	is "$1: nothing printed" "$(cat "$out")" ""
}

skip() { count=$((count + 1)); echo "ok $count - $1 # SKIP $2"; }

finish() { echo "1..$count"; }
