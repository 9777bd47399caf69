#!/bin/bash
# The liveness probe of a pod with launcher.sh or agent.sh. Fails if the time in `next-beat` has passed (see `beat` in attempt.sh), and
# prints the processes of the pod.
generated=/horovod/generated
exec 2>/dev/null
# The file may be empty while it is written.
read -r due <"$generated/next-beat" || exit 0
printf -v now '%(%s)T' -1
((now > due)) || exit 0

list_processes() {
  local folder line state parent words wchan
  for folder in /proc/[0-9]*; do
    IFS= read -r line <"$folder/stat" || continue
    mapfile -d '' -t words <"$folder/cmdline"
    read -r state parent _ <<<"${line##*) }"
    wchan=''
    read -r wchan <"$folder/wchan"
    line="${words[*]}"
    echo "  process ${folder#/proc/} of $parent, state $state, in the kernel ${wchan:-?}: ${line:0:150}"
  done | sort -n -k 2 | head -n 40
}

text="$(printf '%(%H:%M:%S)T' "$now") khorovod: the script of this pod hangs since $(printf '%(%H:%M:%S)T' "$due"); its processes:
$(list_processes)"
printf '%.1900s\n' "$text"
# The log of the pod shows the text once, although the probe fails several times.
[[ -e $generated/hung ]] || echo "$text" >/proc/1/fd/2
: >"$generated/hung"
exit 1
