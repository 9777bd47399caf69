#!/usr/bin/env bash
# Measures what a launcher uses while ranks run: bench/launcher.sh [WORKERS [SECONDS]] >bench/launcher.md
# Requires root, because it makes namespaces and a cgroup. Set KHOROVOD to measure another binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
KHOROVOD=${KHOROVOD:-$(shipped)}
export KHOROVOD PYTHONDONTWRITEBYTECODE=1
made=()
# The launcher's folders are mount points, which must exist.
for folder in /horovod /etc/khorovod; do
    [[ -d $folder ]] || { mkdir "$folder" && made+=("$folder"); }
done
trap '((!${#made[@]})) || rmdir "${made[@]}"' EXIT
unshare --mount --net --pid --fork --kill-child --mount-proc /usr/bin/python3 -P bench/launcher.py "${1:-256}" "${2:-3600}"
