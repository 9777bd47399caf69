#!/bin/bash
# host.sh FOLDER: the first process of a local run, in a process namespace of its own. Starts the pods, and starts workers again
# that end, like Kubernetes. Prints an event per line: `worker NAME CODE` or `launcher CODE`. The line `stop` on standard input ends
# the launcher. If standard input ends, because `khorovod run` has ended in any way, no process and no file of the run stays.
set -u
cd "$1" && (($$ == 1)) || exit
launcher=$(<launcher)

# run_pod NAME: runs the containers of a pod, and returns the exit code of the last one.
run_pod() {
  local container code=0
  for container in "pods/$1"/containers/*; do
    unshare --mount --uts --ipc --pid --fork --kill-child /bin/bash pod.sh "$PWD/pods/$1" "$PWD/$container" \
      </dev/null >>"pods/$1/log" 2>&1 &
    echo $! >"pods/$1/pid"
    wait $!
    code=$?
    # unshare of util-linux 2.38 reports a process that was killed as a failure of its own.
    [[ $code != 1 || $(tail -n 1 "pods/$1/log") != "unshare: sigprocmask"* ]] || code=137
    ((code == 0)) || break
  done
  return "$code"
}

# Kubernetes starts a worker again however it ends, but a pod of an Indexed Job only if it has failed.
keep_worker() {
  local code
  while :; do
    run_pod "$1"
    code=$?
    [[ $code != 0 || -e stays ]] || return
    echo "worker $1 $code"
    sleep 1
  done
}

# Sends SIGTERM to the first process of the launcher, as Kubernetes does.
stop_launcher() {
  local pid children=''
  read -r pid <"pods/$launcher/pid"
  read -r children <"/proc/$pid/task/$pid/children"
  # shellcheck disable=SC2086 # a list
  [[ -z $children ]] || kill -TERM $children
}

for pod in pods/*; do
  [[ ${pod#pods/} == "$launcher" ]] || keep_worker "${pod#pods/}" &
done
{
  run_pod "$launcher"
  echo "launcher $?"
} &
while read -r word; do
  [[ $word != stop ]] || stop_launcher 2>/dev/null
done
kill -KILL -1
wait
rm -rf "$PWD"
