
# Every rank starts as this script, which checks where it runs and then starts the training.
khorovod_rank=$(
  cat <<'RANK'
khorovod_np=$1 khorovod_tasks=$2 khorovod_folder=$3 khorovod_mpi=$4
khorovod_host=$(</proc/sys/kernel/hostname)
khorovod_wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$khorovod_np" && ${SLURM_STEP_TASKS_PER_NODE:-?} == "$khorovod_tasks" ]] ||
  khorovod_wrong "wrong world: srun starts ${SLURM_STEP_NUM_TASKS:-?} ranks, ${SLURM_STEP_TASKS_PER_NODE:-?} per node; the spec has $khorovod_np, $khorovod_tasks per node"
[[ $khorovod_mpi == none || -n ${PMIX_RANK:-}${PMI_RANK:-}${PMI_FD:-} ]] ||
  khorovod_wrong "srun offers no PMI, so each rank would train alone: set slurm.srun.mpi to one of 'srun --mpi=list', or to none if the ranks do not use MPI"
[[ $PWD -ef $khorovod_folder ]] ||
  khorovod_wrong "$khorovod_host has no folder $khorovod_folder: call sbatch in a folder that all nodes share"
shift 4
# srun exits with the highest code of all tasks. A task that srun kills after another has failed must not exit with a higher one.
trap 'wait; exit 1' TERM
khorovod_is_rank=1 "$@" &
wait $!
khorovod_code=$?
# Slurm signals the processes one by one: the program may get SIGTERM before this shell does.
((khorovod_code != 143)) || sleep 1
exit "$khorovod_code"
RANK
)
