# The shell of a batch job may lack the command `module`.
type module >/dev/null 2>&1 || . /etc/profile
type module >/dev/null 2>&1 || fail 42 "$HOSTNAME has no command 'module', which slurm.modules requires"
for name in "${modules[@]}"; do
  module load "$name" || fail 42 "module load $name failed; see the lines above"
done
