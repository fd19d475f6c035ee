#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A store in a bucket of OpenStack Swift, whose S3 has no conditional puts: it is refused,
# unless there is a single publisher.
. "${srcdir:-.}/t/support/scale_s3.sh"
needs swift-ring-builder "swift"
needs swift-proxy-server "swift-proxy"
for kind in account container object; do needs "swift-$kind-server" "swift-$kind"; done

port=$(free_port)
mkdir -p swift disk/one
number=$port
ring() { (cd swift && swift-ring-builder "$kind.builder" "$@"); }
for kind in account container object; do
	number=$((number + 1))
	cat >"swift/$kind.conf" <<-END
		[DEFAULT]
		bind_ip = 127.0.0.1
		bind_port = $number
		user = $(id -un)
		swift_dir = $scratch/swift
		devices = $scratch/disk
		mount_check = false
		workers = 0
		[pipeline:main]
		pipeline = $kind-server
		[app:$kind-server]
		use = egg:swift#$kind
	END
	check "the ring of ${kind}s" 0 ring create 4 1 0
	check "has one place" 0 ring add "r1z1-127.0.0.1:$number/one" 1
	check "for all of them" 0 ring rebalance
	daemon "$kind" "swift-$kind-server" "swift/$kind.conf"
done
cat >swift/proxy.conf <<-END
	[DEFAULT]
	bind_ip = 127.0.0.1
	bind_port = $port
	user = $(id -un)
	swift_dir = $scratch/swift
	workers = 0
	[pipeline:main]
	pipeline = catch_errors cache s3api tempauth bulk slo proxy-server
	[app:proxy-server]
	use = egg:swift#proxy
	account_autocreate = true
	allow_account_management = true
	[filter:tempauth]
	use = egg:swift#tempauth
	user_test_tester = secret .admin
	[filter:catch_errors]
	use = egg:swift#catch_errors
	[filter:cache]
	use = egg:swift#memcache
	memcache_servers = 127.0.0.1:$((port + 9))
	[filter:bulk]
	use = egg:swift#bulk
	[filter:slo]
	use = egg:swift#slo
	[filter:s3api]
	use = egg:swift#s3api
END
daemon proxy swift-proxy-server swift/proxy.conf
export AWS_ACCESS_KEY_ID=test:tester AWS_SECRET_ACCESS_KEY=secret
export AWS_ENDPOINT_URL="http://127.0.0.1:$port"
answers "$AWS_ENDPOINT_URL"
new_bucket bucket

url=s3://bucket/feats
check "a machine fills" 0 cachex fill -q --root root --from "@$inputs" \
    --exec "$builddir/examples/producer" feats
check "its push is refused" 3 cachex push --root root feats "$url"
also "with what to do" grep -q -e '--single-publisher' "$err"
check "what is there" 0 cachex ls "$url"
is "is nothing" "$(cat "$out")" ""
check "of a single publisher it is taken" 0 \
    cachex push --single-publisher --root root feats "$url"
check "and published" 0 cachex publish --single-publisher "$url"
check "once more" 0 cachex publish --single-publisher --json "$url"
is "it is there" "$(sed 's/.*"there":\([a-z]*\).*/\1/' "$out")" true
whole "$url"
finish
