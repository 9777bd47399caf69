
# The function runs in a subshell, so its variables cannot collide with those of the user.
khorovod_found=$(find_mpi && echo "$found")
if [[ $khorovod_found == none ]]; then
  khorovod_fail 42 "there is no mpirun on PATH, and the spec has $khorovod_mpi: is it among slurm.modules?"
fi
if [[ ${khorovod_found%% *} != "$khorovod_mpi" ]]; then
  khorovod_fail 42 "mpirun is that of $khorovod_found; the spec has $khorovod_mpi (launcher.mpi)"
fi
khorovod_log "$khorovod_found for $khorovod_np ranks on $SLURM_JOB_NODELIST"
