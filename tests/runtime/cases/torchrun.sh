#!/bin/bash
# PyTorch's own launcher, without ssh. Sourced.
# shellcheck disable=SC2154 # `here`, `work`, `job` and `run` come from lib.sh

# torchrun_job LINE...: an agent with two ranks in each of two pods.
# Debian's torch 1.13 fails under its own Python without PET_TEE and PET_REDIRECTS like these.
torchrun_job() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  image prepare "install -m 0644 $here/sum.py usr/local/lib/sum.py"
  train 'exec python3 /usr/local/lib/sum.py' 'launcher: {kind: torchrun}' \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1", PET_MAX_RESTARTS: "0", WANTED: "4"}' "$@"
  expect 0 "trained" "rank 0 of 4 on $job-$run-0: sum 6"
  said 1 "rank 2 of 4 on $job-$run-1: sum 6"
}

case_torchrun() { torchrun_job; }

# Which agent gets which ranks is settled when they meet.
case_torchrun_elastic() { torchrun_job 'elastic: {minWorkers: 1, maxWorkers: 2}'; }
