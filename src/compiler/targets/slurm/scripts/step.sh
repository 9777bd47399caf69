
# What every rank is first: checks its place, then runs the training.
rank=$(
  cat <<'RANK'
np=$1 tasks=$2 folder=$3 mpi=$4
host=$(</proc/sys/kernel/hostname)
wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$np" && ${SLURM_STEP_TASKS_PER_NODE:-?} == "$tasks" ]] ||
  wrong "wrong world: srun starts ${SLURM_STEP_NUM_TASKS:-?} ranks, ${SLURM_STEP_TASKS_PER_NODE:-?} on each node; the spec has $np and $tasks"
[[ $mpi == none || -n ${PMIX_RANK:-}${PMI_RANK:-}${PMI_FD:-} ]] ||
  wrong "srun gave this rank nobody to ask for the others, so each would train alone: name one of 'srun --mpi=list' in slurm.srun.mpi; none, where they meet without MPI"
[[ $PWD -ef $folder ]] || wrong "$host has no folder $folder: start from one that all nodes share"
shift 4
# srun ends with the highest code of all: what it ends itself, because another failed, must not outdo that.
trap 'wait; exit 1' TERM
"$@" &
wait $!
code=$?
# Slurm tells one process after another to end: the program may know before its shell does.
((code != 143)) || sleep 1
exit "$code"
RANK
)
