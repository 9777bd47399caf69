#!/bin/bash
# probe.sh PORT DOMAIN HOST...: prints each host whose sshd answers with that host's name, and its MPI.
#
# The banner of sshd ends in `khorovod HOST MPI`. The name is checked because a DNS record may still hold the address of an
# earlier pod, and all workers have the same host key.
port=$1 domain=$2
shift 2
for host; do
  {
    exec 3<>"/dev/tcp/$host$domain/$port" && read -r -u 3 greeting &&
      [[ $greeting =~ ^SSH-.*\ khorovod\ (-|"${host%%.*}")\ ([^[:space:]]+) ]] && echo "$host ${BASH_REMATCH[2]}" >&4
  } 4>&1 >/dev/null 2>&1 &
done
wait
