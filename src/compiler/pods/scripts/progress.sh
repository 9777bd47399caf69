#!/bin/bash
# progress.sh HOST: prints HOST and the time of the last change of stall_file on this host, or `-`.
. /etc/khorovod/scripts/job.sh
changed=$(timeout 5 stat -L -c '%y-%s' "$stall_file" 2>/dev/null)
echo "$1 ${changed:--}"
