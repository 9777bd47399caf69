
# find_mpi runs in a subshell, so that its variables do not change those of this script.
khorovod_found=$(find_mpi && echo "$found")
if [[ $khorovod_found == none ]]; then
  khorovod_fail 42 "there is no mpirun on PATH; the spec needs $khorovod_mpi: add its module to slurm.modules"
fi
if [[ ${khorovod_found%% *} != "$khorovod_mpi" ]]; then
  khorovod_fail 42 "mpirun on PATH is $khorovod_found; launcher.mpi is $khorovod_mpi"
fi
khorovod_log "$khorovod_found for $khorovod_np ranks on $SLURM_JOB_NODELIST"
