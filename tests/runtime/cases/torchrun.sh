#!/bin/bash
# PyTorch's launcher, without ssh. Sourced.
# shellcheck disable=SC2154 # `here`, `work`, `job` and `run` come from lib.sh

# torchrun_job LINE...: starts two pods, each with an agent and two ranks.
# Debian 12's torch 1.13 fails with Debian's Python unless PET_TEE and PET_REDIRECTS are set like this.
torchrun_job() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  image prepare "install -m 0644 $here/sum.py usr/local/lib/sum.py"
  train 'exec python3 /usr/local/lib/sum.py' 'launcher: {kind: torchrun}' \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1", PET_MAX_RESTARTS: "0", WANTED: "4"}' "$@"
  expect 0 "trained" "rank 0 of 4 on $job-$run-0: sum 6"
  logged 1 "rank 2 of 4 on $job-$run-1: sum 6"
}

case_torchrun() { torchrun_job; }

# The rendezvous decides which agent gets which ranks.
case_torchrun_elastic() { torchrun_job 'elastic: {minWorkers: 1, maxWorkers: 2}'; }
