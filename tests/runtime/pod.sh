#!/bin/bash
# pod.sh NAME ADDRESS SCRIPT: runs a script as a restricted pod would: own network, processes,
# host name and root, user 65532, no capability. Ends with the script's code.
set -eu
name=$1 address=$2 script=$3
# From the caller: the folder of its pods, and the files of the plan.
: "${work:?}" "${files:?}"

if [[ ${4:-} != inside ]]; then
  ip netns delete "$name" 2>/dev/null || true
  ip netns add "$name"
  link=v${address##*.}
  ip link delete "$link" 2>/dev/null || true
  ip link add "$link" type veth peer name eth0 netns "$name"
  ip link set "$link" master pods up
  ip -n "$name" addr add "$address/24" dev eth0
  ip -n "$name" link set eth0 up
  ip -n "$name" link set lo up
  exec ip netns exec "$name" unshare --mount --uts --pid --fork --kill-child "$0" "$@" inside
fi

hostname "$name"
root=$work/$name
mkdir -p "$root"
mount -t tmpfs layer "$root"
mkdir "$root"/{upper,work,root}
mount -t overlay pod -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/root"
root=$root/root
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmp "$root/tmp" && chmod 1777 "$root/tmp"
mkdir -p "$root"/etc/khorovod/{scripts,keys,current} "$root/horovod/generated"
mount -t tmpfs generated "$root/horovod/generated" && chmod 0777 "$root/horovod/generated"
for folder in scripts keys current; do mount --bind "$files/$folder" "$root/etc/khorovod/$folder"; done
# /var/run is a link that would lead out of the root.
mkdir -p "$root/run/secrets/kubernetes.io/serviceaccount"
mount --bind "$work/account" "$root/run/secrets/kubernetes.io/serviceaccount"
cp "$files/scripts/passwd" "$root/etc/passwd"
cp "$work/hosts" "$root/etc/hosts"
if [[ -n ${MPI:-} ]]; then ln -sf "mpirun.$MPI" "$root/usr/bin/mpirun"; fi
cd /
# shellcheck disable=SC2086 # words
exec chroot "$root" setpriv --reuid 65532 --regid 65532 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs \
  env -i PATH="$PATH" HOSTNAME="$name" MODE="of the pod" KUBERNETES_SERVICE_HOST=10.88.0.1 KUBERNETES_SERVICE_PORT=6443 \
  OMPI_MCA_plm_rsh_agent=/horovod/generated/bin/ssh OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_orte_keep_fqdn_hostnames=true \
  ${MORE:-} /bin/bash "/etc/khorovod/scripts/$script"
