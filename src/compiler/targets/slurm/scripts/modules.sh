# The shell of a batch job may not have the function `module`.
type module >/dev/null 2>&1 || . /etc/profile
type module >/dev/null 2>&1 || khorovod_fail 42 "slurm.modules is set, but $HOSTNAME has no command module"
for khorovod_name in "${khorovod_modules[@]}"; do
  module load "$khorovod_name" || khorovod_fail 42 "module load $khorovod_name failed; see the messages above"
done
