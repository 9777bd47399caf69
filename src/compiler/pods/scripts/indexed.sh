#!/bin/bash
# A pod of the Indexed Job. Index 0 is the launcher, and it runs ranks like the workers.
role=worker
[[ $JOB_COMPLETION_INDEX != 0 ]] || role=launcher
. "/etc/khorovod/scripts/$role.sh"
