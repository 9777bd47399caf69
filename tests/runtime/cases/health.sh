#!/bin/bash
# The checks of workers before an attempt. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks and the pods expand; `work`, `job` and `run` come from lib.sh

# has_gpus POD LINE...: gives a pod, or all pods that match the pattern POD, an nvidia-smi with this body.
has_gpus() {
  image prepare "if [[ \$POD == $1 ]]; then { cat >usr/bin/nvidia-smi; chmod +x usr/bin/nvidia-smi; } <<'END'" \
    '#!/bin/bash' "${@:2}" 'END' 'fi'
}
four='case $1 in --query-gpu=*) printf "%d, 0, No\n" 0 1 2 3 ;; *) printf "0, 0\n%.0s" 0 1 2 3 ;; esac'

# The spare starts last, or it could be among the first hosts.
late_spare() { image prepare '[[ $POD != worker-2 ]] || sleep 2'; }

# A program that fails at its first attempt, and prints the host of each rank.
second='echo rank on $(hostname); [[ -e /tmp/again || $HOSTNAME == *-worker-2 ]] || { touch /tmp/again; sleep 0.5; exit 3; }'

# checked POD REASON: after the first attempt, the launcher logged this reason for a pod.
checked() { logged launcher "health check of $job-$run-$1.$job on node 10.88." ": $2"; }

case_healthy() {
  local took
  has_gpus '*' "$four"
  train '[[ -e /tmp/again ]] || { touch /tmp/again; sleep 0.5; exit 3; }; echo at work; sleep 5' \
    'workers: {replicas: 3, slotsPerWorker: 1, gpus: 4, healthCheck: {policy: OnFailure}}' 'lifecycle: {retries: 2}'
  wait_for launcher "at work" || return
  # shellcheck disable=SC2016 # for the pod
  took=$(inside_pod launcher bash -c '
    start=${EPOCHREALTIME/./} PATH=/horovod/generated/bin:$PATH
    cut -d " " -f 1 /horovod/generated/hostfile | xargs -n 1 -P 32 bash /etc/khorovod/scripts/check.sh from
    echo "$(((${EPOCHREALTIME/./} - start) / 1000)) ms"')
  echo "the checks of three hosts took $took"
  [[ $took =~ ^[0-9]{1,4}\ ms$ ]] || fail "the checks took $took"
  expect 0 "attempt 1 of 3 failed" trained
  ! grep -q "health check" "$work/launcher.log" || fail "a healthy host fails"
  released
}

# One GPU of a worker is gone: a spare takes its place.
case_lost_gpu() {
  has_gpus '*' "$four"
  has_gpus worker-1 'case $1 in --query-gpu=*) printf "%d, 0, No\n" 0 1 2 ;; *) printf "0, 0\n%.0s" 0 1 2 ;; esac'
  late_spare
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4, spares: 1}' 'lifecycle: {retries: 1}'
  expect 0 "attempt 1 of 2 failed" "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" "rank on $job-$run-worker-2" trained
  checked worker-1 "it has 3 of 4 GPUs"
  released
}

# The same with GPUs by a claim, which no resource counts: the pod sees fewer of them than `gpus`.
case_lost_gpu_of_a_claim() {
  has_gpus '*' "$four"
  has_gpus worker-1 'case $1 in --query-gpu=*) printf "%d, 0, No\n" 0 1 2 ;; *) printf "0, 0\n%.0s" 0 1 2 ;; esac'
  late_spare
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4, gpuClaim: all, spares: 1, resourceClaims: [{name: all, resourceClaimTemplateName: four-gpus}]}' \
    'lifecycle: {retries: 1}'
  ! grep -q "nvidia.com/gpu:" "$work/objects.yaml" || fail "the workers also request GPUs of a device plugin"
  expect 0 "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" trained
  checked worker-1 "it has 3 of 4 GPUs"
}

# Errors of the memory: another worker is better, but the run continues without one.
case_gpu_memory_errors() {
  has_gpus '*' "$four"
  has_gpus worker-1 'case $1 in --query-gpu=*) printf "%d, %d, No\n" 0 0 1 0 2 7 3 0 ;; *) printf "%d, 0\n" 0 0 0 1 ;; esac'
  late_spare
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4, spares: 1}' 'lifecycle: {retries: 1}'
  expect 0 "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" trained
  checked worker-1 "GPU 2 has 7 uncorrectable memory errors"
  checked worker-1 "GPU 3 must be reset, because it has rows of memory to remap"
  released
}
case_gpu_memory_errors_without_a_spare() {
  has_gpus worker-1 'case $1 in --query-gpu=*) printf "%d, 0, Yes\n" 0 1 2 3 ;; *) echo "not supported"; exit 2 ;; esac'
  has_gpus worker-0 "$four"
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4}' 'lifecycle: {retries: 1}'
  expect 0 trained
  checked worker-1 "GPU 3 must be reset, because it has memory pages to retire"
  ! grep -q "place of" "$work/launcher.log" || fail "it was replaced"
  released
}

# A GPU has failed so that the driver does not answer: checked before the first attempt, and replaced without a spare.
case_driver_hangs() {
  local since=$SECONDS
  has_gpus '*' "$four"
  has_gpus worker-1 'trap "" TERM; while :; do sleep 1; done'
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4, healthCheck: {}}' 'lifecycle: {retries: 1}'
  expect 0 "$job-$run-worker-1.$job failed its health check: $job-$run-worker-2.$job replaces it" \
    "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" trained
  checked worker-1 "nvidia-smi does not answer within 20 s"
  lasted 60 "$since" "the run"
  released
}

case_driver_fails() {
  has_gpus '*' "$four"
  has_gpus worker-1 'echo "0, 0, No"; echo "Unable to determine the device handle for GPU1: GPU is lost."; exit 15'
  late_spare
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4, spares: 1, healthCheck: {}}'
  expect 0 "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" trained
  checked worker-1 "nvidia-smi fails with code 15: Unable to determine the device handle for GPU1: GPU is lost."
  released
}

# The user's own command fails on one worker, and the worker that should replace it does not start.
case_own_health_check() {
  image prepare '[[ $POD != worker-3 ]] || rm usr/sbin/sshd'
  train "$second" 'workers: {replicas: 3, slotsPerWorker: 2, healthCheck: {command: "echo of $HOSTNAME; [[ $HOSTNAME != *-worker-1 ]]"}}' \
    'lifecycle: {startTimeout: 10s}'
  expect 42 "$job-$run-worker-3.$job replaces it" "only 2 of 3 workers answered" "; $job-$run-worker-1.$job on node 10.88."
  [[ $(<"$work/pods/launcher/termination") == *"the command of workers.healthCheck ended with code 1: of $job-$run-worker-1" ]] ||
    fail "the termination message does not name it"
  ! grep -q "rank on" "$work/launcher.log" || fail "it trained"
  released
}

# The workers that replace it fail too: they must not take one node after the other.
case_own_health_check_fails_again() {
  train "$second" 'workers: {replicas: 3, slotsPerWorker: 2, healthCheck: {command: "[[ $HOSTNAME == *-worker-[02] ]]"}}' 'lifecycle: {retries: 1}'
  expect 42 "$job-$run-worker-4.$job replaces it" "hosts that replaced others fail the health check too: $job-$run-worker-4.$job"
  ! grep -q "worker-5" "$work/events.log" || fail "it took more"
  released
}

# The command is wrong for every host: no worker is replaced.
case_own_health_check_fails_everywhere() {
  train true 'workers: {replicas: 2, slotsPerWorker: 2, healthCheck: {command: [no-such-program]}}'
  expect 42 "all 2 hosts fail the health check, such as $job-$run-worker-" "ended with code 127"
  ! grep -q "replaces it" "$work/launcher.log" || fail "it was replaced"
  released
}

# khorovod's own check fails on every host: the training decides.
case_health_check_fails_everywhere() {
  has_gpus '*' 'case $1 in --query-gpu=*) echo "0, 0, No" ;; esac'
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4}' 'lifecycle: {retries: 1}'
  expect 0 "all 2 hosts fail the health check" "it has 1 of 4 GPUs" trained
  released
}

# With MIG, the spec counts slices, which nvidia-smi does not list.
case_slices_of_a_gpu() {
  has_gpus '*' 'case $1 in --query-gpu=*) echo "0, 0, [N/A], Enabled" ;; esac'
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 2}' 'lifecycle: {retries: 1}'
  expect 0 "attempt 1 of 2 failed" trained
  ! grep -q "health check" "$work/launcher.log" || fail "a healthy host fails"
  released
}

# The mount of a volume has failed on one host.
case_failed_volume() {
  image prepare "[[ \$POD != worker-1 ]] || { cat >usr/bin/stat; chmod +x usr/bin/stat; } <<'END'" '#!/bin/bash' \
    '[[ $* != *-f*/data ]] || { echo "stat: cannot read file system information for '"'/data'"': Stale file handle"; exit 1; }' \
    'echo 0 0 4096 0 0' END
  late_spare
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, spares: 1, healthCheck: {}}' \
    'storage: [{name: data, mountPath: /data, claim: {size: 1Gi, accessModes: [ReadWriteMany]}}]'
  expect 0 "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" trained
  checked worker-1 "/data cannot be used: Stale file handle"
  released
}

# /dev/shm is full on one host before the first attempt.
case_full_before_the_start() {
  image prepare '[[ $POD != worker-1 ]] || { mv usr/sbin/sshd usr/sbin/sshd.real; cat >usr/sbin/sshd; chmod +x usr/sbin/sshd; } <<END' \
    '#!/bin/bash' 'head -c 8M /dev/zero >/dev/shm/x 2>/dev/null' 'exec /usr/sbin/sshd.real "\$@"' END
  late_spare
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, shm: 4Mi, spares: 1, healthCheck: {}}'
  expect 0 "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" trained
  checked worker-1 "/dev/shm is full"
  released
}

# The launcher reaches a worker that the other workers do not reach.
case_isolated_worker() {
  local other
  train '[[ -e /tmp/again || $HOSTNAME == *-worker-3 ]] || { touch /tmp/again; echo up; sleep 4; exit 3; }; echo rank on $(hostname)' \
    'workers: {replicas: 3, slotsPerWorker: 1, healthCheck: {}}' 'lifecycle: {retries: 1}'
  wait_for launcher ":up" || return
  for other in worker-0 worker-2; do
    nsenter --target "$(<"$work/pods/worker-1/pid")" --net ip route add blackhole "$(sed -n "s/.* $other started worker at //p" "$work/events.log")"
  done
  expect 0 "$job-$run-worker-3.$job takes the place of $job-$run-worker-1.$job" "rank on $job-$run-worker-3" trained
  checked worker-1 "it cannot connect to $job-$run-worker-0.$job $job-$run-worker-2.$job on port 2222"
  [[ $(grep -c "health check of" "$work/launcher.log") == 1 ]] || fail "others were rejected too"
  released
}

case_health_check_is_off() {
  has_gpus '*' 'exit 1'
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4, healthCheck: {policy: Never}}' 'lifecycle: {retries: 1}'
  expect 0 trained
  ! grep -q "health check" "$work/launcher.log" || fail "it was checked"
  released
}

# In an Indexed Job the pod exits, and Kubernetes replaces it. Its /tmp is full only in its first container.
case_health_check_of_an_indexed_job() {
  train '[[ $OMPI_COMM_WORLD_RANK != 0 ]] || sleep 1' \
    'workers: {replicas: 2, slotsPerWorker: 2, healthCheck: {command: "[[ $HOSTNAME != *-1 || -e /data/seen ]] || { touch /data/seen; echo broken; exit 1; }"}}' \
    'storage: [{name: data, mountPath: /data, claim: {size: 1Gi, accessModes: [ReadWriteMany]}}]' 'launcher: {kind: mpirun, runsIn: firstWorker}' 'lifecycle: {retries: 1}'
  expect 0 "ended with code 1: broken" trained
  logged events "1 ended with 143"
}

# Index 0 launches and runs ranks: it exits, and the next launcher counts that as an attempt.
case_health_check_of_index_0() {
  train 'echo trained on $(hostname)' \
    'workers: {replicas: 2, slotsPerWorker: 2, healthCheck: {command: "[[ $HOSTNAME != *-0 || -e /data/seen ]] || { touch /data/seen; echo broken; exit 1; }"}}' \
    'storage: [{name: data, mountPath: /data, claim: {size: 1Gi, accessModes: [ReadWriteMany]}}]' 'launcher: {kind: mpirun, runsIn: firstWorker}' 'lifecycle: {retries: 1}'
  expect 0 "health check of $job-$run-0.$job on node 10.88." "ended with code 1: broken" "trained on $job-$run-0"
  logged events "0 ended with 1"
}

# The launcher's pod runs ranks beside the workers. It has no replacement, and each launcher counts as an attempt.
case_health_check_of_a_launcher_with_ranks() {
  train 'echo trained on $(hostname)' 'workers: {replicas: 2, slotsPerWorker: 1, healthCheck: {command: "[[ $HOSTNAME != *-launcher ]]"}}' \
    'launcher: {kind: mpirun, runsRanks: true}' 'lifecycle: {retries: 1}'
  expect 42 "health check of $job-$run-launcher.$job on node 10.88." "2 attempts failed, the last with its launcher"
  ! grep -q "trained on" "$work/launcher.log" || fail "it trained"
  released
}

# The last failure names a fault of a GPU.
case_health_check_explains_a_failure() {
  has_gpus '*' "$four"
  has_gpus worker-1 'case $1 in --query-gpu=*) printf "%d, 3, No\n" 0 1 2 3 ;; *) exit 2 ;; esac'
  train 'exit 3' 'workers: {replicas: 2, slotsPerWorker: 2, gpus: 4}' 'lifecycle: {retries: 0}'
  expect 42 "the last: training ended with code 3; $job-$run-worker-1.$job GPU 0 has 3 uncorrectable memory errors"
  released
}

# An agent of torchrun checks its own pod, and exits if it fails.
case_health_check_of_an_agent() {
  image prepare "{ cat >usr/local/bin/torchrun; chmod +x usr/local/bin/torchrun; } <<'END'" '#!/bin/bash' \
    'echo agent of $HOSTNAME; [[ $PET_NODE_RANK == 0 ]] || exec sleep 30' \
    'python3 -m http.server 29400 --bind 0.0.0.0 >/dev/null 2>&1 & sleep 8; kill $!' END
  train true 'launcher: torchrun' \
    'workers: {replicas: 2, slotsPerWorker: 2, healthCheck: {command: "[[ $HOSTNAME != *-1 || -e /data/seen ]] || { touch /data/seen; echo broken; exit 1; }"}}' \
    'storage: [{name: data, mountPath: /data, claim: {size: 1Gi, accessModes: [ReadWriteMany]}}]'
  expect 0 trained
  logged 1 "health check of $job-$run-1 on node 10.88." "ended with code 1: broken" "agent of $job-$run-1"
  logged events "1 ended with 1"
}

# An elastic job continues without the worker.
case_health_check_of_an_elastic_job() {
  image prepare 'printf "#!/bin/bash\n/horovod/generated/discoverHosts.sh; sleep 1\n" >usr/local/bin/horovodrun; chmod +x usr/local/bin/horovodrun'
  train true 'workers: {replicas: 3, healthCheck: {command: "[[ $HOSTNAME != *-worker-1 ]]"}, elastic: {minReplicas: 2, maxReplicas: 3}}' 'launcher: horovodrun'
  expect 0 "$job-$run-worker-0.$job:1" "$job-$run-worker-2.$job:1" trained
  checked worker-1 "the command of workers.healthCheck ended with code 1"
  ! grep -q "worker-1.$job:1" "$work/launcher.log" || fail "it is discovered"
  released
}

# A worker that the launcher can probe, but not log in to.
case_health_check_without_a_login() {
  image prepare '[[ $POD != worker-1 ]] || { mv usr/sbin/sshd usr/sbin/sshd.real; cat >usr/sbin/sshd; chmod +x usr/sbin/sshd; } <<END' \
    '#!/bin/bash' ': >/horovod/generated/keys/authorized_keys' 'exec /usr/sbin/sshd.real "\$@"' END
  train "$second" 'workers: {replicas: 2, slotsPerWorker: 2, healthCheck: {}}' 'lifecycle: {retries: 1}'
  expect 0 "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" trained
  checked worker-1 "cannot log in: "
  released
}
