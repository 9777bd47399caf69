#!/bin/bash
# shellcheck disable=SC1091,SC2034,SC2154
# A worker's life: fetch its data, answer on ssh, end at once when told.
. /etc/khorovod/scripts/common.sh
. "$scripts/sshd.sh"

# Not 0: an Indexed Job would take an evicted worker for a finished one.
trap 'exit 143' TERM INT
download && start_sshd || exit 1
trap 'kill "$sshd"; exit 143' TERM INT
log "worker $HOSTNAME answers on port $port"
wait "$sshd"
epitaph "sshd ended with code $?"
exit 1
