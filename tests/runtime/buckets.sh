#!/bin/bash
# Runs on a rank: tests s3.py with valid and invalid buckets.
set -u
mkdir /tmp/s3 && cp /etc/khorovod/scripts/s3.py /tmp/s3

# s3 VERB BUCKET FOLDER [ENDPOINT]
s3() {
  mkdir -p "$3"
  printf '[{"name":"set","path":"%s","endpoint":"%s","bucket":"%s","prefix":"p/","region":"eu-west-1","signed":true,"download":true,"upload":true}]' \
    "$3" "${4:-http://10.88.255.254:9000}" "$2" >/tmp/s3/s3.json
  timeout 40 python3 "${program:-/tmp/s3/s3.py}" "$1" 2>&1
}

# refuses TEXT ARGUMENTS...: checks that s3.py exits with 1 and prints the reason, without a Python traceback.
refuses() {
  local text=$1 said
  shift
  said=$(s3 "$@") && fail "$* did not fail: $said"
  [[ $said == *"$text"* ]] || fail "$* did not print '$text': $said"
  [[ $said != *Traceback* ]] || fail "$* broke: $said"
}

# traffic: prints how many bytes this pod has received and sent.
traffic() { awk '/eth0/ { print $2 + $10 }' /proc/net/dev; }

# breaks_off BYTES ARGUMENTS...: kills s3.py after that many bytes of traffic. Also checks that no process shows the key.
breaks_off() {
  local limit=$(($(traffic) + $1))
  shift
  s3 "$@" >/dev/null &
  until (($(traffic) > limit)); do
    kill -0 $! 2>/dev/null || { fail "$* was not killed on the way"; return; }
    sleep 0.01
  done
  ! grep -qs 'not/to+be+see[n]' /proc/[0-9]*/{cmdline,environ} || fail "a process shows the key"
  pkill -KILL -f s3.py
  wait
}

fail() {
  echo "$*"
  failed=1
}
failed=''

refuses "p/bad: the data does not match its ETag bae60998ffe4923b131e3d6e4c19993e" download rotten /tmp/rotten
[[ ! -e /tmp/rotten/bad ]] || fail "the rotten object is there"
refuses "HTTP 403 AccessDenied" download closed /tmp/closed
refuses "HTTP 404 NoSuchBucket" download nowhere /tmp/nowhere
sed 's/^TRIES = .*/TRIES = 4/' /tmp/s3/s3.py >/tmp/s3/few.py
program=/tmp/s3/few.py refuses "Connection refused" download data /tmp/down http://10.88.255.254:9

# Killed during a copy and started again: no object is copied twice. There are more objects than in one list response.
mkdir /tmp/seed /tmp/seed/{0..6}
for ((number = 0; number < 1100; number++)); do
  printf "$number%.0s" {1..1000} >"/tmp/seed/$((number % 7))/$number"
done
[[ $(s3 upload many /tmp/seed) == *"1100 of 1100 files"* ]] || fail "many files do not go out"
breaks_off $((1 << 20)) download many /tmp/many
s3 download many /tmp/many >/dev/null || fail "it does not go on"
[[ -z $(sort /tmp/many/.khorovod-s3 | uniq -d) ]] || fail "something came twice"
rm /tmp/many/.khorovod-s3
diff -r /tmp/seed /tmp/many || fail "what came of many differs"

# The same within one object, for upload and download: finished parts are not sent again, and no partial file is visible.
mkdir /tmp/large && head -c 300M /dev/urandom >/tmp/large/file
breaks_off $((150 << 20)) upload large /tmp/large
[[ $(s3 download large /tmp/half) == *" 0 objects"* ]] || fail "half an object shows"
before=$(traffic)
[[ $(s3 upload large /tmp/large) == *"1 of 1 files"* ]] || fail "the large file does not go out"
after=$(traffic)
((after - before < 200 << 20)) || fail "of 300 MiB, half of them there, $(((after - before) >> 20)) went out"
breaks_off $((200 << 20)) download large /tmp/copy
[[ ! -e /tmp/copy/file ]] || fail "half a file shows"
before=$(traffic)
s3 download large /tmp/copy >/dev/null || fail "the large object does not come"
after=$(traffic)
((after - before < 250 << 20)) || fail "of 300 MiB, two thirds of them there, $(((after - before) >> 20)) came"
cmp /tmp/large/file /tmp/copy/file || fail "the large object differs"

# One file cannot be read: the upload of the other stops, and its parts are deleted.
mkdir /tmp/unread && cp /tmp/large/file /tmp/unread/large && touch /tmp/unread/small && chmod 0 /tmp/unread/small
refuses "Permission denied: '/tmp/unread/small'" upload rotten /tmp/unread

# Downloads and verifies objects with other part sizes, empty objects and unusual names. Uploads changed files, large ones in
# parts, and downloads the same content.
mkdir -p /tmp/odd && head -c 20M /dev/urandom >/tmp/odd/parts
printf x >"/tmp/odd/a b+ü~"
touch /tmp/odd/empty
sed 's/^PART = .*/PART = 7 << 20/' /tmp/s3/s3.py >/tmp/s3/sevens.py
program=/tmp/s3/sevens.py s3 upload data /tmp/odd
said=$(s3 download data /tmp/data) || fail "$said"
[[ $said != *"only its size"* ]] || fail "parts were not verified: $said"
diff /tmp/odd /tmp/data | grep -v "^Only in /tmp/data: " && fail "what came differs"
[[ $(cat /tmp/data/out-0 /tmp/data/out-1 | xargs) == "result result" ]] || fail "the job's results are not in the bucket"
cp -r /tmp/data /tmp/out
for _ in 1 2 3 4; do cat /tmp/data/parts; done >/tmp/out/large
echo changed >/tmp/out/empty
limit=$(($(traffic) + (8 << 20)))
s3 upload data /tmp/out >/tmp/said &
until (($(traffic) > limit)) || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
[[ $(s3 upload data /tmp/out) == *"0 of "* ]] || fail "what another was sending went out again"
wait
grep -q "2 of " /tmp/said || fail "not two files went out"
s3 download data /tmp/back >/dev/null || fail "it does not come back"
rm /tmp/{out,back}/.khorovod-s3
diff -r /tmp/out /tmp/back || fail "what came back differs"
[[ -z $failed ]]
