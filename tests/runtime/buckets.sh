#!/bin/bash
# On a rank: what s3.py does with good and bad buckets.
set -u
mkdir /tmp/s3 && cp /etc/khorovod/scripts/s3.py /tmp/s3

# s3 VERB BUCKET FOLDER [ENDPOINT]
s3() {
  mkdir -p "$3"
  printf '[{"name":"set","path":"%s","endpoint":"%s","bucket":"%s","prefix":"p/","region":"eu-west-1","signed":true,"download":true,"upload":true}]' \
    "$3" "${4:-http://10.88.255.254:9000}" "$2" >/tmp/s3/s3.json
  timeout 40 python3 /tmp/s3/s3.py "$1" 2>&1
}

# refuses TEXT ARGUMENTS...: ends with 1, says why, and shows no trace of Python.
refuses() {
  local text=$1 said
  shift
  said=$(s3 "$@") && fail "$* did not fail: $said"
  [[ $said == *"$text"* ]] || fail "$* did not say '$text': $said"
  [[ $said != *Traceback* ]] || fail "$* broke: $said"
}

fail() {
  echo "$*"
  failed=1
}
failed=''

refuses "p/bad: what came is not what its ETag 00000000000000000000000000000000 says" download rotten /tmp/rotten
[[ ! -e /tmp/rotten/bad ]] || fail "the rotten object is there"
refuses "HTTP 403" download closed /tmp/closed
refuses "HTTP 404 NoSuchBucket" download nowhere /tmp/nowhere
refuses "Connection refused" download data /tmp/down http://10.88.255.254:9

# Killed on the way, and started anew: nothing comes twice.
s3 download many /tmp/many >/dev/null &
until [[ $(wc -l 2>/dev/null </tmp/many/.khorovod-s3) -gt 50 ]]; do sleep 0.01; done
pkill -KILL -f s3.py
wait
before=$(find /tmp/many -type f -path '*/[0-6]/*' ! -name '*part' | wc -l)
((before < 600)) || fail "it was not killed on the way"
s3 download many /tmp/many >/dev/null || fail "it does not go on"
[[ -z $(sort /tmp/many/.khorovod-s3 | uniq -d) ]] || fail "something came twice"
for ((number = 0; number < 600; number++)); do
  [[ $(sed "s/$number//g" "/tmp/many/$((number % 7))/$number") == '' ]] || fail "$number is wrong"
done
[[ $(find /tmp/many -type f | wc -l) == 601 ]] || fail "not 600 files"

# Objects in parts, empty ones and odd names come in, all verified; what changed goes out, in parts
# where it is large, and comes back the same.
said=$(s3 download data /tmp/data) || fail "$said"
[[ $said != *"only its size"* ]] || fail "parts were not verified: $said"
[[ $(stat -c %s /tmp/data/parts /tmp/data/empty "/tmp/data/a b+ü~" | xargs) == "20971520 0 1" ]] || fail "sizes"
[[ $(cat /tmp/data/out-0 /tmp/data/out-1 | xargs) == "result result" ]] || fail "the job's results are not in the bucket"
cp -r /tmp/data /tmp/out
for _ in 1 2 3 4; do cat /tmp/data/parts; done >/tmp/out/large
echo changed >/tmp/out/empty
[[ $(s3 upload data /tmp/out) == *"2 of "* ]] || fail "not two files went out"
[[ $(s3 upload data /tmp/out) == *"0 of "* ]] || fail "the same went out again"
s3 download data /tmp/back >/dev/null || fail "it does not come back"
rm /tmp/{out,back}/.khorovod-s3
diff -r /tmp/out /tmp/back || fail "what came back differs"
[[ -z $failed ]]
