khorovod_code=$?
# Options that slurm.setup sets must not affect the rest of the script.
set +eux +o pipefail
((khorovod_code == 0)) || khorovod_fail 42 "slurm.setup failed; see the lines above"
