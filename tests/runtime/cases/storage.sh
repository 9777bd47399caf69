#!/bin/bash
# S3 volumes with an S3 server. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `here`, `job` and `run` come from lib.sh

prepare_s3() { versitygw >/dev/null; }

# serve_buckets KEY SECRET REGION: starts a cluster, and an S3 server at $place with this user.
place=http://10.88.255.254:9000
serve_buckets() {
  local server
  server=$(versitygw) || { skip "versitygw could not be built"; return 1; }
  cluster
  key=$1 secret=$2 region=$3
  # Stores the metadata of objects in files, because not every file system supports extended attributes.
  mkdir "$work"/{buckets,known,users}
  ROOT_ACCESS_KEY=root ROOT_SECRET_KEY=root "$server" --port "${place#*//}" --region "$region" --iam-dir "$work/users" \
    --health /ready posix --sidecar "$work/known" "$work/buckets" >"$work/s3.log" 2>&1 &
  until curl -sf "$place/ready" >/dev/null; do
    kill -0 $! || { fail "no server of buckets"; return 1; }
    sleep 0.1
  done
  "$server" admin --access root --secret root --region "$region" --endpoint-url "$place" \
    create-user --access "$key" --secret "$secret" --role userplus || fail "no user"
}

# bucket_keys: prints the Secret s3-keys with the keys of the user.
bucket_keys() {
  kube POST /apply '{"kind": "Secret", "metadata": {"name": "s3-keys"}, "stringData": {"AWS_ACCESS_KEY_ID": "'"$key"'", "AWS_SECRET_ACCESS_KEY": "'"$secret"'"}}' >/dev/null
}

case_s3() {
  local bucket key secret region
  serve_buckets AKIDTEST not/to+be+seen eu-west-1 || return
  for bucket in data rotten many large; do put "$bucket"; done
  put data/p/deep/er/text $'of the bucket\n'
  put data/other "not below the prefix"
  # An object whose content has changed since its upload, and a bucket of another user.
  put rotten/p/good good
  put rotten/p/bad bad
  printf 'bed' >"$work/buckets/rotten/p/bad"
  mkdir "$work/buckets/closed"
  bucket_keys
  image prepare "install -m 0755 $here/buckets.sh usr/local/bin/buckets"
  set -- 'launcher: {retries: 0}' \
    "storage: [{name: set, mountPath: /set, s3: {endpoint: \"$place\", bucket: data, prefix: p/, region: eu-west-1, secret: s3-keys, direction: both}}]"
  train 'cat /set/deep/er/text; echo result > /set/out-$OMPI_COMM_WORLD_RANK' "$@"
  expect 0 "of the bucket" "uploaded 2 of 3 files"
  spec '((OMPI_COMM_WORLD_RANK)) || buckets' "$@"
  apply -n team-a "$work/job.yaml"
  expect 0
  [[ -z $(find "$work"/buckets/*/.sgwtmp/multipart -type f) ]] || fail "parts of no object stay in the bucket"
  [[ ! -e $work/buckets/rotten/p/large ]] || fail "an upload went on that had failed"
  ! grep -qF "$secret" "$work"/*.{log,yaml} || fail "the key was shown"
}

# put BUCKET[/KEY TEXT]: creates a bucket or an object as the user whose keys the job has.
put() {
  curl -sS -f --user "$key:$secret" --aws-sigv4 "aws:amz:$region:s3" -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \
    -X PUT --data-binary "${2:-}" "$place/$1" || fail "the bucket does not take $1"
}
