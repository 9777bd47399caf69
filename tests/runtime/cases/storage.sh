#!/bin/bash
# S3 volumes with an S3 server. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `here`, `job` and `run` come from lib.sh

prepare_s3() { versitygw >/dev/null; }
prepare_s3_survives_a_lost_worker() { prepare_s3; }
prepare_s3_away() { prepare_s3; }
prepare_s3_ends_in_an_upload() { prepare_s3; }
prepare_s3_deleted_with_its_workers() { prepare_s3; }
prepare_s3_silent() { prepare_s3; }
prepare_s3_drained_worker() { prepare_s3; }
prepare_s3_evicted_launcher() { prepare_s3; }
prepare_s3_evicted_launcher_with_ranks() { prepare_s3; }
prepare_s3_superseded() { prepare_s3; }
prepare_s3_retries_used_up() { prepare_s3; }
prepare_s3_final_exit_code() { prepare_s3; }
prepare_s3_torchrun() { prepare_s3; }
prepare_s3_passed_on() { prepare_s3; }
prepare_s3_passed_on_torchrun() { prepare_s3; }
prepare_s3_passed_on_without_permission() { prepare_s3; }
prepare_s3_web_identity() { prepare_s3; }
prepare_s3_pod_identity() { prepare_s3; }
prepare_s3_https_proxy() { prepare_s3; }

# serve_buckets KEY SECRET REGION: starts a cluster, and an S3 server at $place with this user.
place=http://10.88.255.254:9000
serve_buckets() {
  server=$(versitygw) || { skip "versitygw could not be built"; return 1; }
  cluster
  key=$1 secret=$2 region=$3
  # Stores the metadata of objects in files, because not every file system supports extended attributes.
  mkdir "$work"/{buckets,known,users}
  start_server || return
  "$server" admin --access root --secret root --region "$region" --endpoint-url "$place" \
    create-user --access "$key" --secret "$secret" --role userplus || fail "no user"
}

# start_server: starts the S3 server, as `bucket_server`.
start_server() {
  ROOT_ACCESS_KEY=root ROOT_SECRET_KEY=root "$server" --port "${place#*//}" --region "$region" --iam-dir "$work/users" \
    --health /ready posix --sidecar "$work/known" "$work/buckets" >>"$work/s3.log" 2>&1 &
  bucket_server=$!
  until curl -sf "$place/ready" >/dev/null; do
    kill -0 "$bucket_server" || { fail "no server of buckets"; return 1; }
    sleep 0.1
  done
}

# bucket_keys: prints the Secret s3-keys with the keys of the user.
bucket_keys() {
  kube POST /apply '{"kind": "Secret", "metadata": {"name": "s3-keys"}, "stringData": {"AWS_ACCESS_KEY_ID": "'"$key"'", "AWS_SECRET_ACCESS_KEY": "'"$secret"'"}}' >/dev/null
}

case_s3() {
  local bucket key secret region
  serve_buckets AKIDTEST not/to+be+seen eu-west-1 || return
  for bucket in data rotten many large while order; do put "$bucket"; done
  put data/p/deep/er/text $'of the bucket\n'
  put data/other "not below the prefix"
  # An object whose content has changed since its upload, and a bucket of another user.
  put rotten/p/good good
  put rotten/p/bad bad
  printf 'bed' >"$work/buckets/rotten/p/bad"
  mkdir "$work/buckets/closed"
  bucket_keys
  image prepare "install -m 0755 $here/buckets.sh usr/local/bin/buckets"
  set -- 'lifecycle: {retries: 0}' \
    "storage: [{name: set, mountPath: /set, s3: {endpoint: \"$place\", bucket: data, prefix: p/, region: eu-west-1, secretName: s3-keys, direction: both}}]"
  train 'cat /set/deep/er/text; echo result > /set/out-$OMPI_COMM_WORLD_RANK' "$@"
  expect 0 "of the bucket" "uploaded 2 of 3 files"
  spec '((OMPI_COMM_WORLD_RANK)) || buckets' "$@"
  apply -n team-a "$work/job.yaml"
  expect 0
  [[ -z $(find "$work"/buckets/*/.sgwtmp/multipart -type f) ]] || fail "parts of no object stay in the bucket"
  [[ ! -e $work/buckets/rotten/p/large ]] || fail "an upload went on that had failed"
  ! grep -qF "$secret" "$work"/*.{log,yaml} || fail "the key was shown"
}

# uploads: starts the server with a bucket `out`. out_volume INTERVAL: prints its volume.
uploads() {
  serve_buckets AKIDTEST secret eu-west-1 || return
  put out
  bucket_keys
}
# A program that counts: rank 0 writes a file /out/step-N every two seconds, and starts after the last one that is there.
counting='exec 2>&1; [[ $OMPI_COMM_WORLD_RANK == 0 ]] || exec sleep 300; shopt -s nullglob; steps=(/out/step-*); from=${#steps[@]}; echo "from $from on $HOSTNAME"; for ((at = from + 1; ; at++)); do sleep 2; echo $at >/out/new; mv /out/new /out/step-$at; echo "step $at"; done'
out_volume() {
  echo "storage: [{name: out, mountPath: /out, s3: {endpoint: \"$place\", bucket: out, prefix: p/, region: eu-west-1, secretName: s3-keys, direction: ${2:-out}, uploadInterval: $1}}]"
}

# in_bucket NAME [SECONDS]: waits for an object.
in_bucket() {
  local tries
  for ((tries = 0; tries < ${2:-40} * 5; tries++)); do
    [[ ! -e $work/buckets/out/p/$1 ]] || return 0
    sleep 0.2
  done
  fail "the bucket has no $1"
  return 1
}

# last_step: prints the last step of the current attempt.
last_step() { awk '/from [0-9]+ on/ { last = 0 } match($0, /step [0-9]+$/) { last = substr($0, RSTART + 5) } END { print last + 0 }' "$work/launcher.log"; }

# The node of the worker with the data fails: its replacement continues from what was uploaded, and not from an earlier run.
takes_a_minute s3_survives_a_lost_worker
case_s3_survives_a_lost_worker() {
  local from last since
  uploads || return
  put out/p/.khorovod-s3 '{"run": "earlier", "since": 0, "pod": "", "files": {"step-1": null, "step-9": null}}'
  put out/p/step-9 "of an earlier run"
  train "$counting" "$(out_volume 3s)" 'workers: {replicas: 2, slotsPerWorker: 1, spares: 1}' 'lifecycle: {retries: 1}'
  wait_for launcher "from 0 on" || return
  wait_for launcher "step 6" 60 || return
  in_bucket step-2 60 || return
  since=$SECONDS
  cut_network worker-0
  wait_for launcher "lost worker $job-$run-worker-0.$job" 60
  until grep -q "from [0-9]* on $job-$run-worker-[12]" "$work/launcher.log"; do
    sleep 0.2
    ((SECONDS - since < 90)) || { fail "no further attempt"; return; }
  done
  from=$(sed -n "s/.*from \([0-9]*\) on $job-$run-worker-[12].*/\1/p" "$work/launcher.log")
  ((from >= 2)) || fail "the next attempt starts from $from"
  until last=$(last_step) && ((last > from)); do
    sleep 0.2
    ((SECONDS - since < 90)) || { fail "no further step"; return; }
  done
  # The launcher is evicted. Its successor begins with another worker again, which has what the last one had.
  from=$(grep -c "from [0-9]* on" "$work/launcher.log")
  since=$SECONDS
  evict_pod launcher
  until (($(grep -c "from [0-9]* on" "$work/launcher.log") > from)); do
    sleep 0.2
    ((SECONDS - since < 90)) || { fail "no attempt of the next launcher"; return; }
  done
  from=$(sed -n "s/.*from \([0-9]*\) on.*/\1/p" "$work/launcher.log" | tail -n 1)
  ((from >= last)) || fail "the next launcher starts from $from, not $last"
  delete_job
  expect 143
  released
}

# S3 is away for a while: the training continues, and the next upload has everything.
takes_a_minute s3_away
case_s3_away() {
  uploads || return
  # Fewer tries.
  printf '#!/bin/bash\n%q "$@" | sed "s/TRIES = 10/TRIES = 2/"\n' "$(realpath "$KHOROVOD")" >"$work/few" && chmod +x "$work/few"
  KHOROVOD=$work/few train '((OMPI_COMM_WORLD_RANK == 0)) || exit 0; echo up; until [[ -e /out/end ]]; do sleep 0.2; done' \
    "$(out_volume 2s)" 'lifecycle: {retries: 0}'
  wait_for launcher ":up" || return
  in_bucket .khorovod-s3 || return
  kill -KILL "$bucket_server"
  wait_for launcher "the S3 volume out could not be uploaded now" 60
  inside_pod worker-0 bash -c 'echo kept >/out/while-away'
  sleep 6
  start_server
  in_bucket while-away 60
  [[ $(grep -c "could not be uploaded now" "$work/launcher.log") == 1 ]] || fail "logged more than once"
  inside_pod worker-0 touch /out/end
  expect 0 "trained"
  in_bucket end 1
}

# end_in_an_upload MORE: the Job is deleted in the middle of an upload, which the last upload resumes. Runs MORE after the deletion.
end_in_an_upload() {
  local since
  uploads || return
  train '((OMPI_COMM_WORLD_RANK == 0)) || exit 0; head -c 600M /dev/urandom >/out/large; echo up; sleep 300' \
    "$(out_volume 1s)" 'lifecycle: {retries: 0}'
  wait_for launcher ":up" || return
  until [[ -n $(find "$work/buckets/out/.sgwtmp/multipart" -type f -size +1M 2>/dev/null) ]]; do sleep 0.05; done
  kill -STOP "$bucket_server" # or the upload may be complete before the launcher notices the deletion
  inside_pod worker-0 bash -c 'echo small >/out/small'
  since=$SECONDS
  delete_job
  "$@"
  sleep 3
  kill -CONT "$bucket_server"
  expect 143
  lasted 50 "$since" "the end"
  cat "$work"/{launcher,worker-0}.log >"$work/both.log"
  logged both "uploaded 2 of 2 files"
  ! grep "could not be uploaded" "$work/launcher.log" || fail "the launcher reports a failed upload"
  in_bucket small 1
  [[ $(stat -c %s "$work/buckets/out/p/large") == 629145600 ]] || fail "the large file is not complete"
  [[ -z $(find "$work"/buckets/out/.sgwtmp/multipart -type f) ]] || fail "parts stay in the bucket"
  released
}
only_in_test_all s3_ends_in_an_upload
case_s3_ends_in_an_upload() { end_in_an_upload true; }
# As with `kubectl delete -f`: the worker that uploads stays until both have ended.
only_in_test_all s3_deleted_with_its_workers
case_s3_deleted_with_its_workers() { end_in_an_upload scale 0; }

# A changed spec is applied: the old run uploads what its ranks have saved.
case_s3_superseded() {
  uploads || return
  train 'trap "echo saved >/out/saved; exit 1" USR1; ((OMPI_COMM_WORLD_RANK == 0)) || exit 0; echo up; while :; do sleep 0.2; done' \
    "$(out_volume 1h)" 'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 20s}, retries: 0}'
  wait_for launcher ":up" || return
  in_bucket .khorovod-s3 || return
  spec 'echo the second run'
  apply -n team-a "$work/job.yaml"
  wait_for launcher "superseded: run $run is current: all ranks get SIGUSR1" 30
  in_bucket saved 20
  expect 0 "the second run" "trained"
}

# uploads_what_is_left LINE: the training fails permanently, after it has written a file since the last upload.
uploads_what_is_left() {
  uploads || return
  train '((OMPI_COMM_WORLD_RANK == 0)) || exit 0; echo left >/out/left; exit 3' "$(out_volume 1h)" "$1"
  expect 42 "training ended with code 3" "uploaded 1 of 1 files"
  in_bucket left 1
  released
}
case_s3_retries_used_up() { uploads_what_is_left 'lifecycle: {retries: 0}'; }
case_s3_final_exit_code() { uploads_what_is_left 'lifecycle: {finalExitCodes: [3]}'; }

# S3 accepts the upload and does not answer: the workers are released after lifecycle.checkpoint.gracePeriod, and do not try again.
case_s3_silent() {
  local since
  uploads || return
  train '((OMPI_COMM_WORLD_RANK == 0)) || exit 0; echo x >/out/x; echo up; until [[ -e /tmp/end ]]; do sleep 0.1; done' \
    "$(out_volume 1h)" 'lifecycle: {checkpoint: {gracePeriod: 10s}, retries: 0}'
  wait_for launcher ":up" || return
  in_bucket .khorovod-s3 || return
  kill -STOP "$bucket_server"
  inside_pod worker-0 touch /tmp/end
  sleep 5
  since=$SECONDS
  delete_job
  expect 143 "the S3 volumes could not be uploaded"
  released
  wait_for events "worker-0 ended with" 20
  lasted 20 "$since" "the end of the workers"
}

# The node of the worker with the data is drained: it uploads what its ranks have saved. The next attempt waits for that, although
# a spare worker is ready.
case_s3_drained_worker() {
  uploads || return
  train 'trap "head -c 100M /dev/zero >/out/large; echo saved >/out/saved; exit 1" USR1; ((OMPI_COMM_WORLD_RANK == 0)) || exit 0; [[ ! -e /out/saved ]] || { echo "has $(cat /out/saved) $(stat -c %s /out/large)"; exit 0; }; echo up; while :; do sleep 0.2; done' \
    "$(out_volume 1h)" 'workers: {replicas: 2, slotsPerWorker: 1, spares: 1}' 'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 20s}, retries: 0}'
  wait_for launcher ":up" || return
  in_bucket .khorovod-s3 || return
  evict_pod worker-0
  wait_for launcher "worker $job-$run-worker-0.$job ends" 30
  expect 0 "downloading what this run has uploaded to $job-$run-worker-" "has saved 104857600" "trained"
  released
}

# evict_with_data POD LINE...: evicts the launcher's pod, which has the data. Its successor continues from what it uploaded.
evict_with_data() {
  uploads || return
  train 'trap "echo saved >/out/saved; exit 1" USR1; ((OMPI_COMM_WORLD_RANK == 0)) || exit 0; [[ ! -e /out/saved ]] || { echo "has $(cat /out/saved) on $(hostname)"; exit 0; }; echo up; while :; do sleep 0.2; done' \
    "$(out_volume 1h)" 'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 20s}, retries: 0}' "${@:2}"
  wait_for "$1" ":up" || return
  evict_pod "$1"
  wait_for "$1" "the workers stay for the next launcher" 40
  expect 0 "uploaded 1 of 1 files" "downloading what this run has uploaded to $job-$run-$1" "has saved on $job-$run-$1" "trained"
}
case_s3_evicted_launcher() { evict_with_data 0 'workers: {replicas: 2, slotsPerWorker: 1}' 'launcher: {kind: mpirun, runsIn: firstWorker}'; }
case_s3_evicted_launcher_with_ranks() {
  evict_with_data launcher 'workers: {replicas: 1, slotsPerWorker: 1}' 'launcher: {kind: mpirun, runsRanks: true}'
  released
}

# The same with torchrun, whose pods decide for themselves.
only_in_test_all s3_torchrun
case_s3_torchrun() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  uploads || return
  train 'trap "head -c 100M /dev/zero >/out/large; echo saved >/out/saved; exit 1" USR1; touch /out/up; while :; do sleep 0.2; done' \
    "$(out_volume 1h)" 'workers: {replicas: 2, slotsPerWorker: 1}' 'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 20s}}' 'launcher: torchrun' \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}'
  wait_for 0 "launching" || return
  until inside_pod 0 test -e /out/up; do
    sleep 0.5
    ((SECONDS < 90)) || { fail "no rank in pod 0"; return; }
  done
  evict_pod 0
  wait_for 0 "uploaded 3 of 3 files" 60 || return
  wait_for 0 "downloading what this run has uploaded to $job-$run-0" 60 || return
  wait_for 0 "complete in /out"
  [[ $(inside_pod 0 cat /out/saved) == saved ]] || fail "the checkpoint is missing"
}

# serve_identity: starts STS, the agent of EKS Pod Identity and a proxy (aws.py) for the keys of the S3 server, which has another address
# than the API server. The pods have a token, as EKS mounts it. The ServiceAccount `trainer` has the permissions of the launcher.
serve_identity() {
  cluster
  ip addr add "${other#*//}/16" dev pods
  place=$other:9000
  serve_buckets AKIDTEST secret eu-west-1 || return
  mkdir -p "$work/aws"
  echo "$key $secret" >"$work/aws/keys"
  echo token-of-eks >"$work/aws/token"
  image mount "$work/aws/token:/var/run/secrets/aws/token"
  /usr/bin/python3 "$here/aws.py" "$work/aws" "${place#*//}" "$region" &
  until curl -s "$other:9001" >/dev/null; do sleep 0.1; done
  : >"$work/aws/requests.log"
  kube POST /apply '{"kind": "Role", "metadata": {"name": "trainer"}, "rules": [
      {"apiGroups": ["apps"], "resources": ["statefulsets", "statefulsets/scale"], "verbs": ["get", "patch"]},
      {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "patch"]},
      {"apiGroups": [""], "resources": ["endpoints"], "verbs": ["get"]}]}
---
{"kind": "RoleBinding", "metadata": {"name": "trainer"}, "roleRef": {"name": "trainer"},
  "subjects": [{"kind": "ServiceAccount", "name": "trainer", "namespace": "team-a"}]}' >/dev/null
}
other=http://10.88.255.253

# requested TEXT...: checks that aws.py has received requests with these lines.
requested() {
  local text
  for text in "$@"; do grep -q -- "^$text" "$work/aws/requests.log" || fail "no request '$text': $(sort "$work/aws/requests.log" | uniq -c)"; done
}

# train_as_trainer [COMMAND...]: a job that copies in both directions without a Secret. The command runs while it trains.
train_as_trainer() {
  local pod
  put data
  put data/p/text $'of the bucket\n'
  train 'cat /set/text; until [[ -e /tmp/go ]]; do sleep 0.1; done; echo result >/set/out-$OMPI_COMM_WORLD_RANK' \
    'lifecycle: {retries: 0}' 'security: {serviceAccountName: trainer}' \
    "storage: [{name: set, mountPath: /set, s3: {endpoint: \"$other:9003\", bucket: data, prefix: p/, region: eu-west-1, direction: both}}]"
  wait_for launcher "of the bucket" || return
  "$@"
  for pod in worker-0 worker-1; do inside_pod "$pod" touch /tmp/go; done
  expect 0 "of the bucket" "uploaded 2 of 3 files" "trained"
  [[ $(cat "$work/buckets/data/p/out-0") == result ]] || fail "the results are not in the bucket"
  released
}

# IAM roles for service accounts: STS gives credentials for the token, and new ones before these expire.
case_s3_web_identity() {
  serve_identity || return
  image env "AWS_ROLE_ARN=arn:aws:iam::123456789012:role/trainer" "AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/secrets/aws/token" \
    "AWS_ENDPOINT_URL_STS=$other:9001"
  train_as_trainer renews_credentials
  requested "sts 503" "sts 200" "bucket GET /data/p/text" "bucket PUT /data/p/out-0"
  ! grep -q "^agent\|^proxy\| 403" "$work/aws/requests.log" || fail "other requests"
}
renews_credentials() {
  local before program='import sys, time; sys.path.insert(0, "/etc/khorovod/scripts"); import s3
keys = s3.Keys({"signed": False, "region": "eu-west-1", "upload": True}); print(*keys.current()); keys.current(); time.sleep(3); keys.current()'
  sleep 1 # the first upload
  before=$(grep -c "sts 200" "$work/aws/requests.log")
  [[ $(inside_pod worker-0 python3 -c "$program") == "ASIATEST given/secret session-token" ]] || fail "other keys"
  (($(grep -c "sts 200" "$work/aws/requests.log") - before == 2)) || fail "renewed otherwise: $(<"$work/aws/requests.log")"
}

# EKS Pod Identity, and a proxy. The agent is on the node, which no proxy reaches, and the API server is in the cluster.
case_s3_pod_identity() {
  serve_identity || return
  image env "AWS_CONTAINER_CREDENTIALS_FULL_URI=$other:9001/v1/credentials" "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/var/run/secrets/aws/token" \
    HTTP_PROXY=http://10.88.255.254:9002 HTTPS_PROXY=http://10.88.255.254:9002
  train_as_trainer
  requested "agent 503" "agent 200" "proxy GET ${other#*//}:9003/data/p/text" "proxy PUT ${other#*//}:9003/data/p/out-0" "bucket PUT /data/p/out-0"
  ! grep "credentials\|:6443\| 403" "$work/aws/requests.log" || fail "the agent or the API server was asked through the proxy"
}

# Without a role, the message names what is missing.
prepare_s3_no_identity() { prepare_s3; }
case_s3_no_identity() {
  serve_identity || return
  put data
  train 'sleep 60' 'lifecycle: {retries: 0}' 'security: {serviceAccountName: trainer}' \
    "storage: [{name: set, mountPath: /set, s3: {endpoint: \"$place\", bucket: data, direction: out}}]"
  wait_for launcher "the S3 volume set could not be uploaded now; tried again every 600 s: khorovod: s3: no credentials: this pod has no role of AWS"
}

# HTTPS through a proxy, with keys.
case_s3_https_proxy() {
  mkdir "$work/aws"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=s3 -addext "subjectAltName=IP:${other#*//}" \
    -keyout "$work/aws/tls.key" -out "$work/aws/tls.crt"
  serve_identity || return
  bucket_keys
  put data
  put data/p/text $'of the bucket\n'
  image mount "$work/aws/tls.crt:/etc/s3.crt"
  image env SSL_CERT_FILE=/etc/s3.crt HTTPS_PROXY=10.88.255.254:9002
  train 'cat /set/text; echo result >/set/out-$OMPI_COMM_WORLD_RANK' 'lifecycle: {retries: 0}' \
    "storage: [{name: set, mountPath: /set, s3: {endpoint: \"https${other#http}:9004\", bucket: data, prefix: p/, region: eu-west-1, secretName: s3-keys, direction: both}}]"
  expect 0 "of the bucket" "uploaded 2 of 3 files" "trained"
  requested "proxy CONNECT ${other#*//}:9004"
  ! grep ":6443" "$work/aws/requests.log" || fail "the API server was asked through the proxy"
}

# put BUCKET[/KEY TEXT]: creates a bucket or an object as the user whose keys the job has.
put() {
  curl -sS -f --user "$key:$secret" --aws-sigv4 "aws:amz:$region:s3" -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \
    -X PUT --data-binary "${2:-}" "$place/$1" || fail "the bucket does not take $1"
}

# serve_files [OPTION...]: starts a server of files and of repositories at $files, which logs its requests to $work/source/requests.
files=http://10.88.255.254:9005
serve_files() {
  cluster
  mkdir -p "$work"/source/{files,hub/org/model}
  head -c 9000000 /dev/urandom >"$work/source/hub/org/model/weights.safetensors"
  echo '{"layers": 2}' >"$work/source/hub/org/model/config.json"
  python3 "$here/download/source.py" "$work/source" 10.88.255.254 9005 no-redirects token=hf_secret "$@" 2>>"$work/source.log" &
  until curl -s -o /dev/null "$files/"; do sleep 0.1; done
  kube POST /apply '{"kind": "Secret", "metadata": {"name": "hf-token"}, "stringData": {"HF_TOKEN": "hf_secret", "TOKEN": "hf_secret"}}' >/dev/null
}
model="{name: model, mountPath: /model, download: {huggingFace: org/model, revision: 0123456789abcdef0123456789abcdef01234567, secretName: hf-token}}"
# A program of each rank that shows what it has. The first attempt fails, and the pods must still pass on the data after that.
shows='cat /model/config.json; sha256sum /model/weights.safetensors; [[ -e /tmp/again ]] || { touch /tmp/again; exit 3; }; pgrep -f /download.py >/dev/null && echo "passes on"'

# downloaded_once: checks that the server has sent each part of the weights once, and only to one pod.
downloaded_once() {
  local requests
  requests=$(grep -c 'weights.safetensors bytes=' "$work/source/requests")
  ((requests == 1)) || fail "the weights were requested $requests times"
  ! grep -q hf_secret "$work"/*.log || fail "the token was shown"
}

case_download() {
  local sum
  serve_files
  sum=$(sha256sum <"$work/source/hub/org/model/weights.safetensors")
  train "$shows" "env: {HF_ENDPOINT: \"$files\"}" "storage: [$model]" 'workers: {replicas: 3, slotsPerWorker: 1}' 'lifecycle: {retries: 1}'
  expect 0 '{"layers": 2}' "${sum%% *}  /model/weights.safetensors" "passes on"
  downloaded_once
  logged worker-0 "2 files, 9000014 bytes from ${files#*//}" "complete in /model"
  logged worker-2 "2 files from $job-$run-worker-0.$job"
}

# The pods are an Indexed Job, and one of them is killed while it passes on the data.
only_in_test_all download_torchrun
case_download_torchrun() {
  local sum
  serve_files rate=2000000
  sum=$(sha256sum <"$work/source/hub/org/model/weights.safetensors")
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  train 'sha256sum /model/weights.safetensors >&2' 'launcher: torchrun' "storage: [$model]" 'workers: {replicas: 4, slotsPerWorker: 1}' \
    "env: {HF_ENDPOINT: \"$files\", PET_TEE: \"1\", PET_REDIRECTS: \"7:1\"}"
  wait_for 3 "2 files from $job-$run-1.$job" || return
  kill_pod 1
  expect 0 "${sum%% *}  /model/weights.safetensors" trained
  logged 3 "${sum%% *}  /model/weights.safetensors"
  downloaded_once
}

case_download_without_token() {
  serve_files
  echo set >"$work/source/files/set.bin"
  train 'echo trains' 'launcher: {kind: mpirun, runsIn: firstWorker}' \
    "storage: [{name: set, mountPath: /set, download: {url: \"$files/set.bin\", sha256: $(sha256sum </dev/null | cut -d ' ' -f 1)}}]"
  expect 42 "$files/set.bin: HTTP 401; set \`secretName\`, a Secret with a token that may read it"
}

# data_volume: prints a volume that is only copied in. Its bucket has a small object, one of several chunks, and one uploaded in parts.
data_volume() {
  echo "storage: [{name: set, mountPath: /set, s3: {endpoint: \"$place\", bucket: data, prefix: p/, region: eu-west-1, secretName: s3-keys}}]"
}
data_bucket() {
  serve_buckets AKIDTEST secret eu-west-1 || return
  put data
  put data/other "not below the prefix"
  put data/p/deep/er/text $'of the bucket\n'
  head -c 9000000 /dev/urandom >"$work/weights"
  put data/p/weights "@$work/weights"
  in_parts data/p/parts "$work/weights" || return
  sum=$(sha256sum <"$work/weights")
  bucket_keys
}

# in_parts KEY FILE: uploads a file in two parts.
in_parts() {
  local upload parts='' number tag
  signed() { curl -sS -f --user "$key:$secret" --aws-sigv4 "aws:amz:$region:s3" -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "$@"; }
  upload=$(signed -X POST "$place/$1?uploads=" | grep -o '<UploadId>[^<]*')
  upload=${upload#*>}
  for number in 1 2; do
    tag=$(head -c $((number == 1 ? 6000000 : 9000000)) "$2" | tail -c "+$((number == 1 ? 1 : 6000001))" |
      signed -X PUT -D - -o /dev/null --data-binary @- "$place/$1?partNumber=$number&uploadId=$upload" | tr -d '\r' | sed -n 's/^[Ee][Tt]ag: //p')
    parts+="<Part><PartNumber>$number</PartNumber><ETag>$tag</ETag></Part>"
  done
  signed -X POST --data-binary "<CompleteMultipartUpload>$parts</CompleteMultipartUpload>" "$place/$1?uploadId=$upload" | grep -q ETag ||
    fail "$1 could not be uploaded in parts"
}

shows_set='cat /set/deep/er/text; sha256sum /set/weights /set/parts; [[ ! -e /set/other ]] || exit 4'

# One pod downloads from the bucket, and the others get the data from it. The next attempt copies nothing.
case_s3_passed_on() {
  local sum
  data_bucket || return
  train "$shows_set; [[ -e /tmp/again ]] || { touch /tmp/again; exit 3; }" "$(data_volume)" 'workers: {replicas: 3, slotsPerWorker: 1}' 'lifecycle: {retries: 1}'
  expect 0 "of the bucket" "${sum%% *}  /set/weights" "${sum%% *}  /set/parts" trained
  logged worker-0 "3 files, 18000014 bytes from data" "complete in /set"
  logged worker-1 "3 files from $job-$run-worker-0.$job" "complete in /set"
  logged worker-2 "3 files from $job-$run-worker-0.$job" "complete in /set"
  [[ $(awk -F ' *[|] *' '$6 == "GET" && $7 ~ "/p/" { print $5 }' "$work/s3.log" | sort -u | wc -l) == 1 ]] || fail "several pods downloaded from the bucket"
  ! grep -qF "no MD5 sums" "$work"/*.log || fail "an ETag was not verified"
}

# Agents have no ssh, but the key of the run. A pod is killed while it passes on the data.
only_in_test_all s3_passed_on_torchrun
case_s3_passed_on_torchrun() {
  local sum
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  data_bucket || return
  train "exec >&2; $shows_set" 'launcher: torchrun' "$(data_volume)" 'workers: {replicas: 4, slotsPerWorker: 1}' \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}'
  wait_for 1 "3 files from $job-$run-0.$job" || return
  kill_pod 1
  expect 0 "${sum%% *}  /set/weights" trained
  logged 3 "${sum%% *}  /set/weights" "${sum%% *}  /set/parts"
  ! grep -qF "bytes from data" "$work"/[123].log || fail "another pod downloaded from the bucket"
}

# Keys that may not read the bucket end the download with the reason.
case_s3_passed_on_without_permission() {
  data_bucket || return
  key=AKIDTEST secret=wrong bucket_keys
  train 'echo trains' 'launcher: {kind: mpirun, runsIn: firstWorker}' "$(data_volume)" 'lifecycle: {retries: 0}'
  expect 42 "GET $place/data: HTTP 403 SignatureDoesNotMatch"
}

# An object that its server has changed does not match its ETag.
prepare_s3_passed_on_rotten() { prepare_s3; }
case_s3_passed_on_rotten() {
  data_bucket || return
  printf 'of the basket\n' >"$work/buckets/data/p/deep/er/text"
  train 'echo trains' 'launcher: {kind: mpirun, runsIn: firstWorker}' "$(data_volume)"
  expect 42 "s3://data/p/deep/er/text: the data does not match its ETag"
}
