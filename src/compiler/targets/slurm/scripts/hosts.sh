
# Writes a hostfile, and an `ssh` that calls srun: many clusters do not allow ssh to their nodes.
khorovod_generated=$(mktemp -d)
# slurm.setup may have a trap for EXIT, too: `trap -p` prints it as a command whose third word is the trap.
eval "khorovod_trap=($(trap -p EXIT))"
# shellcheck disable=SC2064,SC2154
trap 'rm -rf "$khorovod_generated"'"; ${khorovod_trap[2]:-:}" EXIT
khorovod_hostfile=$khorovod_generated/hostfile
scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/$/ slots=$khorovod_slots/" >"$khorovod_hostfile"
cat >"$khorovod_generated/ssh" <<'SSH'
#!/bin/bash
# ssh [OPTION...] HOST [OPTION...] COMMAND...
khorovod_host=''
while (($#)); do
  case $1 in
  -[BbcDEeFIiJLlmOopQRSWw]) shift 2 ;;
  -*) shift ;;
  *)
    [[ -z $khorovod_host ]] || break
    khorovod_host=${1#*@}
    shift
    ;;
  esac
done
exec srun --overlap --nodes=1 --ntasks=1 --cpus-per-task=1 --nodelist="$khorovod_host" --input=none bash -c "$*"
SSH
chmod +x "$khorovod_generated/ssh"
PATH=$khorovod_generated:$PATH
