#!/bin/bash
# order.sh FROM TO: runs on a worker. Reads an order from standard input: the launcher's signature, the command, and all hosts.
# Starts the command here, which is the host FROM of the order, and hands the order down to the hosts up to TO. Its caller may be
# another worker, so it executes only an order that the launcher has signed, for this container, once.
. /etc/khorovod/scripts/common.sh
. "$scripts/tree.sh"
parent=$PPID is_command=''
orders=$generated/orders
mkdir -p "$orders"
exec {lock}>"$orders/lock"
order=$orders/$$
cat >"$order"

refuse() {
  echo "khorovod: $HOSTNAME refuses an order: $*" >&2
  rm -f "$order"
  exit 76
}

mapfile -t lines <"$order"
for ((line = 0; line < ${#lines[@]} && line < 100; line++)); do
  [[ ${lines[line]} != "-----END SSH SIGNATURE-----" ]] || break
done
printf '%s\n' "${lines[@]:0:line+1}" >"$order.sig"
lines=("${lines[@]:line+1}")
printf '%s\n' "${lines[@]}" |
  ssh-keygen -q -Y verify -f "$generated/keys/signers" -I launcher -n khorovod-order -s "$order.sig" >"$order.errors" 2>&1 ||
  refuse "it is not signed by the launcher: $(tail -n 1 "$order.errors")"
rm -f "$order.sig" "$order.errors"
[[ ${lines[0]} == "khorovod-order 1" && "${1:-} ${2:-}" =~ ^[0-9]{1,6}\ [0-9]{1,6}$ ]] || refuse "it has another format"
read -r launcher number is_command <<<"${lines[1]}"
tree_hosts=("${lines[@]:3}")
from=$1 to=$2
((from < to && to <= ${#tree_hosts[@]})) || refuse "it has ${#tree_hosts[@]} hosts, not $to"
read -r host _ instance <<<"${tree_hosts[from]}"
read -r own here <"$generated/instance"
[[ $instance == "$here" && ($own == - || $own == "${host%%.*}") ]] || refuse "host $from is not this container"

# Each order once, and none that is older than the last one, or of another launcher.
flock "$lock"
owner='' last=''
{ read -r owner _ <"$generated/owner"; } 2>/dev/null
{ read -r last <"$orders/last"; } 2>/dev/null
[[ ${owner:--} == "$launcher" || -z $owner ]] || refuse "this worker serves another launcher of the run"
[[ ${last% *} != "$launcher" ]] || ((number > ${last#* })) || refuse "it is not new"
echo "$launcher $number" >"$orders/last"
[[ -n $owner || $launcher == - ]] || echo "$launcher" >"$generated/owner"
exec {lock}>&-

ssh_program() {
  pass_lines ssh -F "$scripts/ssh_config" -i "$generated/keys/host_key" -o "UserKnownHostsFile=$generated/keys/relays_hosts" -o "Port=$port" \
    -o "User=$user" "$@"
}
end_on 'end_started; exit 143' TERM INT HUP
hand_down "$order" "$((from + 1))" "$to"
set -m
KHOROVOD_ORDER=$$ SLURM_JOBID=1 SLURM_NODEID=$from SLURM_PROCID=$from SLURMD_NODENAME=$host /bin/bash -c "${lines[2]}" </dev/null &
started+=($!)
set +m
# The session ends with its connection, so that no rank keeps a GPU.
watch_process "$parent" &
wait_started
code=$?
kill $! 2>/dev/null
((code == 0)) || end_started
rm -f "$order"
exit "$code"
