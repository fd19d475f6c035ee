#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A store in a bucket of a Ceph RGW of this machine alone: a monitor, a daemon that keeps
# objects in memory, and the gateway.
. "${srcdir:-.}/t/support/scale_s3.sh"
needs ceph "ceph-common"
needs ceph-mon "ceph-mon"
needs ceph-osd "ceph-osd"
needs radosgw "radosgw"

port=$(free_port)
cluster=$(cat /proc/sys/kernel/random/uuid) disk=$(cat /proc/sys/kernel/random/uuid)
mkdir mon osd rgw
cat >ceph.conf <<-END
	[global]
	fsid = $cluster
	mon_initial_members = a
	mon_host = [v2:127.0.0.1:$port]
	public_addr = 127.0.0.1
	cluster_addr = 127.0.0.1
	ms_bind_port_min = $((port + 2))
	ms_bind_port_max = $((port + 9))
	auth_cluster_required = none
	auth_service_required = none
	auth_client_required = none
	# Without a key nothing can be encrypted, which is the default.
	ms_mon_client_mode = crc
	ms_mon_cluster_mode = crc
	ms_mon_service_mode = crc
	ms_client_mode = crc
	ms_cluster_mode = crc
	ms_service_mode = crc
	setuser = $(id -un)
	setgroup = $(id -gn)
	run_dir = $scratch
	admin_socket = $scratch/\$type.\$id.asok
	pid_file =
	log_file = $scratch/ceph.\$type.log
	mon_data = $scratch/mon
	osd_data = $scratch/osd
	rgw_data = $scratch/rgw
	osd_objectstore = memstore
	memstore_device_bytes = 4294967296
	osd_pool_default_size = 1
	osd_pool_default_min_size = 1
	osd_pool_default_pg_num = 4
	osd_pool_default_pg_autoscale_mode = off
	osd_crush_chooseleaf_type = 0
	mon_allow_pool_size_one = true
	mon_max_pg_per_osd = 1000
	mon_data_avail_crit = 0
	paxos_propose_interval = 0.05
	paxos_min_wait = 0.01
END
export CEPH_CONF="$scratch/ceph.conf"
check "a map of monitors is made" 0 monmaptool --create --fsid "$cluster" \
    --addv a "[v2:127.0.0.1:$port]" monmap
check "and a monitor" 0 ceph-mon --mkfs -i a --monmap monmap
daemon mon ceph-mon -f -i a
check "it answers" 0 timeout 60 ceph osd new "$disk"
check "a place for objects is made" 0 ceph-osd -i 0 --mkfs --osd-uuid "$disk"
daemon osd ceph-osd -f -i 0
up() { timeout 60 ceph osd stat | grep -q ' 1 up'; }
for _ in $(seq 300); do up 2>/dev/null && break; sleep 0.1; done
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=secret
check "a user is made" 0 timeout 120 radosgw-admin user create --uid=test --display-name=test \
    --access-key="$AWS_ACCESS_KEY_ID" --secret-key="$AWS_SECRET_ACCESS_KEY"
daemon rgw radosgw -f -n client.rgw --rgw_frontends="beast endpoint=127.0.0.1:$((port + 1))"
export AWS_ENDPOINT_URL="http://127.0.0.1:$((port + 1))"
answers "$AWS_ENDPOINT_URL"
new_bucket bucket

url=s3://bucket/feats
fill() { # I/N: as a task on a machine of its own
	"$CACHEX" fill -q --root "root${1%/*}of${1#*/}" --shard "$1" --push "$url" \
	    --from "@$inputs" --exec "$producer" feats
}
publish() { "$CACHEX" publish --json "$url"; }
dies first 0
is "of three tasks that fill and push one is killed" "$(in_tasks 3 fill)" 1
check "it is too early to publish" 1 cachex publish "$url"
also "and the message counts" grep -q 'receipts are missing' "$err"
is "five tasks do the rest" "$(in_tasks 5 fill)" 0
before=$(starts)
is "three more" "$(in_tasks 3 fill)" 0
is "have nothing to do" "$(starts)" "$before"
is "four publish at once" "$(in_tasks 4 publish)" 0
is "one generation" "$(sed 's/.*"generation":\([0-9]*\).*/\1/' task?.out | sort -u)" 1
is "that one of them made" "$(cat task?.out | grep -c '"there":false')" 1
whole "$url"
finish
