#!/bin/bash
# Trainings that hang: the launcher notices it, collects what each rank is doing, and starts them again. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `here`, `work`, `job` and `run` come from lib.sh

# stalling ENV LINE...: starts stall.py with four ranks on two workers.
stalling() {
  image prepare "install -m 0644 $here/stall.py usr/local/lib/stall.py"
  train 'exec python3 /usr/local/lib/stall.py' "env: {OMPI_MCA_mpi_yield_when_idle: \"1\", $1}" "${@:2}"
}
shared='storage: [{name: out, mountPath: /out, claim: {size: 1Gi, accessModes: [ReadWriteMany]}}]'

# at FUNCTION TEXT: prints the place of a line of stall.py.
at() { printf 'in %s (stall.py:%s)' "$1" "$(grep -n -F -m 1 -- "$2" "$here/stall.py" | cut -d : -f 1)"; }

# never_suspected [POD]: checks that the launcher never took the training for one that hangs.
never_suspected() { ! grep -q "asking all hosts" "$work/${1:-launcher}.log" || fail "it took the training for one that hangs"; }

# A rank waits in a function, and the others in a collective operation.
takes_a_minute stall_names_the_rank
case_stall_names_the_rank() {
  local reading adding stored
  reading=$(at read_batch time.sleep) adding=$(at add_up mpi.MPI_Allreduce)
  stalling 'HANG: "2", SLOW: "2", PRINT: "1"' 'lifecycle: {stall: {timeout: 15s, evidence: /out/stalls}}' "$shared"
  expect 0 " s: asking all hosts what their ranks are doing" "  3 ranks $adding" \
    "  rank 2 $reading on $job-$run-worker-1" 'stall.py", line' "$job-$run-worker-1: rank 2 is at step 1, and the median at 3" "the stacks of all ranks are in /out/stalls/$job-$run-" \
    "attempt 1 of 4 failed: no output for " " s: 3 ranks $adding, rank 2 $reading on $job-$run-worker-1" "step 20" "trained"
  stored=$(cat "$work"/claims/*/stalls/"$job-$run"-*/"$job-$run"-worker-1.txt)
  [[ $stored == *"rank 2 $reading; pid "*'", line '*" in read_batch"*"rank 3 $adding; pid "* ]] || fail "stored: $stored"
  released
}

# A rank is stopped by a signal, in the pod that also launches.
takes_a_minute stall_of_a_stopped_rank
only_in_test_all stall_of_a_stopped_rank
case_stall_of_a_stopped_rank() {
  stalling 'PRINT: "1", STEPS: "60"' 'lifecycle: {stall: {timeout: 15s}}' 'workers: {replicas: 2, slotsPerWorker: 2}' 'launcher: {kind: mpirun, runsIn: firstWorker}'
  wait_for 0 ">:step 3" || return
  inside_pod 0 pkill -STOP -o -x -f 'python3 /usr/local/lib/stall.py'
  expect 0 "  rank 0 stopped by a signal (state T) on $job-$run-0" "  3 ranks $(at add_up mpi.MPI_Allreduce)" "attempt 1 of 4 failed: no output for " \
    "step 60" "trained"
}

# The ranks report their steps. One of them is slower each time.
takes_a_minute stall_names_slow_ranks
case_stall_names_slow_ranks() {
  stalling 'SLOW: "3", PRINT: "1", STEPS: "150"' 'lifecycle: {stall: {timeout: 15s}}'
  expect 0 "rank 3 on $job-$run-worker-1 is slow: a step takes 0.75 s, and 0.41 s at the median" "trained"
  [[ $(grep -c "is slow" "$work/launcher.log") -lt 4 && $(grep "is slow" "$work/launcher.log") != *"rank [012]"* ]] || fail "others are slow"
  never_suspected
  released
}

# Only a report: the training continues after it, and a second stall is reported again. The program that prints native stacks stops the
# process and is too slow, as gdb on a busy node.
takes_a_minute stall_report
only_in_test_all stall_report
case_stall_report() {
  image prepare 'cat >usr/local/bin/eu-stack <<"END"
#!/usr/bin/python3
import ctypes, sys, time

PTRACE_ATTACH = 16
ctypes.CDLL(None).ptrace(PTRACE_ATTACH, int(sys.argv[2]), None, None)
time.sleep(60)
END
    chmod +x usr/local/bin/eu-stack'
  stalling 'HANG: "1", HANG_SECONDS: "40", PRINT: "1", STEPS: "40"' 'lifecycle: {stall: {timeout: 15s, action: report}}'
  expect 0 "  rank 1 $(at read_batch time.sleep) on $job-$run-worker-0" "step 40" "trained"
  [[ $(grep -c "asking all hosts" "$work/launcher.log") == 1 ]] || fail "it did not report once"
  ! grep -q "attempt 1 of" "$work/launcher.log" || fail "it ended the attempt"
  released
}

# Only changes of the file count if the spec names one.
takes_a_minute stall_by_file
only_in_test_all stall_by_file
case_stall_by_file() {
  stalling 'PRINT: "1", STEPS: "1000"' 'lifecycle: {stall: {timeout: 15s, file: /tmp/progress}, retries: 0}'
  expect 42 "no change of /tmp/progress for " "4 ranks" ">:step 9"
  [[ $(<"$work/pods/launcher/termination") == "failed after 1 attempt; the last: no change of /tmp/progress for "*ranks* ]] || fail "another termination message"
  released
}

# A file changes on a host, and there is no output.
takes_a_minute stall_not_with_a_file
only_in_test_all stall_not_with_a_file
case_stall_not_with_a_file() {
  stalling 'TICK: /tmp/progress, STEPS: "120"' 'lifecycle: {stall: {timeout: 20s, file: /tmp/progress}}'
  expect 0 "up 3" "trained"
  never_suspected
  released
}

# Output does not count if the spec names a metric, which one process per host serves until step 25.
takes_a_minute stall_by_metric
only_in_test_all stall_by_metric
case_stall_by_metric() {
  image prepare 'cat >usr/local/lib/metrics.py <<"END"
import http.server, threading, time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/metrics" else 404)
        self.end_headers()
        text = f"# HELP steps_total Steps.\nsteps_total_more {time.time()}\nsteps_total{{rank=\"0\"}} {min(step, 25)}.0\n"
        self.wfile.write(text.encode())


threading.Thread(target=http.server.HTTPServer(("", 9400), Handler).serve_forever, daemon=True).start()
for step in range(1000):
    print("step", step, flush=True)
    time.sleep(1)
END'
  train 'exec python3 /usr/local/lib/metrics.py' 'lifecycle: {stall: {timeout: 15s, metric: steps_total}, retries: 0}' \
    'observability: {metrics: {port: 9400}}' 'workers: {replicas: 2}'
  expect 42 "step 26" "no change of steps_total for " "2 ranks in <module> (metrics.py:15)"
  [[ $(sed '/asking all hosts/,$d' "$work/launcher.log") == *"step 30"* ]] || fail "it asked too early"
  released
}

# A steady training. The sitecustomize of the image runs too.
takes_a_minute stall_never
case_stall_never() {
  image prepare 'mkdir -p usr/local/lib/own && echo "import sys; sys.of_the_image = True" >usr/local/lib/own/sitecustomize.py'
  train 'python3 -c "import sys, sitecustomize; print(\"own\", sys.of_the_image, sitecustomize.__file__)"
    for step in {1..45}; do echo step $step; sleep 1; done' 'lifecycle: {stall: {timeout: 20s}}' 'env: {PYTHONPATH: /usr/local/lib/own}'
  expect 0 ">:own True /usr/local/lib/own/sitecustomize.py" ">:step 45" "trained"
  never_suspected
  released
}

# A program of Python that prints a line each second, which is less than its buffer until the end of the program.
# shellcheck disable=SC2034 # for the cases
lines='import os, sys, time
rank = os.environ.get("PMI_RANK") or os.environ.get("JAX_PROCESS_ID") or os.environ["RANK"]
for step in range(1, 31):
    print("step", step + int(rank), "of", 30 + int(rank))
    time.sleep(1)'

# seen_at_once POD: checks the log and the statuses of such a training.
seen_at_once() {
  expect 0 "step 30 of 30" "step 31 of 31" trained
  never_suspected "$1"
  statuses 'every[-1].items() >= {"step": 30, "steps": 30}.items()'
}

takes_a_minute lines_of_python
case_lines_of_python() {
  image prepare "cat >usr/local/lib/lines.py <<'END'" "$lines" END
  train 'exec python3 /usr/local/lib/lines.py' 'launcher: jax' 'lifecycle: {stall: {timeout: 15s}, retries: 0}' 'observability: {progress: auto}'
  seen_at_once 0
}

prepare_lines_of_python_under_mpich() { make_images mpich; }
takes_a_minute lines_of_python_under_mpich
case_lines_of_python_under_mpich() {
  use_image mpich
  image prepare "cat >usr/local/lib/lines.py <<'END'" "$lines" END
  from_example mpich --set spec.lifecycle.retries=0 --set 'spec.lifecycle.stall={timeout: 15s}' --set 'spec.observability.progress=auto' \
    --set 'spec.command=[python3, /usr/local/lib/lines.py]'
  seen_at_once launcher
  released
}

# All output arrives, and before the end of the run is logged. A process that the training leaves behind does not delay it.
case_stall_keeps_the_output() {
  local since=$SECONDS
  train 'setsid sleep 100 & seq 100000; seq 100000 >&2; echo the last line' 'launcher: shell' 'lifecycle: {stall: {timeout: 1h}}'
  expect 0 "the last line" "trained"
  [[ $(grep -c '^[0-9]*$' "$work/launcher.log") == 200000 ]] || fail "output is missing"
  [[ $(tail -n 2 "$work/launcher.log" | head -n 1) == *"khorovod: trained" ]] || fail "output after the end"
  lasted 40 "$since" "the run"
  released
}

# Evidence besides Python: GPUs, Xid, NCCL's own report, the flight recorder, ranks without Python, a process that waits in the
# kernel, and the file that it waits for: the first argument of its system call. All of them are simulated.
takes_a_minute stall_evidence
case_stall_evidence() {
  image prepare 'rm -f usr/bin/gdb; cat >usr/local/bin/nvidia-smi <<"END"
#!/bin/bash
echo "0, 0, 0x0000000000000000, 100, 70000, 60"
echo "1, 3, 0x0000000000000048, 100, 70000, 90"
END
    chmod +x usr/local/bin/nvidia-smi
    printf "#!/bin/bash\necho \"[9.1] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\"\necho \"[9.2] another line\"\n" >usr/local/bin/dmesg
    chmod +x usr/local/bin/dmesg'
  image prepare 'cat >usr/local/lib/ras.py <<"END"
import socket
server = socket.create_server(("127.0.0.1", 28028))
while True:
    client = server.accept()[0]
    request = client.recv(100).decode().strip()
    client.sendall(f"answer to {request}\n".encode())
    client.close()
END'
  train 'case $OMPI_COMM_WORLD_RANK in
    0) mkfifo "$TORCH_NCCL_DEBUG_INFO_PIPE_FILE"0.pipe
      (read -r _ <"$TORCH_NCCL_DEBUG_INFO_PIPE_FILE"0.pipe; echo recorded >"$TORCH_NCCL_DEBUG_INFO_TEMP_FILE"0) & python3 /usr/local/lib/ras.py ;;
    1) python3 -c "import ctypes, os, time
os.dup2(os.open(\"/out/shard\", os.O_CREAT | os.O_RDWR), 9)
ctypes.CDLL(None).syscall(58, 9)
time.sleep(300)" ;;
    2) echo "import time; time.sleep(300)" >"/tmp/a[\$(touch pwned)].py"; exec python3 "/tmp/a[\$(touch pwned)].py" ;;
    *) exec sleep 300 ;;
    esac' 'lifecycle: {stall: {timeout: 15s, evidence: /out/stalls}, retries: 0}' "$shared" \
    'env: {TORCH_NCCL_DEBUG_INFO_TEMP_FILE: /tmp/trace_, TORCH_NCCL_DEBUG_INFO_PIPE_FILE: /tmp/pipe_}'
  expect 42 "GPU 1 has 3 uncorrected ECC errors" "GPU 1 is slowed down (throttle reasons 0x0000000000000048)" "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus." "  rank 3 waiting in " \
    '  rank 2 in <module> (a[$(touch pwned)].py:1) on ' \
    "rank 1 waiting in " " for /out/shard (state D) on $job-$run-worker-0" "  answer to verbose status"
  [[ $(cat "$work"/claims/*/stalls/*/trace_0) == recorded ]] || fail "no flight recorder"
  released
}

# stalls_after TEXT TEXT: once the two pods of torchrun have printed these texts, a stall takes 20 seconds. Before, and in the next attempt,
# it takes 150, because torchrun and the ranks load PyTorch, which takes long on a busy machine.
stalls_after() {
  allow 600
  until_started 0 "$1" && until_started 1 "$2"
  set_current stall-timeout 20
  wait_for 0 "attempt 1 of 3 failed: no output for " 120
  set_current stall-timeout 150
}

# Under torchrun, index 0 asks the other pods, and all of them end their ranks, which the agents start again.
takes_a_minute stall_under_torchrun
only_in_test_all stall_under_torchrun
case_stall_under_torchrun() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  image prepare 'cat >usr/local/lib/hang.py <<"END"
import os, sys, time
import torch
import torch.distributed as ranks


def read_batch():
    if rank == 2 and not os.path.exists("/out/hung"):
        open("/out/hung", "w").close()
        time.sleep(1000)


ranks.init_process_group("gloo")
rank = ranks.get_rank()
print("up", rank, file=sys.stderr, flush=True)
for step in range(5):
    read_batch()
    ranks.all_reduce(torch.tensor([rank]))
    print("step", step, flush=True)
    time.sleep(0.3)
END'
  train 'exec python3 /usr/local/lib/hang.py' 'launcher: torchrun' "$shared" \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}' 'lifecycle: {stall: {timeout: 150s}, retries: 2}'
  stalls_after "up 1" "up 3"
  expect 0 "  3 ranks in all_reduce (hang.py:17)" "  rank 2 in read_batch (hang.py:9) on $job-$run-1" "step 4" "trained"
  # The attempt after the stall must not end because the other agent, which notices the stall a little later, joins again.
  ! grep -q "attempt 2 of 3 failed" "$work/0.log" || fail "a second attempt failed"
}

# As above, but no rank waits in a collective whose end it would notice, and the ranks of index 1 end slowly.
takes_a_minute stall_that_no_rank_notices
only_in_test_all stall_that_no_rank_notices
case_stall_that_no_rank_notices() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  train 'exec >&2; if [[ -e /out/hung-$RANK ]]; then echo again $RANK; sleep 20; exit; fi
    touch /out/hung-$RANK; trap "sleep 4; exit 1" TERM; echo up $RANK; sleep 1000 & wait' 'launcher: torchrun' "$shared" \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}' 'lifecycle: {stall: {timeout: 150s}, retries: 2}'
  stalls_after "up 1" "up 3"
  until_started 0 "again 0"
  expect 0 "no output for" "again 0" trained
  ! grep -q "attempt 2 of 3 failed" "$work/0.log" || fail "a second attempt failed"
  logged 1 "again 2"
}

only_in_test_all stall_under_mpich stall_under_horovodrun lines_of_python_under_mpich

# hang EXAMPLE LINE...: runs an example with a program in which rank 1 waits in read_batch.
hang() {
  image prepare 'cat >usr/local/lib/hang.py <<"END"
import sys, time

if sys.argv[1:] == ["horovod"]:
    import horovod.torch as hvd
    import torch
    hvd.init()
    rank, add_up = hvd.rank(), lambda: hvd.allreduce(torch.tensor([1]))
else:
    from mpi4py import MPI
    rank, add_up = MPI.COMM_WORLD.rank, lambda: MPI.COMM_WORLD.allreduce(1)


def read_batch():
    if rank == 1:
        time.sleep(1000)


print("up", flush=True)
read_batch()
add_up()
END'
  from_example "$1" --set spec.lifecycle.retries=0 --set 'spec.lifecycle.stall={timeout: 20s}' "${@:2}"
  expect 42 "rank 1 in read_batch (hang.py:15) on $job-$run-worker-" "3 ranks in "
}

prepare_stall_under_mpich() { make_images mpich; }
takes_a_minute stall_under_mpich
case_stall_under_mpich() {
  use_image mpich
  hang mpich --set 'spec.command=[python3, /usr/local/lib/hang.py]'
  logged launcher "  3 ranks in <lambda> (hang.py:10)"
  released
}

# Horovod's warning about the stall, which it prints every few seconds under MPI, would count as output.
prepare_stall_under_horovodrun() { make_horovod; }
takes_a_minute stall_under_horovodrun
case_stall_under_horovodrun() {
  use_horovod
  hang horovod-gpu --set 'spec.lifecycle.stall={timeout: 60s}' --set 'spec.command=[python3, /usr/local/lib/hang.py, horovod]' --set 'spec.env.HOROVOD_STALL_CHECK_TIME_SECONDS="5"'
  logged launcher "  3 ranks in synchronize (hang.py:7)"
  released
}

prepare_stall_of_an_elastic_job() { make_horovod; }
takes_a_minute stall_of_an_elastic_job
only_in_test_all stall_of_an_elastic_job
case_stall_of_an_elastic_job() {
  use_horovod
  hang elastic --set 'spec.command=[python3, /usr/local/lib/hang.py, horovod]' --set 'spec.workers.elastic={minReplicas: 1, maxReplicas: 3, cooldown: {min: 2s, max: 10s}}'
  ! grep -q "does not answer" "$work/launcher.log" || fail "it asked hosts that do not exist"
  released
}
