
find_mpi
if [[ $mpi_found == none ]]; then fail 42 "there is no mpirun on PATH, and launcher.mpi is $mpi: load its module in slurm.modules"; fi
if [[ ${mpi_found%% *} != "$mpi" ]]; then fail 42 "the mpirun on PATH is $mpi_found, and launcher.mpi is $mpi"; fi
log "$mpi_found for $np ranks on $SLURM_JOB_NODELIST"
