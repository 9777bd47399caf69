#!/bin/bash
# Imports the published example of each supported system and runs it to its end. If its program no longer exists, a test program
# is mounted at the same path. Sourced.
# shellcheck disable=SC2016,SC2034,SC2154 # the pods expand; `work`, `here`, `job` and `run` come from lib.sh, `place` and `secret` from storage.sh

# import_job SYSTEM ARGUMENT...: writes job.yaml with `khorovod import`.
import_job() {
  "$KHOROVOD" import "$@" >"$work/job.yaml" 2>"$work/report.txt" || fail "not imported: $(<"$work/report.txt")"
  # All pods here have the same image.
  sed -i 's/^    pullPolicy: .*//' "$work/job.yaml"
}

# program PATH TEXT: adds a program to the image of all pods.
program() {
  image prepare "mkdir -p \"\$(dirname $1)\"; cat >$1 <<'PROGRAM'
$2
PROGRAM
chmod 755 $1"
}

# stable/horovod: four workers with eight ranks each, and mpirun as a command in the master.
prepare_import_stable_horovod() { make_images openmpi4; }
case_import_stable_horovod() {
  use_image openmpi4
  program usr/local/bin/your '#!/bin/sh
echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname), $NCCL_SOCKET_IFNAME, $@'
  cat >"$work/values.yaml" <<'EOV'
ssh: {useSecrets: true, port: 32222}
resources: {limits: {nvidia.com/gpu: 8}}
worker: {number: 4, image: {repository: acme/sniper, tag: "1"}}
master: {image: {repository: acme/sniper, tag: "1"}}
EOV
  import_job stable-horovod "$work/values.yaml" --name sniper --command "mpirun -np 32 --hostfile /horovod/generated/hostfile --mca orte_keep_fqdn_hostnames t --allow-run-as-root -x NCCL_SOCKET_IFNAME=^lo sh -c 'your training python script'"
  # A small machine has too few cores to bind 32 shells.
  start -n team-a "$work/job.yaml" --set spec.workers.gpus=0 --set spec.workers.slotsPerWorker=8
  expect 0 "4 hosts for 32 ranks" "trained"
  [[ $(grep -c "rank .* of 32 on $job-$run-worker-[0-3], ^lo, training python script" "$work/launcher.log") == 32 ]] ||
    fail "not 32 ranks"
  released
}

# Kubeflow's openmpi: the commands of the tutorial for EKS, with a bucket for input and one for output.
prepare_import_kubeflow_openmpi() { make_images openmpi4; versitygw >/dev/null; }
case_import_kubeflow_openmpi() {
  local key secret region
  use_image openmpi4
  serve_buckets AKIDTEST not/to+be+seen us-east-1 || return
  put acme-data
  put acme-data/train/set $'synthetic\n'
  put acme-results
  bucket_keys
  program usr/local/bin/python3.6 '#!/bin/sh
exec /srv/openmpi4/bin/python "$@"'
  program examples/official-benchmarks/scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py 'import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
print("rank", world.rank, "of", world.size, "sum", total, os.environ["NCCL_DEBUG"], open("in/set").read(), sys.argv[-1], flush=True)
if world.rank == 0:
    open("out/model", "w").write(f"sum {total}")'
  cp tests/import/kubeflow-openmpi/eks.ks "$work/eks.ks"
  cat >>"$work/eks.ks" <<'EOL'
ks param set ${COMPONENT} s3Secret s3-keys
ks param set ${COMPONENT} downloadDataFrom s3://acme-data/train
ks param set ${COMPONENT} downloadDataTo /kubeflow/openmpi/data/in
ks param set ${COMPONENT} uploadDataFrom /kubeflow/openmpi/data/out
ks param set ${COMPONENT} uploadDataTo s3://acme-results
EOL
  import_job kubeflow-openmpi "$work/eks.ks" -n team-a
  start "$work/job.yaml" --set spec.workers.gpus=0 --set "spec.storage[0].s3.endpoint=$place" --set "spec.storage[1].s3.endpoint=$place"
  expect 0 "3 hosts for 3 ranks" "sum 3 INFO synthetic" "--use_fp16" "trained"
  [[ $(<"$work/buckets/acme-results/model") == "sum 3" ]] || fail "the results are not in the bucket"
  ! grep -qF "$secret" "$work"/*.{log,yaml} || fail "the key was shown"
  released
}

# The elastic chart: the command of its tutorial; workers leave and return during the training.
prepare_import_elastic_horovod() { make_horovod; }
takes_a_minute import_elastic_horovod
only_in_test_all import_elastic_horovod
case_import_elastic_horovod() {
  use_horovod
  program horovod/examples/elastic/pytorch/pytorch_imagenet_resnet50_elastic.py 'exec(open("/programs/elastic.py").read())'
  import_job elastic-horovod tests/import/elastic-horovod/tutorial.yaml --name ddp --command "horovodrun -np 4 --min-np 2 --max-np 4 --host-discovery-script /horovod/generated/discoverHosts.sh --mpi-args \"--mca orte_keep_fqdn_hostnames t --allow-run-as-root --display-map --tag-output --timestamp-output\" bash -c 'python /horovod/examples/elastic/pytorch/pytorch_imagenet_resnet50_elastic.py --train-dir=/tmp/tiny-imagenet-200/train --val-dir=/tmp/tiny-imagenet-200/val --batch-size=128 --val-batch-size=128'"
  start -n team-a "$work/job.yaml" --set spec.workers.gpus=0 --set 'spec.env.STEPS="100"' --set 'spec.workers.elastic.cooldown={min: 2s, max: 10s}'
  wait_for launcher "from step 0: rank 3 of 4" 120 || return
  sleep 2
  scale 3
  wait_for launcher "rank 2 of 3" 120 || return
  scale 4
  expect 0 "counted to 100 with 4 at the end" "trained"
  released
}

# FfDL: its manifest with a folder of code, a bucket for data and one for results.
prepare_import_ffdl() { make_horovod; versitygw >/dev/null; }
only_in_test_all import_ffdl
case_import_ffdl() {
  local key secret region result
  use_horovod
  serve_buckets test sekret us-east-1 || return
  put tf-training-data
  put tf-training-data/train-images $'images\n'
  put tf-trained-model
  mkdir "$work/code"
  # sed inserts the address of the buckets, as in the tutorial. This server does not allow `_` in their names.
  sed "s,http://s3.default.svc.cluster.local,$place,; /container:/s/_/-/g" tests/import/ffdl/tf-mnist.yml >"$work/code/manifest_tfmnist.yml"
  cat >"$work/code/tensorflow_mnist.py" <<'EOP'
import os
import torch
import horovod.torch as hvd

hvd.init()
total = int(hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum))
print("rank", hvd.rank(), "of", os.environ["NUM_LEARNERS"], "sum", total, open(os.environ["DATA_DIR"] + "/train-images").read())
if hvd.rank() == 0:
    with open(os.environ["RESULT_DIR"] + "/model", "w") as model:
        model.write(f"sum {total}")
EOP
  import_job ffdl "$work/code/manifest_tfmnist.yml" "$work/code" --name mnist -n team-a
  ! sed -n '1,/^---/p' "$work/job.yaml" | grep -q "$secret" || fail "the job contains the password"
  start "$work/job.yaml" --set 'spec.env.OMPI_MCA_rmaps_base_oversubscribe="1"'
  expect 0 "2 hosts for 2 ranks" "rank 1 of 2 sum 1 images" "trained"
  result=$(cat "$work/buckets/tf-trained-model/mnist/model") || fail "no results in the bucket"
  [[ $result == "sum 1" ]] || fail "the results are not what was written: $result"
  released
}

# Slurm: a plain srun whose ranks connect to MASTER_ADDR. Pods have no srun.
only_in_test_all import_slurm_torch
case_import_slurm_torch() {
  local rank
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  image prepare "install -m 0644 $PWD/tests/programs/torch_slurm.py usr/local/lib/torch_slurm.py"
  printf '%s\n' '#!/bin/bash' '#SBATCH -N 2 --ntasks-per-node=2 -J ddp --time=1:00:00' \
    'export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)' 'export PET_TEE=1 PET_REDIRECTS=7:1' \
    'srun --gpu-bind=closest python3 /usr/local/lib/torch_slurm.py tcp://$MASTER_ADDR:29611' >"$work/old.sh"
  import_job slurm "$work/old.sh" -n team-a
  start "$work/job.yaml"
  expect 0 "trained"
  for rank in 0 1 2 3; do
    logged $((rank / 2)) "rank $rank of 4 on $job-$run-$((rank / 2)), $((rank % 2)) of node $((rank / 2)): sum 6"
  done
}
