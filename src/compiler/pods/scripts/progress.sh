#!/bin/bash
# progress.sh HOST: prints HOST and what changes if the training makes progress: the time of stall_file and the values of
# stall_metric on this host.
#
# progress.sh HOST steps: prints `MICROSECONDS SECONDS RANK HOST` for each rank that has written the time of its steps lately.
. /etc/khorovod/scripts/job.sh
if [[ ${2:-} == steps ]]; then
  while read -r file; do
    { read -r _ seconds _ <"$file"; } 2>/dev/null
    [[ ${seconds:-} =~ ^[0-9]{1,6}(\.[0-9]+)?$ ]] || continue
    LC_ALL=C printf -v micro '%.6f' "$seconds"
    echo "$((10#${micro/./})) $seconds ${file##*/} $1"
  done < <(find /horovod/generated/steps -type f -mmin -10)
  exit
fi
changed=-
if [[ -n $stall_file ]]; then changed+=$(timeout 5 stat -L -c '%y-%s' "$stall_file" 2>/dev/null); fi
if [[ -n $stall_metric ]] && { exec 3<>"/dev/tcp/127.0.0.1/$metrics_port"; } 2>/dev/null; then
  printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
  while IFS= read -r -t 5 line; do
    [[ ${line%%[\{ ]*} != "$stall_metric" ]] || changed+=" ${line%$'\r'}"
  done <&3
fi
echo "$1 $(cksum <<<"$changed")"
