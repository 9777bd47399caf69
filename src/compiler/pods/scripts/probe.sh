#!/bin/bash
# probe.sh PORT DOMAIN HOST[=ADDRESS]...: prints one line for each host whose sshd answers as that host of the job:
# `HOST MPI ADDRESS NODE INSTANCE [leaving]`, from the greeting that sshd.sh sets.
#
# The name is checked because a DNS record may still hold the address of an earlier pod, and all workers have the same host
# key. With an address no name is resolved.
port=$1 domain=$2
shift 2
for target; do
  {
    host=${target%%=*}
    address=$host$domain
    [[ $target == "$host" ]] || address=${target#*=}
    exec 3<>"/dev/tcp/$address/$port" && read -r -u 3 greeting &&
      [[ ${greeting%$'\r'} =~ ^SSH-.*\ khorovod\ (-|"${host%%.*}")\ (.+) ]] && echo "$host ${BASH_REMATCH[2]}" >&4
  } 4>&1 >/dev/null 2>&1 &
done
wait
