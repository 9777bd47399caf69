# A batch job's shell may lack the command.
type module >/dev/null 2>&1 || . /etc/profile
type module >/dev/null 2>&1 || fail 42 "there is no command module on $HOSTNAME, and the spec has slurm.modules"
for name in "${modules[@]}"; do
  module load "$name" || fail 42 "module load $name failed; see the lines above"
done
