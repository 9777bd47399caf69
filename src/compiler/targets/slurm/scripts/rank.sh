
# Every rank starts as this script, which checks where it runs and then executes the training.
rank=$(
  cat <<'RANK'
np=$1 slots=$2 folder=$3
host=$(</proc/sys/kernel/hostname)
wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${HOROVOD_SIZE:-?}}}
here=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-${HOROVOD_LOCAL_SIZE:-?}}}
[[ $size == "$np" && $here == "$slots" ]] ||
  wrong "wrong world: $host runs $here of $size ranks; the spec has $slots of $np (another mpirun on PATH, or launcher.args?)"
[[ $PWD -ef $folder ]] || wrong "$host has no folder $folder: call sbatch in a folder that all nodes share"
shift 3
exec "$@"
RANK
)
