#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# examples/slurm.sh as a job array on a Slurm of this machine alone, with a task requeued in
# the middle, and again with another array.
. "${srcdir:-.}/t/support/scale.sh"
PATH=$PATH:/usr/sbin:/sbin
needs sbatch "Slurm"
needs slurmctld "Slurm's controller"
needs slurmd "Slurm's node daemon"
needs munged "MUNGE"
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP Slurm's daemons want root"; exit 0; }

host=$(hostname)
mkdir state spool
cat >slurm.conf <<-END
	ClusterName=check
	SlurmctldHost=$host(127.0.0.1)
	SlurmUser=root
	SlurmdUser=root
	AuthType=auth/munge
	AuthInfo=socket=$scratch/munge.socket,cred_expire=5
	StateSaveLocation=$scratch/state
	SlurmdSpoolDir=$scratch/spool
	SlurmctldPidFile=$scratch/slurmctld.pid
	SlurmdPidFile=$scratch/slurmd.pid
	SlurmctldLogFile=$scratch/slurmctld.log
	SlurmdLogFile=$scratch/slurmd.log
	SlurmctldPort=$((20000 + $$ % 20000))
	SlurmdPort=$((20001 + $$ % 20000))
	ProctrackType=proctrack/pgid
	TaskPlugin=task/none
	SwitchType=switch/none
	MpiDefault=none
	ReturnToService=2
	NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
	PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$scratch/slurm.conf"
stop() {
	for daemon in slurmd slurmctld munged; do
		pid=$(cat "$scratch/$daemon.pid") || continue
		kill "$pid" || continue
		# A process that nobody reaps stays for ever.
		for _ in $(seq 100); do
			kill -0 "$pid" || break
			sleep 0.1
		done
	done 2>/dev/null
	rm -rf "$scratch"
}
trap stop EXIT
head -c 1024 /dev/urandom >munge.key
chmod 400 munge.key
check "MUNGE starts" 0 munged --force --socket="$scratch/munge.socket" \
    --key-file="$scratch/munge.key" --pid-file="$scratch/munged.pid" \
    --log-file="$scratch/munged.log" --seed-file="$scratch/munged.seed"
check "the controller starts" 0 slurmctld -f "$SLURM_CONF"
check "the node starts" 0 slurmd -f "$SLURM_CONF"

dies later requeue
export STORE="$store" INPUTS="$inputs" PRODUCER="$producer"
on_engine "a job array fills" sbatch --wait --array=10-25:5 "$examples/slurm.sh"
on_engine "a job publishes" sbatch --wait --wrap "cachex publish $store"
same_as_one_machine
before=$(starts)
on_engine "another array" sbatch --wait --array=0-2 "$examples/slurm.sh"
is "makes nothing" "$(starts)" "$before"
finish
