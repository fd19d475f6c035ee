#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# FIFOs and devices in the place of files: nothing waits for one or reads without end.
# Modules that this user may not lock.
. "${srcdir:-.}/t/tap.sh"

printf 0123456789abcdef >f1
cachex put m k1 f1 --dtype u8 --shape 16
cachex put other k1 f1 --dtype u8 --shape 16
cachex export m shards >/dev/null
config=$XDG_CONFIG_HOME/cachex/config
mkdir -p "$XDG_CONFIG_HOME/cachex"

# Whatever hangs is stopped, with status 124.
soon() { timeout 20 "$CACHEX" "$@"; }

mkfifo "$config"
wrong "a FIFO as configuration" 2 "cachex: ls: $config: not a regular file" soon ls
rm "$config"; ln -s /dev/zero "$config"
wrong "/dev/zero as configuration" 2 "cachex: ls: $config: not a regular file" soon ls
rm "$config"; head -c 1048577 /dev/zero | tr '\0' '#' >"$config"
wrong "a large configuration" 2 "cachex: ls: $config: larger than 1 MiB" soon ls
head -c 1048576 /dev/zero | tr '\0' '#' >"$config"
check "one of 1 MiB" 0 soon ls
rm "$config"

mkfifo seen.token
wrong "a FIFO as token file" 3 "cachex: read: seen.token: is no token, or is damaged; --restart begins anew" \
	soon read m --token-file seen.token
rm -rf again; cp -r shards again; rm again/manifest.json; mkfifo again/manifest.json
check "a FIFO as manifest" 3 soon shard verify again
mkdir set; mkfifo set/value.json
check "a FIFO as value.json" 3 soon put v k set

# Pipes stay what they were where a command reads as long as there is something.
mkfifo bytes; (cat f1 >bytes) &
check "a tensor from a pipe" 0 soon put m k2 bytes --dtype u8 --shape 16

if [ "$(id -u)" = 0 ] && ! setpriv --reuid 65534 true 2>/dev/null; then
	skip "a module that cannot be locked" "this user may lock all"
	finish
	exit 0
fi
lock=$XDG_CACHE_HOME/cachex/m/lock.mdb
chmod a=r "$lock" "$XDG_CACHE_HOME/cachex/m/data.mdb"
chmod a=rx "$XDG_CACHE_HOME/cachex/m" "$XDG_CACHE_HOME/cachex" "$XDG_CACHE_HOME" "$scratch"
chmod a+rw "$XDG_CACHE_HOME/cachex/other/"*
# Named from here: a build tree may be where another user cannot look.
other() {
	if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --clear-groups "$CACHEX" "$@"; else "$CACHEX" "$@"; fi
}
if ! other --version >/dev/null 2>&1; then
	skip "a module that cannot be locked" "another user cannot run the tool here"
else
	text="$lock: readers write to it as well; let this user do so (chmod), or read a copy of the module: Permission denied"
	refuse "a module that cannot be locked" 4 "cachex: get: $text" other get m k1
	check "ls of the root: status" 4 other ls
	is "ls of the root: its line" "$(cat "$err")" "cachex: ls: $text"
	is "ls of the root: and the others'" "$(sed 's/  .*//' "$out")" other
fi
chmod -R u+rwX "$scratch"
finish
