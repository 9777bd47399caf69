#!/bin/bash
# A torchrun agent: meets the others at index 0, whose end is the job's.
#
# Exit codes of index 0 as the launcher's; another agent that fails is started anew and joins again.
. /etc/khorovod/scripts/common.sh
. "$scripts/attempt.sh"

began=$(printf '%(%s)T' -1)
index=$JOB_COMPLETION_INDEX
export PET_NODE_RANK=$index
meeting=${team_names[0]}-0.$service

finish() {
  trap '' TERM INT
  epitaph "$2"
  stop_training
  exit "$1"
}
trap 'finish 143 "told to end"' TERM INT
# A fresh pod may for a while see the ConfigMap as it was before this run.
for ((age = 0; age < 150; age++)); do
  superseded || break
  pause 1
done
check_limits
download || exit 1

# Gloo goes by its host's own name. On a node's own network that is the node's, and leads nowhere on many, or to 127.0.1.1.
if [[ -z ${GLOO_SOCKET_IFNAME:-} && " $(getent hosts "$HOSTNAME" 2>/dev/null)" =~ ^\ (127\..*|::1\ .*|)$ ]]; then
  while read -r interface destination _; do
    [[ $destination != 00000000 ]] || { export GLOO_SOCKET_IFNAME=$interface && break; }
  done </proc/net/route
fi
# Elastic agents tell each other their host's name, which is the node's there.
here=${team_names[0]}-$index
[[ ${HOSTNAME%%.*} == "$here" ]] || export PET_LOCAL_ADDR=${PET_LOCAL_ADDR:-$here.$service}
allowed=$(limit wait-timeout 1800)
export PET_RDZV_CONF=is_host=$((index == 0)),${PET_RDZV_CONF:-join_timeout=$allowed}
if ((index > 0)); then
  until timeout 2 /bin/bash -c "exec 3<>/dev/tcp/$meeting/29400" 2>/dev/null; do
    ((SECONDS < allowed)) || finish 1 "$meeting did not answer within $allowed s"
    ((SECONDS % 10)) || log "waiting for $meeting"
    pause 1
  done
  # Only index 0 says that training failed; this pod starts anew and joins again.
  attempt || finish 1 "$failure"
  # Where the first pod that ends well ends the job, that must be index 0.
  [[ -z ${stays:-} ]] || while :; do pause 60; done
  finish 0 "trained"
fi
attempt || finish 42 "$failure"
# Its ranks ran here.
launcher_host=$meeting
upload || finish 42 "trained, but the S3 volumes could not be uploaded"
finish 0 "trained"
