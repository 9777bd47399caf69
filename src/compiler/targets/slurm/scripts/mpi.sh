
# A subshell, so that find_mpi sets no variable here.
khorovod_found=$(find_mpi && echo "$mpi_found")
if [[ $khorovod_found == none ]]; then
  khorovod_fail 42 "there is no mpirun on PATH, and launcher.mpi is $khorovod_mpi: load its module in slurm.modules"
fi
if [[ ${khorovod_found%% *} != "$khorovod_mpi" ]]; then
  khorovod_fail 42 "the mpirun on PATH is $khorovod_found, and launcher.mpi is $khorovod_mpi"
fi
khorovod_log "$khorovod_found for $khorovod_np ranks on $SLURM_JOB_NODELIST"
