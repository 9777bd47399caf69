
# The hosts in a file, and an ssh that is srun: nodes need not let anyone in.
generated=$(mktemp -d) && trap 'rm -rf "$generated"' EXIT
hostfile=$generated/hostfile
scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/$/ slots=$slots/" >"$hostfile"
cat >"$generated/ssh" <<'SSH'
#!/bin/bash
# ssh [OPTION...] HOST [OPTION...] COMMAND...
host=''
while (($#)); do
  case $1 in
  -[BbcDEeFIiJLlmOopQRSWw]) shift 2 ;;
  -*) shift ;;
  *)
    [[ -z $host ]] || break
    host=${1#*@}
    shift
    ;;
  esac
done
exec srun --overlap --nodes=1 --ntasks=1 --cpus-per-task=1 --nodelist="$host" --input=none bash -c "$*"
SSH
chmod +x "$generated/ssh"
PATH=$generated:$PATH
