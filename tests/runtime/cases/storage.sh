#!/bin/bash
# S3 volumes against a server of buckets. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `here`, `job` and `run` come from lib.sh

# A Python with a server of buckets.
moto=$tools_cache/moto-5.1.22/bin/python
prepare_s3() {
  [[ -x $moto ]] || { python3 -m venv "${moto%/bin/*}" && "${moto%/*}/pip" install -q "moto[s3,server]==5.1.22"; } || rm -rf "${moto%/bin/*}"
}

case_s3() {
  [[ -x $moto ]] || { skip "moto could not be installed"; return; }
  cluster
  "$moto" "$here/buckets.py" >"$work/s3.log" 2>&1 &
  until curl -sf http://10.88.255.254:9000/ready >/dev/null; do sleep 1; done
  kube POST /apply '{"kind": "Secret", "metadata": {"name": "s3-keys"}, "stringData": {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "not/to+be+seen"}}' >/dev/null
  image prepare "install -m 0755 $here/buckets.sh usr/local/bin/buckets"
  set -- 'launcher: {retries: 0}' \
    'storage: [{name: set, mountPath: /set, s3: {endpoint: "http://10.88.255.254:9000", bucket: data, prefix: p/, region: eu-west-1, secret: s3-keys, direction: both}}]'
  train 'cat /set/deep/er/text; echo result > /set/out-$OMPI_COMM_WORLD_RANK' "$@"
  expect 0 "of the bucket" "2 of 206 files were new and went out"
  spec '((OMPI_COMM_WORLD_RANK)) || buckets' "$@"
  apply -n team-a "$work/job.yaml"
  expect 0
  ! grep -q "not/to+be+seen" "$work"/*.log || fail "the key was shown"
}
