#!/bin/bash
# Runs COMMAND in a Slurm cluster with real daemons on this machine, in namespaces that end with their first process: a controller
# and the nodes node1 and node2, each with its own network, host name, processes and /tmp.
#
#   unshare --mount --net --pid --fork --kill-child --mount-proc cluster.sh COMMAND...
#
# The nodes share /home. Each has 4 CPUs, 4 GB, and 2 GPUs that do not exist. Environment: MODULES, a folder of module files;
# SHARED, mounts as lines `SOURCE:TARGET`.
set -uo pipefail
state=/run/slurm
mount -t tmpfs run /run && mount -t tmpfs home /home && mount -t tmpfs srv /srv || exit
mkdir -p /run/netns /run/munge /run/lock $state/ctl /home/alice
while IFS=: read -r what where; do
    [[ -n $what ]] || continue
    mkdir -p "$where" && mount --bind "$what" "$where" || exit
done <<<"${SHARED:-}"

# The submitting user, without root.
cp /etc/passwd $state/passwd && echo 'alice:x:4321:4321::/home/alice:/bin/bash' >>$state/passwd &&
    mount --bind $state/passwd /etc/passwd && chown 4321:4321 /home/alice || exit

# The bridge has a fixed MAC address. By default it has the lowest one of its ports, which changes when nodes start, and hosts
# that cached the old one cannot reach it any more.
ip link set lo up && ip link add br0 address 02:00:00:00:00:01 type bridge && ip addr add 10.77.0.254/24 dev br0 && ip link set br0 up || exit
printf '127.0.0.1 localhost\n10.77.0.254 ctl\n10.77.0.1 node1\n10.77.0.2 node2\n' >$state/hosts &&
    mount --bind $state/hosts /etc/hosts && hostname ctl || exit

mkdir -p $state/etc && mount --bind $state/etc /etc/slurm || exit
cat >/etc/slurm/slurm.conf <<'END'
ClusterName=test
SlurmctldHost=ctl
SlurmUser=root
StateSaveLocation=/run/slurm/ctl
SlurmdSpoolDir=/run/slurm/%n
SlurmctldPidFile=/run/slurm/ctl.pid
SlurmdPidFile=/run/slurm/%n.pid
SlurmctldLogFile=/run/slurm/ctl.log
SlurmdLogFile=/run/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
SlurmdTimeout=10
BatchStartTimeout=10
JobRequeue=0
MinJobAge=3600
GresTypes=gpu
NodeName=node[1-2] CPUs=4 RealMemory=4000 TmpDisk=100 Gres=gpu:2 Features=fast
PartitionName=ml Nodes=node[1-2] Default=YES MaxTime=60 State=UP DefMemPerCPU=100
PartitionName=other Nodes=node[1-2] MaxTime=60 State=UP
END
touch $state/gpu{0,1} && echo 'Name=gpu File=/run/slurm/gpu[0-1]' >/etc/slurm/gres.conf
# Set explicitly, because the default plugin requires cgroups, which are not used here.
echo 'CgroupPlugin=cgroup/v1' >/etc/slurm/cgroup.conf

( umask 077 && head -c 64 /dev/urandom >$state/munge.key ) && chmod 755 /run/munge &&
    munged --force --key-file=$state/munge.key --log-file=$state/munge.log --pid-file=$state/munge.pid \
        --seed-file=$state/munge.seed || exit

cd /; slurmctld -D 2>$state/ctl.err &
for number in 1 2; do
    node=node$number
    mkdir -p $state/$node
    ip netns add $node && ip link add veth$number type veth peer name eth0 netns $node && ip link set veth$number master br0 up &&
        ip -n $node addr add 10.77.0.$number/24 dev eth0 && ip -n $node link set eth0 up && ip -n $node link set lo up || exit
    # shellcheck disable=SC2016 # expanded by the inner shell
    ip netns exec $node unshare --uts --ipc --mount --pid --fork --kill-child --mount-proc bash -c '
        hostname "$1" && mount -t tmpfs tmp /tmp && chmod 1777 /tmp && mount -t tmpfs shm /dev/shm && chmod 1777 /dev/shm &&
            exec slurmd -D -N "$1"' - $node 2>$state/$node.err &
done

for ((tries = 0; tries < 100; tries++)); do
    [[ $(sinfo -h -t idle -o %D 2>/dev/null | head -n 1) == 2 ]] && break
    sleep 0.2
done
if ((tries == 100)); then
    echo "no cluster:" >&2
    tail -n 5 $state/*.log $state/*.err >&2
    exit 1
fi
"$@"
