#!/bin/bash
# Ranks of JAX and TensorFlow, without ssh and without a launcher program. Sourced.
# shellcheck disable=SC2154 # `here`, `work`, `job`, `run` and `tools_cache` come from lib.sh and tools.sh

# framework NAME: prints the folder of a Python environment with the packages of requirements-NAME.txt.
framework() {
  local packages=$here/requirements-$1.txt
  printf '%s' "$tools_cache/$1-$({ cat "$packages"; /usr/bin/python3 -VV; } | sha256sum | cut -c1-16)"
}

# make_framework NAME: makes that folder from PyPI.
make_framework() {
  local folder
  folder=$(framework "$1")
  [[ ! -d $folder ]] || return 0
  rm -rf "$folder.new"
  /usr/bin/python3 -m venv "$folder.new" &&
    "$folder.new/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements-$1.txt" &&
    mv "$folder.new" "$folder"
}

# with_framework NAME LINE...: starts two pods with two ranks each that run train_NAME.py. The lines are added to the spec.
with_framework() {
  local folder
  folder=$(framework "$1")
  [[ -d $folder ]] || { skip "$1 could not be installed from PyPI"; return 1; }
  allow 600
  image mount "$folder:/opt/framework"
  image env "PATH=/opt/framework/bin:/usr/bin:/bin:/usr/sbin:/sbin"
  image prepare "install -m 0644 $here/train_$1.py usr/local/lib/train.py"
  train 'exec python3 /usr/local/lib/train.py' "launcher: $1" "${@:2}"
}

# Waits for the end of the job, and checks what the ranks have computed.
expect_sum() {
  expect 0 "trained" "[rank0]: rank 0 of 4 on $job-$run-0: sum 6, line 3.0 x + 1.0"
  logged 1 "[rank3]: rank 3 of 4 on $job-$run-1: sum 6, line 3.0 x + 1.0"
}

end_framework() {
  inside_pod 1 touch /tmp/end
  expect_sum
}

# trains NAME
trains() {
  with_framework "$1" || return 0
  until_started 0 "up 1" && until_started 1 "up 3"
  expect_sum
}

# loses_a_worker NAME: the ranks of the other pod notice it before the agents.
loses_a_worker() {
  with_framework "$1" 'env: {WAIT: "1"}' || return 0
  until_started 0 "up 1" && until_started 1 "up 3"
  kill_pod 1
  wait_for 0 "lost worker $job-$run-1" 30
  until_started 0 "up 1" 2
  until_started 1 "up 3" 2
  end_framework
}

# goes_silent NAME POD: the network of a pod's node fails, which closes no connection, so that the ranks notice nothing. The agent of the
# other pod notices it. Kubernetes replaces the pod after 80 seconds, here at once, and all ranks train again.
goes_silent() {
  local since connected other=$((1 - $2))
  with_framework "$1" 'env: {WAIT: "1"}' || return 0
  until_started 0 "up 1" && until_started 1 "up 3"
  cut_network "$2"
  since=$SECONDS
  wait_for "$other" "lost worker $job-$run-$2" 40 || return
  lasted 25 "$since" "noticing"
  delete_pod "$2" 0
  until_started 0 "launching:" 2
  until_started 1 "launching:" 2
  lasted 90 "$since" "starting the ranks again"
  until_started 0 "loaded 1" 2
  until_started 1 "loaded 3" 2
  connected=$SECONDS
  until_started 0 "up 1" 2
  until_started 1 "up 3" 2
  echo "with $1 and pod $2 silent, the ranks were up again after $((SECONDS - since)) s"
  lasted 60 "$connected" "connecting the ranks again"
  end_framework
}

# fails_once NAME: rank 3 fails once, and all ranks start again. The others may notice it before they are ended.
fails_once() {
  with_framework "$1" 'env: {WAIT: "1", FAILS: "3"}' || return 0
  until_started 1 "this rank fails"
  wait_for 0 "attempt 1 of 4 failed" 60
  until_started 0 "loaded 1" 2
  until_started 1 "loaded 3" 2
  end_framework
}

prepare_jax() { make_framework jax; }
case_jax() { trains jax; }

takes_a_minute jax_loses_a_worker
prepare_jax_loses_a_worker() { make_framework jax; }
only_in_test_all jax_loses_a_worker
case_jax_loses_a_worker() { loses_a_worker jax; }

takes_a_minute jax_notices_a_silent_worker
prepare_jax_notices_a_silent_worker() { make_framework jax; }
only_in_test_all jax_notices_a_silent_worker
case_jax_notices_a_silent_worker() { goes_silent jax 1; }

takes_a_minute jax_notices_a_silent_first_worker
prepare_jax_notices_a_silent_first_worker() { make_framework jax; }
only_in_test_all jax_notices_a_silent_first_worker
case_jax_notices_a_silent_first_worker() { goes_silent jax 0; }

takes_a_minute jax_retries
prepare_jax_retries() { make_framework jax; }
only_in_test_all jax_retries
case_jax_retries() { fails_once jax; }

# JAX handles SIGTERM: all processes reach the same step.
takes_a_minute jax_drained
prepare_jax_drained() { make_framework jax; }
only_in_test_all jax_drained
case_jax_drained() {
  with_framework jax 'env: {WAIT: "1"}' || return 0
  until_started 0 "up 1" && until_started 1 "up 3"
  evict_pod 1
  wait_for 1 "rank 3 saves step" 20
  wait_for 0 "worker $job-$run-1 ends, because it was evicted or deleted: all ranks get SIGTERM" 20
  wait_for 0 "rank 0 saves step" 20
  wait_for 0 "it does not count against lifecycle.retries" 30
  until_started 0 "up 1" 2
  until_started 1 "up 3"
  end_framework
}

# A program that does not connect its processes ends before it trains.
prepare_jax_alone() { make_framework jax; }
case_jax_alone() {
  with_framework jax 'env: {ALONE: "1"}' || return 0
  until_started 0 "loaded 1" && until_started 1 "loaded 3"
  expect 42 "wrong world: this process of JAX is one of 1: call jax.distributed.initialize() before other functions of JAX; the spec has 4 ranks"
}

# Its agents are those of JAX.
only_in_test_all tensorflow_loses_a_worker tensorflow_notices_a_silent_worker tensorflow_drained tensorflow_retries

prepare_tensorflow() { make_framework tensorflow; }
takes_a_minute tensorflow
only_in_test_all tensorflow
case_tensorflow() { trains tensorflow; }

takes_a_minute tensorflow_loses_a_worker
prepare_tensorflow_loses_a_worker() { make_framework tensorflow; }
case_tensorflow_loses_a_worker() { loses_a_worker tensorflow; }

takes_a_minute tensorflow_notices_a_silent_worker
prepare_tensorflow_notices_a_silent_worker() { make_framework tensorflow; }
case_tensorflow_notices_a_silent_worker() { goes_silent tensorflow 1; }

takes_a_minute tensorflow_drained
prepare_tensorflow_drained() { make_framework tensorflow; }
case_tensorflow_drained() {
  with_framework tensorflow 'env: {WAIT: "1"}' 'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 10s}}' || return 0
  until_started 0 "up 1" && until_started 1 "up 3"
  evict_pod 1
  wait_for 0 "worker $job-$run-1 ends, because it was evicted or deleted: all ranks get SIGUSR1" 20
  for rank in 0 1; do wait_for 0 "rank $rank saves" 20; done
  for rank in 2 3; do wait_for 1 "rank $rank saves" 20; done
  wait_for 0 "it does not count against lifecycle.retries" 30
  until_started 0 "up 1" 2
  until_started 1 "up 3" 2
  end_framework
}

takes_a_minute tensorflow_retries
prepare_tensorflow_retries() { make_framework tensorflow; }
case_tensorflow_retries() { fails_once tensorflow; }

# Keras 3 does not train with this strategy; tf_keras does.
takes_a_minute tensorflow_keras
prepare_tensorflow_keras() { make_framework tensorflow; }
only_in_test_all tensorflow_keras
case_tensorflow_keras() {
  with_framework tensorflow 'env: {KERAS: tf_keras}' || return 0
  until_started 0 "loaded 1" && until_started 1 "loaded 3"
  expect 0 "trained" "rank 0 has called fit"
}

takes_a_minute tensorflow_keras_3
prepare_tensorflow_keras_3() { make_framework tensorflow; }
only_in_test_all tensorflow_keras_3
case_tensorflow_keras_3() {
  with_framework tensorflow 'env: {KERAS: keras}' 'lifecycle: {retries: 0}' || return 0
  until_started 0 "loaded 1"
  wait_for 0 "Keras 3 does not support MultiWorkerMirroredStrategy in fit(): install tf_keras and set TF_USE_LEGACY_KERAS to 1" 90
}
