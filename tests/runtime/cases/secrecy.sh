#!/bin/bash
# Checks that keys, tokens and secrets are only where they are needed. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `job` and `run` come from lib.sh

# secrets: prints one secret per line, with its name.
secrets() {
  local name
  for name in id_ed25519 host_key; do
    # No line of a key may be visible.
    echo "$name $(sed -n "s/^  $name: //p" "$work/objects.yaml" | base64 -d | sed -n 4p)"
  done
  echo "token token-of-$job-$run"
  echo "s3 not/to+be+seen"
}

# While ranks run, searches all logs, command lines and environments, and the files and environments of the ranks' pods.
case_shows_no_secret() {
  local what secret pid shown
  cluster
  kube POST /apply '{"kind": "Secret", "metadata": {"name": "s3-keys"}, "stringData": {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "not/to+be+seen"}}' >/dev/null
  # A bucket that does not exist, because error messages could contain secrets. In a second job, because such a job cannot train.
  spec true 'lifecycle: {retries: 0, startTimeout: 60s}' \
    'storage: [{name: set, mountPath: /set, s3: {endpoint: "http://10.88.255.254:9", bucket: data, secretName: s3-keys}}]'
  apply -n team-a "$work/job.yaml"
  wait_for worker-0 "Connection refused" 60
  for pid in $(pgrep -f s3.py); do
    ! tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF not/to+be+seen || fail "the S3 key is an argument"
  done
  spec "$endless"
  apply -n team-a "$work/job.yaml"
  wait_for launcher ":up 3" 60
  while read -r what secret; do
    [[ ${#secret} -ge 10 ]] || fail "no secret to look for: $what"
    shown=$(cd "$work" && grep -lF -- "$secret" ./*.log) && fail "$what is in $shown"
    for pid in $(pgrep .); do
      # The kubelet's environment and this case's are not a pod's.
      [[ $(readlink "/proc/$pid/ns/pid") != "$(readlink /proc/self/ns/pid)" ]] || continue
      if tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$secret"; then fail "$what is an argument of $pid"; fi
      if tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qF -- "$secret"; then fail "$what is in the environment of $pid"; fi
    done
    # A worker has only its host key.
    [[ $what == host_key ]] && continue
    shown=$(inside_pod worker-1 grep -rlsF -- "$secret" /etc /horovod /var/run/secrets /tmp /dev/shm) && fail "$what is in the worker's $shown"
  done < <(secrets)
  inside_pod launcher grep -rqsF -- "$(secrets | sed -n 's/^id_ed25519 //p')" /horovod || fail "the search finds nothing"
  # The launcher's temporary folder is its own.
  [[ $(stat -c %a "/proc/$(<"$work/pods/launcher/pid")/root/horovod/generated/keys/id_ed25519") == 600 ]] || fail "the key is open"
}

# The real ssh-keygen derives from each private key the public key that the Secret holds beside it.
case_ssh_keygen_reads_the_keys() {
  local private public derived
  entry() { sed -n "s/^  $1: //p" "$work/objects.yaml" | base64 -d; }
  spec true
  "$KHOROVOD" render -q --ssh-seed examples/ssh.seed "$work/job.yaml" >"$work/objects.yaml" || fail "not rendered"
  while read -r private public; do
    (umask 077 && entry "$private" >"$work/$private")
    derived=$(ssh-keygen -y -f "$work/$private") || fail "ssh-keygen cannot read $private"
    [[ -n $derived && $(entry "$public") == *"$derived" ]] || fail "$public does not hold the public key of $private"
  done <<<$'id_ed25519 authorized_keys\nhost_key known_hosts'
}

# NetworkPolicies with `security.egress` close what the field describes: egress.py enforces them and connects.
case_egress() {
  type -P nft >/dev/null || { skip "nftables is not installed"; return; }
  spec true
  /usr/bin/python3 "$here/egress.py" "$KHOROVOD" "$work" || fail "other connections: $(tail -n 20 "$work/case.log")"
}
