# The shell of a batch job may lack the command `module`.
type module >/dev/null 2>&1 || . /etc/profile
type module >/dev/null 2>&1 || khorovod_fail 42 "$HOSTNAME has no command 'module', which slurm.modules requires"
for khorovod_name in "${khorovod_modules[@]}"; do
  module load "$khorovod_name" || khorovod_fail 42 "module load $khorovod_name failed; see the lines above"
done
