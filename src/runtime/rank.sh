#!/bin/bash
# shellcheck disable=SC1091
# What every rank of the trial launch runs: says where it is, and once a host which MPI is there.
. /etc/khorovod/scripts/mpi.sh
version=-
local_rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${PALS_LOCAL_RANKID:-0}}}
[[ $local_rank != 0 ]] || version=$(mpi_found)
echo "khorovod-rank $(</proc/sys/kernel/hostname) ${version// /-}."
