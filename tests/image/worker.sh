#!/usr/bin/env bash
# Checks that a built worker image is as documented in docs/images.md: `tests/image/worker.sh ARCHIVE`.
#
# Unpacks the image and runs it with chroot and without a network, as the user of jobs and as a user ID that OpenShift assigns.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
archive=$(realpath "$1")
passed=0 failed=0

work=$(mktemp -d)
container=$(buildah from --pull-never "docker-archive:$archive") || exit
trap 'buildah rm "$container" >/dev/null; rm -rf "$work"' EXIT
root=$(buildah mount "$container")

# inside UID:GID COMMAND…: runs a command in the image, with a read-only root file system as in a job's pod.
inside() {
  local user=$1
  shift
  # shellcheck disable=SC2016 # expanded by the shell inside
  unshare --mount --pid --net --fork --mount-proc="$root/proc" /bin/bash -c '
    root=$1 user=$2; shift 2
    ip link set lo up
    mount --bind "$root" "$root" && mount -o remount,ro,bind "$root" && mount -t proc proc "$root/proc"
    mount -t tmpfs dev "$root/dev" && mkdir "$root/dev/shm" && chmod 1777 "$root/dev/shm"
    for device in null zero urandom random tty; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
    ln -s /proc/self/fd "$root/dev/fd"
    mount -t tmpfs tmp "$root/tmp" && chmod 1777 "$root/tmp"
    cd / && exec chroot --userspec="$user" --groups= "$root" /usr/bin/env -i HOME=/tmp PATH=/usr/local/bin:/usr/bin:/bin timeout 120 "$@"
  ' bash "$root" "$user" "$@" 2>&1
}

# check WHAT TEXT COMMAND…: checks that a command exits with 0 and that its output matches the pattern TEXT.
check() {
  local what=$1 text=$2 said
  shift 2
  if said=$("$@" 2>&1) && grep -qE -- "$text" <<<"$said"; then
    passed=$((passed + 1)) && echo "ok     $what"
  else
    failed=$((failed + 1)) && printf 'FAILED %s: no %s in\n%s\n' "$what" "$text" "$said"
  fi
}

cp tests/programs/{horovod_sum,torch_sum}.py "$root/workspace/"
# Like the file that container runtimes create.
echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"

for launcher in mpirun horovodrun torchrun shell; do
  check "check-image, $launcher" 'nothing is missing' image/check-image --root "$root" --launcher "$launcher"
done
build=$(inside 65532:0 horovodrun --check-build)
for part in PyTorch MPI Gloo; do check "Horovod with $part" "\[X\] $part" echo "$build"; done
# The user of jobs, and one of OpenShift.
# shellcheck disable=SC2016 # expanded by the shell inside
for user in 65532:65532 1000670000:0; do
  check "mpirun as $user" 'rank 1 of 2 on .*: sum 1' inside "$user" mpirun --oversubscribe -np 2 python /workspace/horovod_sum.py
  check "horovodrun over Gloo as $user" 'rank 1 of 2 on .*: sum 1' inside "$user" horovodrun --gloo -np 2 -H localhost:2 python /workspace/horovod_sum.py
  check "torchrun as $user" 'rank 1 of 2 on .*: sum 1' inside "$user" torchrun --standalone --nproc-per-node 2 \
    --no-python sh -c 'test "$TORCHELASTIC_RUN_ID" != none && exec python /workspace/torch_sum.py'
  check "torchrun, static, as $user" 'rank 1 of 2 on .*: sum 1' inside "$user" torchrun --nproc-per-node 2 \
    --no-python sh -c 'test "$TORCHELASTIC_RUN_ID" = none && exec python /workspace/torch_sum.py'
  check "the preflight's help as $user" 'khorovod-preflight' inside "$user" khorovod-preflight --help
  check "the benchmark's help as $user" 'khorovod-bandwidth' inside "$user" khorovod-bandwidth --help
done
check 'group 0 may write where programs work' '^(775 0 ){2}$' echo "$(stat -c '%a %g ' "$root/workspace" "$root/home/khorovod" | tr -d '\n')"
check 'no ssh host key' '^0$' sh -c "find '$root' -xdev -name 'ssh_host_*_key' | wc -l"
check 'no library lacks another' '^0$' inside 65532:65532 sh -c \
  'find /usr/lib /usr/local/lib -name "*.so*" -type f -not -path "*/nvidia/*" -not -path "*/torch/lib/*" -exec ldd {} + 2>/dev/null | grep -c "not found" || true'
check 'a user and labels' '65532:0 khorovod worker' buildah inspect --type image --format \
  '{{.OCIv1.Config.User}} {{index .OCIv1.Config.Labels "org.opencontainers.image.title"}}' "$(buildah inspect --format '{{.FromImageID}}' "$container")"

# The bill of materials: the file next to the archive is the same as in the image, and contains all packages of dpkg and pip.
check 'the bill of materials next to the archive is the one in the image' '^same$' sh -c "cmp '$archive.spdx.json' '$root/usr/share/khorovod/sbom.spdx.json' && echo same"
check 'the bill of materials is complete' '^whole$' python3 - "$archive.spdx.json" "$root/var/lib/dpkg/status" "$root"/usr/local/lib/python3*/dist-packages <<'PYTHON'
import json
import pathlib
import re
import sys

bill = json.load(open(sys.argv[1]))
assert bill["spdxVersion"] == "SPDX-2.3"
have = {entry["name"] for entry in bill["packages"]}
debian = set(re.findall(r"^Package: (\S+)\nStatus: install ok installed", open(sys.argv[2]).read(), re.M))
pip = {re.sub(r"[-_.]+", "-", path.name.split("-")[0]).lower() for path in pathlib.Path(sys.argv[3]).glob("*.dist-info")}
assert len(debian) > 100 and "horovod" in pip, (len(debian), pip)
assert debian | pip <= have, (debian | pip) - have
assert len({entry["SPDXID"] for entry in bill["packages"]}) == len(bill["packages"])
print("whole")
PYTHON

echo "$passed passed, $failed failed"
((failed == 0))
