#!/bin/bash
# probe.sh PORT DOMAIN HOST...: prints the hosts whose sshd greets as the host asked for, each with the MPI
# that is there. The caller bounds the time.
#
# The greeting ends in `khorovod HOST MPI`: a name may still lead to the pod that had its address
# before, and every worker shows the same host key.
port=$1 domain=$2
shift 2
for host; do
  {
    exec 3<>"/dev/tcp/$host$domain/$port" && read -r -u 3 greeting &&
      [[ $greeting =~ ^SSH-.*\ khorovod\ (-|"${host%%.*}")\ ([^[:space:]]+) ]] && echo "$host ${BASH_REMATCH[2]}" >&4
  } 4>&1 >/dev/null 2>&1 &
done
wait
