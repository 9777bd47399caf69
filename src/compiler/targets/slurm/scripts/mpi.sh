
find_mpi
if [[ $found == none ]]; then fail 42 "there is no mpirun on PATH, and the spec has $mpi: is it among slurm.modules?"; fi
if [[ ${found%% *} != "$mpi" ]]; then fail 42 "mpirun is that of $found; the spec has $mpi (launcher.mpi)"; fi
log "$found for $np ranks on $SLURM_JOB_NODELIST"
