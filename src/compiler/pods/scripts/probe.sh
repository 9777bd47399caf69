#!/bin/bash
# probe.sh PORT DOMAIN HOST[=ADDRESS]...: prints one line for each host whose sshd answers as that host of the job:
# `HOST MPI ADDRESS NODE[=DOMAIN] INSTANCE [leaving]`, from the greeting that sshd.sh sets.
#
# The name is checked because a DNS record may still hold the address of an earlier pod, and all workers have the same host
# key. With an address no name is resolved.
#
# probe.sh PORT same [ADDRESS NAME ANSWER]...: fails unless each of these hosts gives this answer, which is such a line without the host. It
# prints nothing, and one process connects to all, so that a host that accepts no connection delays the others.
port=$1 domain=$2
shift 2
exec 2>/dev/null

# bash reads from a connection byte by byte, except with -N. A greeting consists of a version, ` khorovod `, a name, a space, the answer and
# `\r\n`. The first `read` requests less than that, also if the name is `-`, and finds the length of the version.
if [[ $domain == same ]]; then
  connections=() names=() answers=() length=0
  while (($#)); do
    exec {connection}<>"/dev/tcp/$1/$port" || exit
    connections+=("$connection") names+=("$2") answers+=("$3")
    shift 3
  done
  for index in "${!connections[@]}"; do
    connection=${connections[index]} name=${names[index]} answer=${answers[index]}
    read -r -N "$((20 + ${#answer}))" -u "$connection" start || exit
    if [[ ${start:length:10} != " khorovod " ]]; then
      version=${start%% khorovod *} length=${#version}
      [[ $version != "$start" ]] || exit 1
    fi
    [[ ${start:length + 10:2} != "- " ]] || name=-
    read -r -N "$((length + ${#name} - 8))" -u "$connection" end || exit
    [[ $start$end == "SSH-"*" khorovod $name $answer"$'\r' ]] || exit 1
  done
  exit
fi

for target; do
  {
    host=${target%%=*} address=${target#*=}
    [[ $target != "$host" ]] || address=$host$domain
    exec {connection}<>"/dev/tcp/$address/$port" && read -r -u "$connection" greeting || exit
    words=${greeting#SSH-* khorovod }
    name=${words%% *}
    [[ $words != "$greeting" && ($name == - || $name == "${host%%.*}") ]] || exit
    words=${words%$'\r'}
    echo "$host ${words#* }"
  } &
done
wait
