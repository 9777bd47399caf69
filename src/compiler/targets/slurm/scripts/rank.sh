
# Every rank starts as this script, which checks where it runs and then executes the training.
khorovod_rank=$(
  cat <<'RANK'
khorovod_np=$1 khorovod_slots=$2 khorovod_folder=$3
khorovod_host=$(</proc/sys/kernel/hostname)
khorovod_wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
khorovod_size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${HOROVOD_SIZE:-?}}}
khorovod_here=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-${HOROVOD_LOCAL_SIZE:-?}}}
[[ $khorovod_size == "$khorovod_np" && $khorovod_here == "$khorovod_slots" ]] ||
  khorovod_wrong "wrong world: $khorovod_host runs $khorovod_here of $khorovod_size ranks; the spec has $khorovod_slots of $khorovod_np (another mpirun on PATH, or launcher.args?)"
[[ $PWD -ef $khorovod_folder ]] ||
  khorovod_wrong "$khorovod_host has no folder $khorovod_folder: call sbatch in a folder that all nodes share"
shift 3
khorovod_is_rank=1 exec "$@"
RANK
)
