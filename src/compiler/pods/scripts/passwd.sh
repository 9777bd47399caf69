#!/bin/bash
# Where the platform chooses the user id: makes the passwd file that the pod's containers mount,
# since ssh wants a name and a shell. Runs in an init container.
. /etc/khorovod/scripts/job.sh
{
  echo 'root:x:0:0:root:/root:/bin/bash'
  echo "$user:x:$UID:$(id -g)::/tmp:/bin/bash"
  echo 'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin'
} >/horovod/generated/passwd
