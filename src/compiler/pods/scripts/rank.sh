#!/bin/bash
# rank.sh COMMAND...: checks where this rank runs, then executes the training.
#
# If each rank is one of `np`, on a host of the job, among as many ranks as that host has slots, then every host has its ranks.
. /etc/khorovod/scripts/job.sh
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${HOROVOD_SIZE:-}}}
here=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-${HOROVOD_LOCAL_SIZE:-}}}

# Not HOSTNAME: Hydra and horovodrun pass on the launcher's.
self=$(</proc/sys/kernel/hostname)
host=${self%%.*}
# The slots of this host, or of any host if pods have the names of their nodes.
wanted=''
for team in "${!team_names[@]}"; do
  [[ $host != "${team_names[team]}"-* ]] || wanted=${team_slots[team]}
done
if [[ -n $launcher_host && $host == "${launcher_host%%.*}" ]]; then wanted=$launcher_slots; fi
# A launcher that is not a host runs no rank. An mpirun that ignores its hostfile starts all of them there.
[[ $host != "$launcher_pod" || -n $launcher_host ]] || wanted=0
[[ -n $wanted ]] || wanted="${team_slots[*]}"

if [[ $size != "$np" || " $wanted " != *" $here "* ]]; then
  echo "khorovod: wrong world: $host runs ${here:-?} of ${size:-?} ranks; the spec has ${wanted// / or } of $np" \
    "(another mpirun on PATH, hostfile or launcher.args?)" >&2
  exit 197
fi
# With hostNetwork, that name is the node's.
if [[ ${HOROVOD_CONTROLLER:-} == gloo && ${HOROVOD_LOCAL_RANK:-} == 0 ]] && ! getent hosts "$self" >/dev/null 2>&1; then
  echo "khorovod: $self cannot resolve its own name, and released versions of Horovod then crash under Gloo (code 139):" \
    "add the name to the node's /etc/hosts, set launcher.args: [--mpi], or build Horovod with khorovod's image/horovod.sh" >&2
fi
# order.sh sets them for the daemons of MPI.
[[ ! -e /etc/khorovod/scripts/order.sh ]] || unset SLURM_JOBID SLURM_NODEID SLURM_PROCID SLURMD_NODENAME KHOROVOD_ORDER
exec "$@"
