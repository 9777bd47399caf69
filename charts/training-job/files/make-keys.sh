#!/bin/bash
# Creates a release's ssh Secret if it does not exist. Never changes existing keys: a run may be using them.
# Runs in the job's image, so it requires only what every such image has: bash, ssh-keygen, curl or python3.
set -euo pipefail
umask 077
account=/var/run/secrets/kubernetes.io/serviceaccount
cd "$(mktemp -d)"

die() {
  echo "$*" | tee /dev/termination-log >&2
  exit 1
}

# call METHOD PATH [FILE]: calls the API server; sets `answer` and its HTTP `status`, 000 without a response.
call() {
  local host=$KUBERNETES_SERVICE_HOST reply
  [[ $host != *:* ]] || host="[$host]"
  local url="https://$host:$KUBERNETES_SERVICE_PORT$2"
  if type -P curl >/dev/null; then
    # The token goes through a pipe, because other processes can read arguments.
    reply=$(printf 'header = "Authorization: Bearer %s"\n' "$(<"$account/token")" |
      curl -sS -m 10 -K - --cacert "$account/ca.crt" -X "$1" -H 'Content-Type: application/json' \
        ${3:+--data-binary "@$3"} -w '\n%{http_code}' "$url" 2>&1) || true
  else
    reply=$(python3 - "$1" "$url" "${3:-}" 2>&1 <<'PYTHON'
import ssl, sys, urllib.error, urllib.request
account = "/var/run/secrets/kubernetes.io/serviceaccount/"
method, url, file = sys.argv[1:]
headers = {"Authorization": "Bearer " + open(account + "token").read().strip(), "Content-Type": "application/json"}
request = urllib.request.Request(url, open(file, "rb").read() if file else None, headers, method=method)
try:
    trust = ssl.create_default_context(cafile=account + "ca.crt")
    with urllib.request.urlopen(request, timeout=10, context=trust) as answer:
        print(answer.read().decode(), answer.status, sep="\n")
except urllib.error.HTTPError as error:
    print(error.read().decode(), error.code, sep="\n")
except OSError as error:
    print(error, "000", sep="\n")
PYTHON
    ) || true
  fi
  status=${reply##*$'\n'} answer=${reply%$'\n'*}
}

secrets=/api/v1/namespaces/$(<"$account/namespace")/secrets
for ((tries = 0; tries < 10; tries++)); do
  call GET "$secrets/$SECRET"
  # The API server may need a moment to apply a Role that is as new as this pod.
  [[ $status == 000 || $status == 403 ]] || break
  sleep 1
done
case $status in
  200)
    [[ $answer =~ \"app.kubernetes.io/instance\":\ *\"$RELEASE\" ]] ||
      die "the Secret $SECRET exists and belongs to another release: name it in existingSecret, or rename the job"
    echo "the Secret $SECRET exists; its keys do not change"
    exit
    ;;
  404) ;;
  *) die "cannot read the Secret $SECRET (HTTP $status): ${answer:0:300}" ;;
esac

type -P ssh-keygen >/dev/null || die "the image has no ssh-keygen: add the OpenSSH client, or set existingSecret"
for key in id_ed25519 host_key; do ssh-keygen -q -t ed25519 -N '' -C "khorovod $key $SECRET" -f "$key"; done
mv id_ed25519.pub authorized_keys
echo "khorovod-worker $(<host_key.pub)" >known_hosts
data=''
for entry in id_ed25519 authorized_keys host_key known_hosts; do
  data+=${data:+,}\"$entry\":\"$(base64 "$entry" | tr -d '\n')\"
done
printf '{"apiVersion":"v1","kind":"Secret","type":"Opaque","metadata":%s,"data":{%s}}' "$(</files/metadata.json)" "$data" >secret.json
call POST "$secrets" secret.json
[[ $status == 201 ]] || die "cannot create the Secret $SECRET (HTTP $status): ${answer:0:300}"
echo "created the Secret $SECRET"
