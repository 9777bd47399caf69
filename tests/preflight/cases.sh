#!/bin/bash
# The preflight and the benchmark in jobs, without faults and with every fault that they check. Cases of
# tests/runtime/run.sh; see its README. Sourced.
# shellcheck disable=SC2016,SC2154 # the pods expand; run.sh sets `work`, `job`, `run` and `here`

# shellcheck source=tests/launchers/images.sh
. "$here/../launchers/images.sh"

programs=/opt/khorovod/bin
libfaketime=/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1

# with_programs [FOLDER]: puts the programs first in PATH in all pods, after FOLDER; a case writes replacements to `faults`.
# There are more ranks than cores, so ranks must not spin while they wait.
with_programs() {
  image mount "$PWD/image/bin:$programs"
  image env "PATH=${1:+$1:}/opt/faults:$programs:/usr/sbin:/usr/bin:/sbin:/bin" OMP_NUM_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1
}

# The unchanged example on two hosts without GPUs; and MPI measured without a library.
case_preflight() {
  local command="khorovod-preflight --gpus 0 && khorovod-bandwidth --max 512Ki --factor 16 --seconds 0.1 --svg /tmp/plot.svg"
  with_programs
  start -n team-a examples/preflight/job.yaml --set spec.workers.replicas=2 --set spec.workers.gpus=0 \
    --set spec.workers.slotsPerWorker=1 --set spec.workers.memory=4Gi --set spec.workers.shm=1Gi \
    --set "spec.command=$command && head -c 60 /tmp/plot.svg && khorovod-bandwidth --by mpi --check"
  expect 0 "ok    allreduce  2 ranks on 2 hosts have the right sum, by" "these hosts can train together" \
    "bus bandwidth, GB/s" "<svg xmlns" "all-reduce of float32, 2 ranks on 2 hosts, by Open MPI on CPUs"
  released
}

# One Indexed Job, whose launcher is the first of the hosts, with MPICH, where PyTorch's rendezvous uses MPI.
# Not with Debian 12's MPICH 4.0.2 on UCX 1.13, which may not return from MPI_Finalize over TCP: docs/launchers.md.
prepare_preflight_mpich() { make_images mpich; }
case_preflight_mpich() {
  use_image mpich
  with_programs /srv/mpich/bin
  train 'khorovod-preflight && khorovod-bandwidth --by mpi --check' 'launcher: {kind: shell, mpi: mpich, runsIn: firstWorker}' \
    'workers: {replicas: 2, slotsPerWorker: 2, memory: 4Gi}'
  expect 0 "the launcher reaches 2 of 2 hosts" "the same everywhere: mpich 5" \
    "ok    allreduce  4 ranks on 2 hosts have the right sum, by" "4 ranks on 2 hosts, by MPICH on CPUs"
}

# As the command of a torchrun job, without ssh or MPI.
# Debian 12's torch 1.13 fails with Debian's Python unless PET_TEE and PET_REDIRECTS are set like this.
case_bandwidth_torchrun() {
  with_programs
  train 'exec khorovod-bandwidth --max 512 --seconds 0.1' 'launcher: torchrun' \
    'workers: {replicas: 2, slotsPerWorker: 1}' \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}'
  expect 0 "all-reduce of float32, 2 ranks on 2 hosts, by PyTorch with Gloo on CPUs" "bus bandwidth, GB/s"
}

# root_in POD COMMAND...: runs a command as root in the network and mount namespaces of a pod.
root_in() {
  nsenter --target "$(<"$work/pods/$1/pid")" --net --mount --uts --root --wd=/ "${@:2}"
}

# preflight LOG [OPTION...]: runs the preflight in the interactive launcher, with its output in a log. Sets `code`.
preflight() {
  inside_pod launcher env HOME=/tmp "PATH=/opt/faults:$programs:/usr/sbin:/usr/bin:/sbin:/bin" \
    khorovod-preflight "${@:2}" >"$work/$1.log" 2>&1
  code=$?
}

# An interactive launcher, three workers, and one fault for each check: some faults are in one pod's image, others are added
# while the pods run.
case_preflight_faults() {
  local worker
  [[ -e $libfaketime ]] || { skip "no libfaketime"; return; }
  with_programs
  image prepare "mkdir -p opt/faults && cd opt/faults
    case \$POD in
    worker-0) printf '#!/bin/bash\necho \"mpirun (Open MPI) 5.0.9\"\n' >mpirun ;;
    worker-1) printf '#!/bin/bash\nFAKETIME=+400.5 LD_PRELOAD=$libfaketime exec /usr/bin/python3 \"\$@\"\n' >python3 ;;
    worker-2) printf '#!/bin/bash\necho \"Failed to initialize NVML: Driver/library version mismatch\"; exit 18\n' >nvidia-smi ;;
    *) exit 0 ;;
    esac
    chmod +x *"
  train '' 'workers: {replicas: 3, slotsPerWorker: 2, memory: 1Gi, shm: 400Mi}' 'launcher: {kind: shell, interactive: true}'
  wait_for launcher "ready: 3 workers" || return
  worker=$job-$run-worker

  # A small /dev/shm, a link of 20 Mbit/s, and a bridge with the same address on several hosts.
  root_in worker-0 mount -o remount,size=32m /dev/shm
  root_in worker-2 tc qdisc add dev eth0 root tbf rate 20mbit burst 64kbit latency 400ms
  for index in 1 2; do
    root_in "worker-$index" ip link add docker0 type bridge
    root_in "worker-$index" ip addr add 172.17.0.1/16 dev docker0
    root_in "worker-$index" ip link set docker0 up
  done
  preflight hosts
  [[ $code == 1 ]] || fail "it ended with $code"
  logged hosts "FAIL  clocks     off from the launcher's: $worker-1 by +400." \
    "FAIL  software   mpi differs: openmpi 4.1.4 on $worker-1, $worker-2, $job-$run-launcher; openmpi 5.0.9 on $worker-0" \
    "FAIL  gpus       nvidia-smi on $worker-2: Failed to initialize NVML: Driver/library version mismatch" \
    "FAIL  shm        free in /dev/shm: 32 MiB on $worker-0" "less than 256 MiB for each rank" \
    "warn  links      slow: " "$worker-2 to $worker-0 0.0" \
    "warn  interface  eth0 leads to the others on every host, but one address is on several hosts: docker0 172.17.0.1 on" \
    "ok    ports      12 connections" "warn  allreduce  skipped: fix the failures above first" "4 checks failed"

  # A name that leads to another host, a host without DNS, a firewall that allows only ssh.
  echo "$(address worker-2) $worker-1.$job" >>"$work/pods/worker-0/hosts"
  echo "" >"$work/pods/worker-1/resolv.conf"
  root_in worker-2 nft -f - <<<'table ip f { chain i { type filter hook input priority 0; ct state new tcp dport 10000-65535 drop; }; }'
  preflight network
  [[ $code == 1 ]] || fail "it ended with $code"
  logged network "FAIL  names      $worker-1 cannot resolve $worker-0.$job, $worker-2.$job: Temporary failure in name resolution" \
    "FAIL  ports      $worker-0, $job-$run-launcher cannot send to $worker-2:" ": timed out" \
    "FAIL  names      not the host of that name: $worker-1.$job as seen from $worker-0"

  # A name that does not exist, a worker with other keys, and one without sshd.
  root_in worker-1 cp /dev/null /horovod/generated/keys/authorized_keys
  root_in worker-2 nft -f - <<<'table ip g { chain i { type filter hook input priority 0; tcp dport 2222 reject with tcp reset; }; }'
  inside_pod launcher bash -c 'sed s/worker-0/stranger/ /horovod/generated/hostfile >/tmp/hosts'
  preflight ssh --hostfile /tmp/hosts
  [[ $code == 1 ]] || fail "it ended with $code"
  logged ssh "FAIL  ssh        $job-$run-stranger: Could not resolve hostname $job-$run-stranger.$job" \
    "FAIL  ssh        $worker-1: " "Permission denied (publickey)" "do:  The worker does not accept the launcher's key." \
    "FAIL  ssh        $worker-2: ssh: connect to host $worker-2.$job port 2222: Connection refused"
}

address() { root_in "$1" hostname -I | cut -d ' ' -f 1; }
