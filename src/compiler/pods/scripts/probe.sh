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
  args=("$@") length=0
  for ((i = 0; i < $#; i += 3)); do
    exec {fd}<>"/dev/tcp/${args[i]}/$port" || exit
    args[i]=$fd
  done
  for ((i = 0; i < $#; i += 3)); do
    name=${args[i + 1]} answer=${args[i + 2]}
    read -r -N "$((20 + ${#answer}))" -u "${args[i]}" start || exit
    [[ ${start:length:10} == " khorovod " ]] || version=${start%% khorovod *} length=${#version}
    [[ ${start:length + 10:2} != "- " ]] || name=-
    read -r -N "$((length + ${#name} - 8))" -u "${args[i]}" end || exit
    [[ $start$end == SSH-*" khorovod $name $answer"$'\r' ]] || exit 1
  done
  exit
fi

for target; do
  {
    host=${target%%=*} address=${target#*=}
    [[ $target != "$host" ]] || address+=$domain
    read -r greeting <"/dev/tcp/$address/$port"
    [[ $greeting =~ ^SSH-.*\ khorovod\ (-|"${host%%.*}")\ (.*[^$'\r']) ]] && echo "$host ${BASH_REMATCH[2]}"
  } &
done
wait
