#!/bin/bash
# rank.sh COMMAND...: what every rank is first. Checks its place, then becomes the training.
#
# Where each rank sees a world of `np`, on a host of the job, among as many as that host has slots,
# there all hosts are in the world: nobody needs to count.
. /etc/khorovod/scripts/job.sh
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${HOROVOD_SIZE:-}}}
here=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-${HOROVOD_LOCAL_SIZE:-}}}

# Not HOSTNAME: Hydra and horovodrun bring the launcher's along.
self=$(</proc/sys/kernel/hostname)
host=${self%%.*}
# The slots of this host; of any, where pods have the names of their nodes.
wanted=''
for team in "${!team_names[@]}"; do
  [[ $host != "${team_names[team]}"-* ]] || wanted=${team_slots[team]}
done
if [[ -n $launcher_host && $host == "${launcher_host%%.*}" ]]; then wanted=$launcher_slots; fi
# No rank belongs into a launcher that is no host: an mpirun that overlooks its hostfile starts all of them there.
[[ $host != "$launcher_pod" || -n $launcher_host ]] || wanted=none
[[ -n $wanted ]] || wanted="${team_slots[*]}"

if [[ $size != "$np" || " $wanted " != *" $here "* ]]; then
  echo "khorovod: wrong world: this rank on $host is one of ${here:-?} there and of ${size:-?} in all;" \
    "the spec has ${wanted// / or } and $np (another mpirun on PATH, hostfile or launcher.args?)" >&2
  exit 197
fi
# On a node's own network that name is the node's.
if [[ ${HOROVOD_CONTROLLER:-} == gloo && ${HOROVOD_LOCAL_RANK:-} == 0 ]] && ! getent hosts "$self" >/dev/null 2>&1; then
  echo "khorovod: $self does not find its own name, and Horovod as released crashes there (139) when it goes by Gloo:" \
    "a line in the node's /etc/hosts mends that, or launcher.args: [--mpi], or Horovod built by khorovod's image/horovod.sh" >&2
fi
exec "$@"
