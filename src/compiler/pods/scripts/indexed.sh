#!/bin/bash
# A pod of the Indexed Job: every one is a worker, and index 0 launches as well.
role=worker
[[ $JOB_COMPLETION_INDEX != 0 ]] || role=launcher
. "/etc/khorovod/scripts/$role.sh"
