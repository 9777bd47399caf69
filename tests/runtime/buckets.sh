#!/bin/bash
# Runs on a rank: tests s3.py with valid and invalid buckets.
set -u
mkdir /tmp/s3 && cp /etc/khorovod/scripts/s3.py /tmp/s3

# s3 VERB BUCKET FOLDER [ENDPOINT]: uploads as the run `this`, or as $run.
s3() {
  local words=()
  [[ $1 == download ]] || words=("${run:-this}")
  [[ $1 != save ]] || words+=(set)
  mkdir -p "$3"
  printf '[{"name":"set","path":"%s","endpoint":"%s","bucket":"%s","prefix":"p/","region":"eu-west-1","signed":true,"download":true,"upload":true}]' \
    "$3" "${4:-http://10.88.255.254:9000}" "$2" >/tmp/s3/s3.json
  timeout 40 python3 "${program:-/tmp/s3/s3.py}" "$1" "${words[@]}" 2>&1
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
  pkill -KILL -f "python3 /tmp/s3/"
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
# As if it was killed after it had renamed each file and before it had noted that.
sed -i '/^\["[^"]*", "[^"]*"\]$/d; /^\["[^"]*", \[/d' /tmp/many/.khorovod-s3
[[ $(s3 download many /tmp/many) == *" 0 objects"* ]] || fail "complete files came again"
diff -r -x .khorovod-s3 /tmp/seed /tmp/many || fail "what came of many differs"

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
diff -x .khorovod-s3 /tmp/odd /tmp/data | grep -v "^Only in /tmp/data: " && fail "what came differs"
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
diff -r -x .khorovod-s3 /tmp/out /tmp/back || fail "what came back differs"

# A container that starts again keeps a file that is newer than its upload.
echo uploaded >/tmp/back/empty
s3 upload data /tmp/back >/dev/null || fail "it does not go out again"
echo newer >/tmp/back/empty
s3 download data /tmp/back >/dev/null || fail "it does not come again"
[[ $(cat /tmp/back/empty) == newer ]] || fail "an older object has replaced a file"

# While the training runs: a file that is being written stays out, and one that was replaced since the last time follows.
sed 's/^SETTLED = 5/SETTLED = 2/; s/turns, settled, trusted = 12/turns, settled, trusted = 2/' /tmp/s3/s3.py >/tmp/s3/soon.py
program=/tmp/s3/soon.py
mkdir /tmp/now && echo one >/tmp/now/whole && echo one >/tmp/now/kept
while sleep 0.1; do echo more >>/tmp/now/growing; done &
grower=$!
sleep 2.5
said=$(s3 save while /tmp/now) || fail "$said"
[[ $said == *"uploaded 2 of 3 files"* ]] || fail "not two files, and not the one that grows: $said"
echo two >/tmp/now/new && mv /tmp/now/new /tmp/now/whole
said=$(s3 save while /tmp/now) || fail "$said"
[[ $said == *"uploaded 1 of 3 files"* ]] || fail "not the file that was replaced: $said"
[[ -z $(s3 save while /tmp/now) ]] || fail "nothing is new, but it prints"
kill "$grower" && wait "$grower"

# Another pod of the run gets these files, and not those of another run. A deleted file does not come back.
run=another s3 restore while /tmp/then
[[ ! -e /tmp/then/whole ]] || fail "another run has taken the files"
rm /tmp/now/kept && sleep 2.1
said=$(s3 save while /tmp/now) || fail "$said"
s3 restore while /tmp/then || fail "nothing comes back"
[[ $(cat /tmp/then/whole) == two && -e /tmp/then/growing && ! -e /tmp/then/kept ]] || fail "it comes back differently: $(ls /tmp/then)"
# That pod has a file that is older than the object, and one that is newer.
echo three >/tmp/now/whole && echo newer >/tmp/then/growing && sleep 2.1
s3 save while /tmp/now >/dev/null || fail "the third version does not go out"
said=$(s3 restore while /tmp/then) || fail "$said"
[[ $(cat /tmp/then/whole) == three && $(cat /tmp/then/growing) == newer ]] || fail "an older file stays or a newer one is gone"
# A file that only came from the bucket is not uploaded over a newer version.
echo four >/tmp/now/whole && sleep 2.1
s3 save while /tmp/now >/dev/null || fail "the fourth version does not go out"
KHOROVOD_POD_UID=other s3 upload while /tmp/then >/dev/null || fail "the other pod does not upload"
rm -r /tmp/then && s3 restore while /tmp/then >/dev/null
[[ $(cat /tmp/then/whole) == four && $(cat /tmp/then/growing) == newer ]] || fail "an older file went out: $(cat /tmp/then/whole)"
# A pod that ends does not upload if another one has uploaded since.
echo five >/tmp/now/whole && printf this >/horovod/generated/uploads
s3 leave while /tmp/now
rm -r /tmp/then && s3 restore while /tmp/then >/dev/null
[[ $(cat /tmp/then/whole) == four ]] || fail "a pod that has no part any more has uploaded"
s3 save while /tmp/now >/dev/null && echo six >/tmp/now/whole
s3 leave while /tmp/now >/dev/null || fail "the pod that uploads does not upload at its end"
rm -r /tmp/then && s3 restore while /tmp/then >/dev/null
[[ $(cat /tmp/then/whole) == six ]] || fail "the last version is missing"
rm -f /horovod/generated/uploads

# A run that is as the one before: an object that is equal is not uploaded, and counts as this run's.
mkdir /tmp/again && cp /tmp/then/whole /tmp/again
run=next s3 upload while /tmp/again | grep -q "uploaded 0 of 1" || fail "an equal file went out"
run=next s3 restore while /tmp/equal
[[ $(cat /tmp/equal/whole) == six && ! -e /tmp/equal/growing ]] || fail "not the files of the next run: $(ls /tmp/equal)"

# A small file appears after the large one that it names.
mkdir /tmp/order && cp /tmp/large/file /tmp/order/large && echo large >/tmp/order/latest && sleep 2.1
breaks_off $((100 << 20)) save order /tmp/order
[[ $(s3 download order /tmp/early) == *" 0 objects"* ]] || fail "a small file came before the large one: $(ls /tmp/early)"
s3 save order /tmp/order >/dev/null && s3 download order /tmp/order2 >/dev/null
diff -x .khorovod-s3 /tmp/order /tmp/order2 || fail "what came of the order differs"
[[ -z $failed ]]
