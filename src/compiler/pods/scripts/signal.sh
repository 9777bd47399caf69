#!/bin/bash
# signal.sh NAME: sends the signal to every rank of this pod.
. /etc/khorovod/scripts/ranks.sh
list_ranks "$(kill -l "$1")"
: >/horovod/generated/signalled
((${#ranks[@]} == 0)) || kill -s "$1" "${ranks[@]}" 2>/dev/null
exit 0
