#!/bin/bash
# An init container for platforms that choose the user id. Writes the passwd file that the pod's containers mount, because ssh
# requires a name and a shell.
. /etc/khorovod/scripts/job.sh
{
  echo 'root:x:0:0:root:/root:/bin/bash'
  echo "$user:x:$UID:$(id -g)::/tmp:/bin/bash"
  echo 'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin'
} >/horovod/generated/passwd
