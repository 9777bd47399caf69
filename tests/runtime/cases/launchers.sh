#!/bin/bash
# Every launcher with every MPI: the examples, with an all-reduce of four ranks on two workers. Sourced.
# shellcheck disable=SC2016,SC2154 # the pods expand; `here`, `work`, `job` and `run` come from lib.sh
# shellcheck source=tests/launchers/images.sh
. "$here/../launchers/images.sh"

# from_example NAME ARGUMENT...: starts an example, reduced to a size that this machine can run.
from_example() {
  start "examples/$1/job.yaml" -n team-a --set spec.workers.replicas=2 --set spec.workers.slotsPerWorker=2 --set spec.workers.gpus=0 \
    --set 'spec.env.WANTED="4"' "${@:2}"
}

# sums HOW [AFTER]: checks that each of the four ranks has logged HOW, in which %d is the number of the rank.
sums() {
  local rank
  for rank in 0 1 2 3; do
    # shellcheck disable=SC2059 # the variable is a format
    logged launcher "$(printf "$1" "$rank")rank $rank of 4 on $job-$run-worker-$((rank / 2)): sum 6${2:-}"
  done
}
open_mpi_4='[1,%d]<stdout>:' open_mpi_5='[1,%d]<stdout>: ' hydra='[%d] '

# mpi_job EXAMPLE PART VERSION HOW: runs an example with the mpirun of a part of the images.
mpi_job() {
  use_image "$2"
  from_example "$1" --set 'spec.command=[python3, /programs/mpi_sum.py]'
  expect 0 "$3"
  sums "$4"
  released
}
prepare_mpirun_open_mpi_4() { make_images openmpi4; }
prepare_mpirun_open_mpi_5() { make_images openmpi5; }
prepare_mpirun_mpich() { make_images mpich; }
prepare_mpirun_intel_mpi() { make_images intelmpi; }
case_mpirun_open_mpi_4() { mpi_job smallest openmpi4 "openmpi 4.1.4 on 2 hosts for 4 ranks" "$open_mpi_4"; }
case_mpirun_open_mpi_5() { mpi_job smallest openmpi5 "openmpi 5.0.11 on 2 hosts for 4 ranks" "$open_mpi_5"; }
case_mpirun_mpich() { mpi_job mpich mpich "mpich 5.0.2 on 2 hosts for 4 ranks" "$hydra"; }
case_mpirun_intel_mpi() { mpi_job intel-mpi intelmpi "intelmpi 2021.19.0 on 2 hosts for 4 ranks" "$hydra"; }

# brief PART: ranks that exit as soon as they start. Without khorovod's settings, many such runs of Open MPI hang.
brief() {
  use_image "$1"
  from_example shell --set spec.lifecycle.retries=0 --set spec.workers.slotsPerWorker=40 --set \
    'spec.command="for try in {1..8}; do timeout 30 mpirun --map-by ppr:40:node true || exit 9; done"'
  expect 0 "trained"
  released
}
prepare_brief_ranks_open_mpi_4() { make_images openmpi4; }
prepare_brief_ranks_open_mpi_5() { make_images openmpi5; }
case_brief_ranks_open_mpi_4() { brief openmpi4; }
case_brief_ranks_open_mpi_5() { brief openmpi5; }

# deepspeed_job MPI HOW PROGRAM: runs an MPI with the DeepSpeed of the part openmpi4.
deepspeed_job() {
  if [[ $1 == openmpi ]]; then use_image openmpi4; else use_image openmpi4 "$1"; fi
  from_example deepspeed --set "spec.launcher.mpi=$1" --set spec.env.DS_ACCELERATOR=cpu --set "spec.command=[$3]" \
    --set spec.workingDir=/tmp
  expect 0 "trained"
  sums "$2"
  released
}
prepare_deepspeed_open_mpi() { make_images openmpi4; }
prepare_deepspeed_mpich() { make_images openmpi4 mpich; }
prepare_deepspeed_intel_mpi() { make_images openmpi4 intelmpi; }
only_in_test_all deepspeed_open_mpi
case_deepspeed_open_mpi() { deepspeed_job openmpi "$open_mpi_4" "python3, /programs/torch_sum.py"; }
case_deepspeed_mpich() { deepspeed_job mpich "$hydra" "/srv/mpich/bin/python3, /programs/mpi_sum.py"; }
case_deepspeed_intel_mpi() { deepspeed_job intelmpi "$hydra" "/srv/intelmpi/bin/python3, /programs/mpi_sum.py"; }

# Ranks that run until they are ended, with each launcher that starts them from the launcher's pod.
# with_launcher NAME: starts an example whose ranks run saves.py.
with_launcher() {
  local program='spec.command=[python3, /programs/saves.py]' more=()
  case $1 in
  mpich) use_image mpich ;;
  intel-mpi) use_image intelmpi ;;
  horovod-gpu) use_horovod ;;
  deepspeed)
    use_image openmpi4
    more=(--set spec.env.DS_ACCELERATOR=cpu --set spec.workingDir=/tmp)
    ;;
  shell)
    use_image "openmpi${version:-4}"
    program='spec.command="mpirun python3 /programs/saves.py"'
    ;;
  esac
  from_example "$1" --set "$program" --set 'spec.lifecycle.checkpoint={signal: SIGUSR1, gracePeriod: 5s}' --set spec.lifecycle.retries=0 "${more[@]}" "${@:2}"
  for rank in 0 1 2 3; do wait_for launcher "up $rank" 60 || return; done
}

# goes_silent_under NAME: the node of a worker stops answering, without closing connections.
goes_silent_under() {
  local since
  with_launcher "$@" || return
  cut_network worker-1
  since=$SECONDS
  expect 42 "failed after 1 attempt; the last: lost worker $job-$run-worker-1.$job"
  lasted 25 "$since" "noticing and ending"
  released
}

# drained_under NAME: a worker is evicted, and every rank gets the signal for a checkpoint.
drained_under() {
  local rank
  with_launcher "$@" || return
  evict_pod worker-1
  wait_for launcher "ends, because it was evicted or deleted: all ranks get SIGUSR1" 30
  for rank in 0 1 2 3; do wait_for launcher "saved $rank" 20; done
  wait_for launcher "it does not count against lifecycle.retries" 60
  delete_job
  expect 143
  released
}

# A worker is killed, and its connections are closed: Open MPI 5 then ends with 0, which other launchers pass on.
loses_a_worker_under() {
  with_launcher "$@" || return
  kill_pod worker-1
  expect 42 "failed after 1 attempt; the last: lost worker $job-$run-worker-1.$job"
  released
}
prepare_loses_a_worker_under_horovodrun() { make_horovod; }
prepare_loses_a_worker_under_shell() { make_images openmpi5; }
only_in_test_all loses_a_worker_under_horovodrun
case_loses_a_worker_under_horovodrun() { loses_a_worker_under horovod-gpu; }
case_loses_a_worker_under_shell() { version=5 loses_a_worker_under shell; }

only_in_test_all silent_worker_under_intel_mpi silent_worker_under_deepspeed drained_under_intel_mpi drained_under_deepspeed \
  deepspeed_mpich deepspeed_intel_mpi brief_ranks_open_mpi_4

prepare_silent_worker_under_mpich() { make_images mpich; }
prepare_silent_worker_under_intel_mpi() { make_images intelmpi; }
prepare_silent_worker_under_horovodrun() { make_horovod; }
prepare_silent_worker_under_deepspeed() { make_images openmpi4; }
prepare_silent_worker_under_shell() { make_images openmpi4; }
only_in_test_all silent_worker_under_mpich
case_silent_worker_under_mpich() { goes_silent_under mpich; }
case_silent_worker_under_intel_mpi() { goes_silent_under intel-mpi; }
only_in_test_all silent_worker_under_horovodrun
case_silent_worker_under_horovodrun() { goes_silent_under horovod-gpu --set 'spec.launcher.args=[--gloo]'; }
case_silent_worker_under_deepspeed() { goes_silent_under deepspeed; }
only_in_test_all silent_worker_under_shell
case_silent_worker_under_shell() { goes_silent_under shell; }

prepare_drained_under_mpich() { make_images mpich; }
prepare_drained_under_intel_mpi() { make_images intelmpi; }
prepare_drained_under_horovodrun() { make_horovod; }
prepare_drained_under_deepspeed() { make_images openmpi4; }
prepare_drained_under_shell() { make_images openmpi4; }
case_drained_under_mpich() { drained_under mpich; }
case_drained_under_intel_mpi() { drained_under intel-mpi; }
only_in_test_all drained_under_horovodrun
case_drained_under_horovodrun() { drained_under horovod-gpu --set 'spec.launcher.args=[--gloo]'; }
case_drained_under_deepspeed() { drained_under deepspeed; }
case_drained_under_shell() { drained_under shell; }

# Intel MPI reads `host:N` in only one of its two kinds of host files; in the other, N is the number of cores.
prepare_slots_as_written() { make_images intelmpi; }
case_slots_as_written() {
  use_image intelmpi
  spec 'exec python3 /programs/mpi_sum.py' 'workers: {groups: [{name: a, replicas: 1, slotsPerWorker: 1}, {name: b, replicas: 2, slotsPerWorker: 3}]}' \
    'env: {WANTED: "7"}' 'launcher: {kind: mpirun, mpi: intelmpi}'
  start -n team-a "$work/job.yaml"
  expect 0 "on 3 hosts for 7 ranks" "rank 6 of 7 on $job-$run-worker-b-1: sum 21"
}

# An impostor that has everything of a worker except its host key.
impostor() {
  image prepare '[[ $POD != worker-1 ]] || {
    mv usr/sbin/sshd usr/sbin/true-sshd
    cat >usr/sbin/sshd <<"END"
#!/bin/bash
[[ -e /tmp/key ]] || ssh-keygen -q -t ed25519 -N "" -f /tmp/key
sed s,/horovod/generated/keys/host_key,/tmp/key, /etc/khorovod/scripts/sshd_config >/tmp/config
exec /usr/sbin/true-sshd "${@/#\/etc\/khorovod\/scripts\/sshd_config//tmp/config}"
END
    chmod +x usr/sbin/sshd
  }'
}

case_impostor_under_mpirun() {
  impostor
  train 'echo up' 'lifecycle: {retries: 0}'
  expect 42 "Host key verification failed"
  ! grep -q ">:up" "$work/launcher.log" || fail "something ran"
  released
}

# A worker whose image has no Open MPI daemon, or has it outside the PATH of login shells.
case_without_orted() {
  image prepare '[[ $POD != worker-1 ]] || rm usr/bin/orted'
  train 'echo up' 'lifecycle: {retries: 0}'
  expect 42 "orted: command not found"
  released
}

prepare_horovodrun_by_mpi() { make_horovod; }
prepare_horovodrun_by_gloo() { make_horovod; }
# of_framework PROGRAM: prints the path of a program in tests/programs for the framework in HOROVOD.
of_framework() {
  case ${HOROVOD:-} in
  tensorflow | mxnet) printf '/programs/%s_%s.py' "$1" "$HOROVOD" ;;
  *) printf '/programs/%s.py' "$1" ;;
  esac
}
horovod_job() {
  use_horovod
  from_example horovod-gpu --set "spec.command=[python3, $(of_framework horovod_sum)]" "$@"
  expect 0 "trained"
  released
}
only_in_test_all horovodrun_by_mpi
case_horovodrun_by_mpi() {
  horovod_job
  if [[ -n ${HOROVOD:-} ]]; then sums "$open_mpi_4" " by MPI"; else sums "$open_mpi_5" " by MPI"; fi
}
case_horovodrun_by_gloo() {
  horovod_job --set 'spec.launcher.args=[--gloo]'
  sums '[%d]<stdout>:' " by Gloo"
}

prepare_impostor_under_horovodrun() { make_horovod; }
only_in_test_all impostor_under_horovodrun
case_impostor_under_horovodrun() {
  impostor
  use_horovod
  from_example horovod-gpu --set 'spec.command=[python3, /programs/horovod_sum.py]' --set spec.lifecycle.retries=0
  expect 42 "Host key verification failed"
  ! grep -q "rank 0 of" "$work/launcher.log" || fail "something ran"
  released
}

# Elastic: a worker is killed during the training, which continues without it and uses it again when it returns.
prepare_horovodrun_elastic() { make_horovod; }
takes_a_minute horovodrun_elastic
only_in_test_all horovodrun_elastic
case_horovodrun_elastic() {
  use_horovod
  from_example elastic --set "spec.command=[python3, $(of_framework elastic)]" --set 'spec.env.STEPS="100"' \
    --set 'spec.workers.elastic={minReplicas: 1, maxReplicas: 2, cooldown: {min: 2s, max: 10s}}'
  wait_for launcher "from step 0: rank 3 of 4" 120 || return
  sleep 3
  delete_pod worker-1 0
  wait_for launcher "rank 1 of 2 on worker-0" 120 || return
  expect 0 "counted to 100 with 4 at the end" "trained"
  released
}

# The training of the example: a rank is killed, and the next attempt continues from the checkpoint.
prepare_training_goes_on() { make_horovod; }
only_in_test_all training_goes_on
case_training_goes_on() {
  local losses
  use_horovod
  from_example checkpoint --set 'spec.launcher=mpirun'
  wait_for launcher "epoch 4: loss" 120 || return
  inside_pod worker-1 pkill -KILL -f train.py
  expect 0 "attempt 1 of 4 failed" "epoch 19: loss" "trained"
  [[ $(grep -c "epoch 2: loss" "$work/launcher.log") == 1 ]] || fail "it started from the beginning"
  losses=$(sed -n 's/.*epoch [0-9]*: loss \([0-9.]*\) on 4 ranks.*/\1/p' "$work/launcher.log")
  awk 'NR == 1 { first = $1 } END { exit !(first > 10 * $1 && $1 < 0.001) }' <<<"$losses" || fail "the loss did not fall: $losses"
  released
}

# The script of docs/many-nodes.md after its diff for Horovod.
prepare_script_with_horovod() { make_horovod; }
only_in_test_all script_with_horovod
case_script_with_horovod() {
  local script=train diff=horovod
  if [[ ${HOROVOD:-} == tensorflow ]]; then script=train_tf diff=horovod-tensorflow; fi
  mkdir "$work/app" && patch --quiet --output "$work/app/train.py" "docs/many-nodes/$script.py" "docs/many-nodes/$diff.diff"
  chmod -R a+rX "$work/app"
  use_horovod
  image mount "$work/app:/app"
  start docs/many-nodes/horovod.yaml -n team-a --set 'spec.workers={replicas: 2, slotsPerWorker: 2}' \
    --set spec.lifecycle.retries=0 \
    --set 'spec.storage=[{name: checkpoints, mountPath: /checkpoints, emptyDir: {}}]'
  expect 0 "epoch 1/5: loss" "epoch 5/5: loss 0.00" "on 4 ranks" "trained"
  [[ $(grep -c "epoch 5/5: loss" "$work/launcher.log") == 1 ]] || fail "not only rank 0 prints the loss"
  released
}

# The unchanged commands of five documents about Horovod, run in an interactive launcher. Test programs are mounted at the paths
# of their programs, which no longer exist.
by_hand_in() {
  # shellcheck disable=SC2016 # for the pods
  image prepare '
    place() { mkdir -p "$(dirname "$2")"; printf "%s\n" "$1" >"$2"; chmod 755 "$2"; }
    sum="exec(open(\"/programs/horovod_sum.py\").read())"
    place "#!/bin/sh
echo rank \$OMPI_COMM_WORLD_RANK of \$OMPI_COMM_WORLD_SIZE on \$(hostname), \$NCCL_SOCKET_IFNAME" usr/local/bin/your
    place "$sum" horovod/examples/pytorch/pytorch_lightning_mnist.py
    place "$sum" horovod/examples/elastic/pytorch/pytorch_imagenet_resnet50_elastic.py
    place "import mpi4py.MPI as MPI; print(\"three\", MPI.COMM_WORLD.size, MPI.COMM_WORLD.rank)" \
      examples/official-benchmarks/scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py
    place "#!/bin/sh
exec /srv/openmpi4/bin/python \"\$@\"" usr/local/bin/python3.6
    place "import horovod.torch as hvd
hvd.init()
hvd.size()
hvd.rank()
print(\"Hello from:\", hvd.rank(), \"of\", hvd.size())" check.py'
  from_example interactive --set 'spec.env.OMPI_MCA_rmaps_base_oversubscribe="1"' --set 'spec.env.OMPI_MCA_mpi_yield_when_idle="1"'
  wait_for launcher "ready: 2 workers" 60
}

prepare_mpirun_of_old() { make_images openmpi4; }
case_mpirun_of_old() {
  local said
  use_image openmpi4
  by_hand_in || return

  by_hand "mpirun -np 32 --hostfile /horovod/generated/hostfile --mca orte_keep_fqdn_hostnames t --allow-run-as-root -x NCCL_SOCKET_IFNAME=^lo sh -c 'your training python script'"
  [[ $(grep -c "rank .* of 32 on $job-$run-worker-[01], ^lo" <<<"$said") == 32 ]] || fail "the first: $said"

  by_hand "mpiexec -np 3 --hostfile /kubeflow/openmpi/assets/hostfile --allow-run-as-root --display-map --tag-output --timestamp-output -mca btl_tcp_if_exclude lo,docker0 --mca plm_rsh_no_tree_spawn 1 -bind-to none -map-by slot -mca pml ob1 -mca btl ^openib sh -c 'NCCL_MIN_NRINGS=8 NCCL_DEBUG=INFO python3.6 /examples/official-benchmarks/scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py --num_batches=100 --model vgg16 --batch_size 64 --variable_update horovod --horovod_device gpu --use_fp16'"
  [[ $(grep -c ">:three 3 [012]" <<<"$said") == 3 ]] || fail "the second: $said"
}

prepare_horovodrun_of_old() { make_horovod; }
only_in_test_all horovodrun_of_old
case_horovodrun_of_old() {
  local said
  use_horovod
  by_hand_in || return

  by_hand "horovodrun -n 4 --hostfile /horovod/generated/hostfile --mpi-args \"--mca orte_keep_fqdn_hostnames t --allow-run-as-root --display-map --tag-output --timestamp-output\" bash -c 'python /horovod/examples/pytorch/pytorch_lightning_mnist.py'"
  [[ $(grep -c "rank [0-3] of 4 on .*: sum 6 by MPI" <<<"$said") == 4 ]] || fail "the third: $said"

  by_hand "/horovod/generated/discoverHosts.sh"
  [[ $said == "$job-$run-worker-0.$job:2"$'\n'"$job-$run-worker-1.$job:2" ]] || fail "its discovery: $said"

  by_hand "horovodrun -np 4 --min-np 4 --max-np 4 --host-discovery-script /horovod/generated/discoverHosts.sh --mpi-args \"--mca orte_keep_fqdn_hostnames t --allow-run-as-root --display-map --tag-output --timestamp-output\" bash -c 'python /horovod/examples/elastic/pytorch/pytorch_imagenet_resnet50_elastic.py --train-dir=/tmp/tiny-imagenet-200/train --val-dir=/tmp/tiny-imagenet-200/val --batch-size=128 --val-batch-size=128'"
  [[ $(grep -c "rank [0-3] of 4 on .*: sum 6 by Gloo" <<<"$said") == 4 ]] || fail "the third, elastic: $said"

  by_hand "mpirun -np 4 python /check.py"
  [[ $(grep -c "Hello from: [0-3] of 4" <<<"$said") == 4 ]] || fail "the fourth: $said"

  # Without hosts, it would start all ranks in this pod.
  by_hand "horovodrun -np 4 python /programs/horovod_sum.py"
  [[ $(grep -c "rank [0-3] of 4 on $job-$run-worker-[01]: sum 6" <<<"$said") == 4 ]] || fail "without hosts: $said"
}

# by_hand COMMAND: runs a command like `kubectl exec -it … -- bash`. Sets `said` to the output.
by_hand() { said=$(inside_pod launcher timeout 100 bash -ic "$1" 2>&1 </dev/null | tee -a "$work/by-hand.log" | grep -v "no job control\|cannot set terminal"); }
