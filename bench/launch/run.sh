#!/usr/bin/env bash
# Measures how jobs of many workers start: bench/launch/run.sh WORKERS [REPETITIONS [VARIANT...]] prints one JSON line per launch.
# Without arguments it runs all sizes of bench/launch.md, and writes that file and bench/launch.svg.
# Requires root, because it makes namespaces and cgroups. Set KHOROVOD to measure another binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
# shellcheck source=tests/launchers/images.sh
. tests/launchers/images.sh
KHOROVOD=${KHOROVOD:-$(shipped)}
if [[ -n ${MPI:-} ]]; then
    make_images "$MPI" >&2
    MPI_FOLDER=$(part_folder "$MPI")
    export MPI MPI_FOLDER
fi
export KHOROVOD PYTHONDONTWRITEBYTECODE=1
made=()
# The folders of a pod are mount points, which must exist.
for folder in /horovod /etc/khorovod; do
    [[ -d $folder ]] || { mkdir "$folder" && made+=("$folder"); }
done
trap '((!${#made[@]})) || rmdir "${made[@]}"' EXIT
measure() { unshare --mount --net --pid --fork --kill-child --mount-proc /usr/bin/python3 -P bench/launch/measure.py "$@"; }
if (($#)); then
    measure "$@"
    exit
fi
slurm() { unshare --mount --uts --ipc --net --pid --fork --kill-child --mount-proc /usr/bin/python3 -P bench/launch/slurm.py "$@"; }
# With 768 workers the daemons of Open MPI fill eleven gigabytes, and two cores are busy for minutes.
for run in "16 3" "32 3" "64 3" "128 3" "256 3" "512 1" "768 1 khorovod khorovod-flat mpirun-flat mpirun-tree" "1024 1 srun floor flat" \
    "512 1 init" "256 1 retry-mpirun" "1024 1 retry"; do
    # shellcheck disable=SC2086 # a size, its repetitions and variants
    measure $run
done >bench/launch.jsonl
for variants in "check check-flat" "stall stall-flat"; do
    # shellcheck disable=SC2086 # two variants
    RADIX=4 bench/launch/run.sh 16 3 $variants
done >>bench/launch.jsonl
for mpi in openmpi5 mpich intelmpi; do MPI=$mpi bench/launch/run.sh 64 3 khorovod khorovod-flat; done >>bench/launch.jsonl
need slurmctld slurmctld -V && need slurmd slurmd -V && need test slurm-client -x /usr/bin/srun && need munged munge -V
bench/launch/run.sh 64 3 probe probe-in-turn >>bench/launch.jsonl
for run in "16 3" "64 3" "256 3" "512 2" "1024 2"; do
    # shellcheck disable=SC2086 # a size and its repetitions
    slurm $run
done >>bench/launch.jsonl
/usr/bin/python3 -P bench/launch/report.py bench/launch.jsonl >bench/launch.md
