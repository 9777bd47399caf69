
# Every rank starts as this script, which checks where it runs and then starts the training.
rank=$(
  cat <<'RANK'
np=$1 tasks=$2 folder=$3 mpi=$4
host=$(</proc/sys/kernel/hostname)
wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$np" && ${SLURM_STEP_TASKS_PER_NODE:-?} == "$tasks" ]] ||
  wrong "wrong world: srun starts ${SLURM_STEP_NUM_TASKS:-?} ranks, ${SLURM_STEP_TASKS_PER_NODE:-?} per node; the spec has $np, $tasks per node"
[[ $mpi == none || -n ${PMIX_RANK:-}${PMI_RANK:-}${PMI_FD:-} ]] ||
  wrong "srun offers no PMI, so each rank would train alone: set slurm.srun.mpi to one of 'srun --mpi=list', or to none if the ranks do not use MPI"
[[ $PWD -ef $folder ]] || wrong "$host has no folder $folder: call sbatch in a folder that all nodes share"
shift 4
# srun exits with the highest code of all tasks. A task that srun kills after another has failed must not exit with a higher one.
trap 'wait; exit 1' TERM
"$@" &
wait $!
code=$?
# Slurm signals the processes one by one: the program may get SIGTERM before this shell does.
((code != 143)) || sleep 1
exit "$code"
RANK
)
