#!/bin/bash
# Many workers. Sourced.
# shellcheck disable=SC2154 # `work`, `job` and `run` come from lib.sh

# serve INDEX: starts an sshd in place of a worker, at its own address, that answers like the worker.
serve() {
  local host=$job-$run-worker-$1 address=10.88.$((128 + $1 / 250)).$((1 + $1 % 250))
  /usr/sbin/sshd -D -f "$work/sshd_config" -o "ListenAddress=$address:2222" -o "VersionAddendum=khorovod $host openmpi-4.1.4" &
}

# Waits for a line in the launcher's log and prints its time in milliseconds.
when() { tail -n +1 -s 0.01 -F "$work/launcher.log" 2>/dev/null | first_line "$1"; }

# busy: returns whether this machine has other load, so that times cannot be checked.
busy() {
  local load
  read -r load _ </proc/loadavg
  ((${load%.*} > 3 * $(nproc))) && echo "a load of $load: times are not judged"
}

# held: the peak memory of the launcher's processes, from the start of their namespaces until there are enough samples.
held() {
  local now most=0
  until [[ -e $work/pods/launcher/pid && ! /proc/$(<"$work/pods/launcher/pid")/root -ef / ]]; do sleep 0.02; done
  until [[ -e $work/enough ]]; do
    now=$(memory launcher)
    ((${now:-0} <= most)) || most=$now
  done
  echo "$most" >"$work/held"
}

case_waits_for_256() {
  local index from to began most now user system sampler
  cluster
  spec true 'workers: {replicas: 256, slotsPerWorker: 8}' 'lifecycle: {keepWorkers: true, retries: 0}'
  "$KHOROVOD" render -q --ssh-seed examples/ssh.seed -n team-a "$work/job.yaml" >"$work/all.yaml"
  # Includes everything except the workers.
  awk 'BEGIN { RS = "---\n"; ORS = "" } !/kind: StatefulSet/ { print "---\n" $0 }' "$work/all.yaml" >"$work/objects.yaml"
  job=mnist run=$(sed -n 's/^  run: //p' "$work/objects.yaml")
  ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
  printf '%s\n' "HostKey $work/host_key" 'PidFile none' 'UsePAM no' 'MaxStartups 256' 'LogLevel FATAL' >"$work/sshd_config"
  mkdir -p /run/sshd
  for ((index = 0; index < 256; index++)); do
    echo "$job-$run-worker-$index 10.88.$((128 + index / 250)).$((1 + index % 250))" >>"$work/names"
    echo "addr add 10.88.$((128 + index / 250)).$((1 + index % 250))/16 dev pods"
  done | ip -batch -
  for ((index = 0; index < 255; index++)); do serve "$index"; done
  until [[ $(ss -Hltn 'sport = 2222' | wc -l) == 255 ]]; do sleep 0.2; done

  : >"$work/launcher.log"
  kube POST /apply "@$work/objects.yaml" >/dev/null || fail "not applied"
  began=$((${EPOCHREALTIME/./} / 1000))
  held 2>/dev/null &
  sampler=$!
  to=$(when "255 of 256 workers answer")
  echo "255 of 256 after $((to - began)) ms"
  busy || ((to - began < 3000)) || fail "probing took $((to - began)) ms"
  # Waits for several rounds, to measure the largest.
  sleep 3
  touch "$work/enough"
  wait "$sampler"
  echo "the launcher held $(($(<"$work/held") / 1024)) MiB while it waited"
  (($(<"$work/held") < 100 * 1024)) || fail "the launcher held $(($(<"$work/held") / 1024)) MiB while it waited"
  # The CPU time of one more round of checks besides the launcher's own; does not depend on the load of the machine.
  # shellcheck disable=SC2016 # for the pod
  inside_pod launcher bash -c '
    . /etc/khorovod/scripts/job.sh; . /etc/khorovod/scripts/hosts.sh; scripts=/etc/khorovod/scripts TIMEFORMAT="%U %S"
    list_hosts; time (printf "%s\n" "${hosts[@]}" | probe_hosts >/dev/null)' 2>"$work/round"
  read -r user system <"$work/round"
  echo "a round takes $user s of the processor and $system s of the system"
  # Then the last worker starts.
  serve 255
  until [[ $(ss -Hltn 'sport = 2222' | wc -l) == 256 ]]; do sleep 0.02; done
  from=$((${EPOCHREALTIME/./} / 1000))
  to=$(when "256 of 256 workers answer")
  echo "the last one is seen after $((to - from)) ms"
  busy || ((to - from < 1000)) || fail "the last one was seen after $((to - from)) ms"
  # The launcher then starts ranks, which fails because these workers do not exist.
  wait_for launcher "openmpi 4.1.4 on 256 hosts for 2048 ranks"
  # Each ssh client that MPI starts takes a little more than a mebibyte.
  most=0
  for ((index = 0; index < 20; index++)); do
    now=$(memory launcher)
    ((now <= most)) || most=$now
    sleep 0.2
  done
  echo "the launcher held $((most / 1024)) MiB at most"
  ((most < (100 + 256 * 13 / 10) * 1024)) || fail "the launcher held $((most / 1024)) MiB"
  delete_job
  expect 143
}

# While ranks run, one process asks many workers whether they still give the answer that they gave last.
case_finds_changed_workers() {
  local last="openmpi-4.1.6 10.0.0.7 node-3 0a1b2c3d-1700000000" greetings index
  greetings=(
    "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 khorovod w-0 $last"
    "SSH-2.0-OpenSSH_8.2 khorovod - $last" # on the host network
    "SSH-2.0-OpenSSH_9.2p1 khorovod w-2 $last leaving"
    "SSH-2.0-OpenSSH_9.2p1 khorovod w-3 ${last%0}9" # started again
    "SSH-2.0-OpenSSH_9.2p1 khorovod w-3 $last"      # another worker
    "SSH-2.0-OpenSSH_9.2p1 of another program, which has a longer name than other versions have" ""
  )
  ip link set lo up
  # As sshd does, it keeps the connections open.
  python3 - "${greetings[@]}" <<'E2' &
import socket, sys, threading
def serve(server, text):
    kept = []
    while True:
        kept.append(server.accept()[0])
        kept[-1].sendall(text.encode() + b"\r\n")
for index, text in enumerate(sys.argv[1:]):
    threading.Thread(target=serve, args=(socket.create_server((f"127.9.0.{index + 1}", 2222)), text)).start()
E2
  until [[ $(ss -Hltn 'sport = 2222' | wc -l) == "${#greetings[@]}" ]]; do sleep 0.1; done
  # are_same INDEX...: asks these workers.
  are_same() {
    local index words=()
    for index; do words+=("127.9.0.$((index + 1))" "w-$index" "$last"); done
    timeout 2 /bin/bash src/compiler/pods/scripts/probe.sh 2222 same "${words[@]}"
  }
  { are_same 0 && are_same 1 && are_same 0 1 0 1 1 0; } || fail "an unchanged worker counts as changed"
  for index in 2 3 4 5 6 7; do
    ! are_same 0 "$index" 1 || fail "worker $index counts as unchanged"
  done
}

# The key exchange with the workers: with a post-quantum algorithm if the version of OpenSSH has one that is fast.
case_exchanges_keys_fast() {
  local algorithms first=curve25519-sha256
  algorithms=$(ssh -G -F src/compiler/pods/scripts/ssh_config host | sed -n 's/^kexalgorithms //p')
  ! ssh -Q kex | grep -qx mlkem768x25519-sha256 || first=mlkem768x25519-sha256
  [[ ,$algorithms, == ",$first,"* && $algorithms != *sntrup* ]] || fail "ssh prefers $algorithms, not $first"
}
