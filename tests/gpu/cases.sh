#!/bin/bash
# Jobs on a physical GPU. Cases of tests/runtime/run.sh; see README.md. Sourced.
# shellcheck disable=SC2016,SC2154 # the pods expand; run.sh sets `work`, `job`, `run` and `here`

folder=$here/../gpu
out='storage: [{name: out, mountPath: /out, claim: {size: 1Gi, accessModes: [ReadWriteMany]}}]'
gpu_names=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | sort -u)

# on_gpu: prepares the image of the pods. It has the Python that is first in PATH, the driver and the programs of this folder.
# REHEARSE=1 runs what also runs on a CPU.
on_gpu() {
  local python
  [[ -e /dev/nvidia0 || -n ${REHEARSE:-} ]] || { skip "no NVIDIA GPU"; return 1; }
  gpu=${gpu_names:-cpu} by=gloo
  [[ ! -e /dev/nvidia0 ]] || by=nccl
  python=$(python3 -c 'import sys; print(sys.prefix)')/bin
  # Some nodes, such as those of GKE, mount the driver here. An overlay does not show what is mounted below its lower folder.
  ! mountpoint -q /usr/local/nvidia || image mount /usr/local/nvidia:/usr/local/nvidia
  image mount "$PWD/image/bin:/opt/khorovod/bin"
  image env "PATH=$python:/opt/khorovod/bin:/usr/local/nvidia/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    LD_LIBRARY_PATH=/usr/local/nvidia/lib64 OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=2
  image prepare "install -m 0644 $folder/*.py usr/local/lib"
}

# torchrun_job COMMAND LINE...: starts a job of torchrun.
torchrun_job() { train "$1" 'launcher: torchrun' "${@:2}"; }
program='exec python3 -u /usr/local/lib/train.py'

# variables PAIR...: prints a line of a spec with variables of the environment.
variables() {
  local text='PYTHONUNBUFFERED: "1"'
  [[ -z ${REHEARSE:-} ]] || text='PET_TEE: "1", PET_REDIRECTS: "7:1"'
  printf 'env: {%s' "$text"
  (($# == 0)) || printf ', %s' "$@"
  printf '}'
}

# fact TEXT...: notes what a case has shown, for record.py.
fact() { printf '%s\n' "$@" >>"$work/facts"; }

# one GPU, one rank, NCCL, and the health check before the first attempt.
case_torchrun() {
  on_gpu || return 0
  torchrun_job "$program" "$(variables)" 'workers: {replicas: 1, gpus: 1, shm: 4Gi, healthCheck: {}}' 'collective: {ncclDebug: INFO}'
  expect 0 "rank 0 of 1 on $job-$run-0, $gpu: sum 1 by $by" "rank 0 of 1: the loss fell" trained
  ! grep -q "health check" "$work/0.log" || fail "the health check rejects the pod"
  [[ $by == gloo ]] || logged 0 "NCCL INFO NCCL version" "memory of the GPU: "
  fact "a training with DDP over NCCL: one rank; the loss fell; the health check passed"
}

# Two pods on one GPU. NCCL takes them for two hosts, because their host names differ, and connects them by sockets.
case_two_pods() {
  on_gpu || return 0
  torchrun_job "$program" "$(variables)" 'workers: {replicas: 2, gpus: 1, shm: 4Gi, healthCheck: {}}' 'collective: {ncclDebug: INFO}'
  expect 0 "rank 0 of 2 on $job-$run-0, $gpu: sum 3 by $by" "rank 0 of 2: the loss fell, the same weights on all ranks" trained
  logged 1 "rank 1 of 2 on $job-$run-1, $gpu: sum 3 by $by" "rank 1 of 2: the loss fell, the same weights on all ranks"
  [[ $by == gloo ]] || logged 0 "via NET/Socket" "Bootstrap: Using eth0"
  fact "a training with DDP over NCCL by sockets: two pods that share the GPU; sums right, the same weights on both ranks"
}

# The spec asks for more GPUs than there are: the run ends before the training.
case_too_few_gpus() {
  on_gpu || return 0
  [[ $by == nccl ]] || { skip "needs a GPU"; return; }
  local present
  present=$(nvidia-smi --list-gpus | wc -l)
  train 'echo at work' "workers: {replicas: 1, gpus: $((present + 1)), healthCheck: {}}" 'lifecycle: {retries: 0}'
  expect 42 "it has $present of $((present + 1)) GPUs" "hosts that replaced others fail the health check too"
  ! grep -q "at work" "$work/launcher.log" || fail "it trained"
  released
  fact "with one GPU more in the spec than there are, the run ends with 42 before the training: it has $present of $((present + 1)) GPUs"
}

# The preflight and the benchmark: two pods, with NCCL.
case_preflight() {
  on_gpu || return 0
  local expected=1 device='NCCL on GPUs'
  [[ $by == nccl ]] || { expected=0 device='Gloo on CPUs'; }
  train "khorovod-preflight --gpus $expected && khorovod-bandwidth --by torch --max 64Mi --seconds 0.2; khorovod-preflight --gpus 8; echo code \$?" \
    'launcher: shell' 'workers: {replicas: 2, gpus: 1, slotsPerWorker: 1, memory: 16Gi, shm: 4Gi, healthCheck: {}}'
  expect 0 "ok    gpus" "ok    allreduce  2 ranks on 2 hosts have the right sum, by PyTorch with $device" "these hosts can train together" \
    "all-reduce of float32, 2 ranks on 2 hosts, by PyTorch with $device" "bus bandwidth, GB/s" "FAIL  gpus" "code 1"
  released
  fact "khorovod-preflight passed, and failed with --gpus 8; khorovod-bandwidth ran over NCCL by sockets on two pods that share the GPU"
}

# A rank does not join an all-reduce of NCCL.
takes_a_minute stall_in_nccl
case_stall_in_nccl() {
  on_gpu || return 0
  torchrun_job "$program" "$(variables 'HANG: "1"' 'TORCH_NCCL_DEBUG_INFO_PIPE_FILE: /tmp/recorder_' 'TORCH_NCCL_TRACE_BUFFER_SIZE: "200"')" \
    'workers: {replicas: 2, gpus: 1, shm: 4Gi}' 'lifecycle: {stall: {timeout: 30s, evidence: /out/stalls}, retries: 3}' "$out"
  expect 0 "asking all hosts what their ranks are doing" "rank 1 in read_batch (train.py:" "rank 0 in " "attempt 1 of 4 failed: no output for " \
    "rank 0 of 2: the loss fell, the same weights on all ranks" trained
  if [[ $by == nccl ]]; then
    logged 0 "NCCL RAS:" "MISMATCH"
    [[ -s $(echo "$work"/claims/*/stalls/*/*trace_rank_0) ]] || fail "no flight recorder"
    # shellcheck disable=SC2086
    python3 "$folder/recorder.py" "$work"/claims/*/stalls/*/*trace_rank_* >"$work/recorder.log" || fail "the file of the flight recorder is unreadable"
  fi
  cat "$work"/claims/*/stalls/*/*.txt >"$work/evidence.log"
  logged evidence "gpus: index"
  fact "a rank that does not join an all-reduce: named, with Python stacks, nvidia-smi, NCCL RAS and the flight recorder; the next attempt trained"
}

# A kernel on the GPU does not end. The pod has py-spy if the machine does.
takes_a_minute stall_in_a_kernel
case_stall_in_a_kernel() {
  on_gpu || return 0
  [[ $by == nccl ]] || { skip "needs a GPU"; return; }
  train "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 RANK=0 WORLD_SIZE=1 $program" 'env: {KERNEL: "1"}' \
    'workers: {replicas: 1, gpus: 1, memory: 16Gi, shm: 4Gi}' 'lifecycle: {stall: {timeout: 30s, evidence: /out/stalls}, retries: 1}' "$out"
  expect 0 "rank 0 in synchronize (train.py:" "attempt 1 of 2 failed: no output for " "rank 0 of 1: the loss fell" trained
  cat "$work"/claims/*/stalls/*/*.txt >"$work/evidence.log"
  logged evidence "gpus: index" ", 100, "
  released
  fact "a kernel that does not end: named, GPU at 100 %; the rank was killed, and the next attempt trained on the same GPU"
}

# An eviction: the training saves a model that is on the GPU, and the next pod continues with it.
case_checkpoint() {
  on_gpu || return 0
  torchrun_job "$program" "$(variables 'SAVES: "1"' 'STEPS: "80"')" 'workers: {replicas: 1, gpus: 1, shm: 4Gi}' \
    'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 30s}}' "$out"
  wait_for 0 "step 5:" 90 || return
  evict_pod 0
  wait_for 0 "continues at step" 60 || return
  expect 0 "saved step" "rank 0 of 1: the loss fell" trained
  fact "an eviction: SIGUSR1, a model saved from the GPU, and the next pod continued with it on the GPU"
}

case_jax() {
  on_gpu || return 0
  [[ $by == nccl ]] || { skip "needs a GPU"; return; }
  train 'exec python3 -u /usr/local/lib/train_jax.py' 'launcher: jax' 'workers: {replicas: 1, gpus: 1, shm: 4Gi, healthCheck: {}}'
  expect 0 "rank 0 of 1 on $job-$run-0, gpu $gpu: weights 1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.00" trained
  fact "a training of JAX: one process"
}
case_jax_two_pods() {
  on_gpu || return 0
  [[ $by == nccl ]] || { skip "needs a GPU"; return; }
  train 'exec python3 -u /usr/local/lib/train_jax.py' 'launcher: jax' 'workers: {replicas: 2, gpus: 1, shm: 4Gi}' \
    'env: {XLA_PYTHON_CLIENT_MEM_FRACTION: "0.2"}' 'collective: {ncclDebug: INFO}'
  expect 0 "rank 0 of 2 on $job-$run-0, gpu $gpu: weights 1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.00" "via NET/Socket" trained
  logged 1 "rank 1 of 2 on $job-$run-1, gpu $gpu: weights 1.00"
  fact "a training of JAX over NCCL by sockets: two pods that share the GPU"
}

case_mpirun() {
  on_gpu || return 0
  python3 -c 'import mpi4py' 2>/dev/null || { skip "no mpi4py"; return; }
  train 'exec python3 -u /usr/local/lib/mpi.py' 'workers: {replicas: 2, gpus: 1, slotsPerWorker: 1, memory: 16Gi, healthCheck: {}}'
  expect 0 "rank 0 of 2 on $job-$run-worker-0, $gpu: sum 1536 by Open MPI" "rank 1 of 2 on $job-$run-worker-1, $gpu: sum 1536" trained
  released
  fact "matrices multiplied on the GPU and added up with mpi4py: two pods that share the GPU"
}
