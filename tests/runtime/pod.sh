#!/bin/bash
# pod.sh NAME ADDRESS SCRIPT: runs a script as a restricted pod would: own network, processes,
# host name and root, user 65532, no capability. Ends with the script's code.
#
# From the caller: the folder of its pods and the files of the plan; UID_OF_PODS where the platform
# chooses it, WITHOUT a program of the image, MORE environment, the MPI of the image.
set -eu
name=$1 address=$2 script=$3
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
mkdir -p "$root"/etc/khorovod/{scripts,keys,current,s3} "$root/horovod/generated" "$root/set"
for folder in tmp horovod/generated set; do mount -t tmpfs scratch "$root/$folder" && chmod 1777 "$root/$folder"; done
for folder in "$files"/*; do mount --bind "$folder" "$root/etc/khorovod/${folder##*/}"; done
# /var/run is a link that would lead out of the root.
mkdir -p "$root/run/secrets/kubernetes.io/serviceaccount"
mount --bind "$work/account" "$root/run/secrets/kubernetes.io/serviceaccount"
cp "$work/hosts" "$root/etc/hosts"
if [[ -n ${MPI:-} ]]; then ln -sf "mpirun.$MPI" "$root/usr/bin/mpirun"; fi
if [[ -n ${WITHOUT:-} ]]; then rm "$root/usr/bin/$WITHOUT"; fi
cd /
user=${UID_OF_PODS:-65532}
enter=(chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs)
if [[ -e $files/scripts/passwd ]]; then
  cp "$files/scripts/passwd" "$root/etc/passwd"
else
  # As the init container does.
  "${enter[@]}" /bin/bash /etc/khorovod/scripts/passwd.sh
  mount --bind "$root/horovod/generated/passwd" "$root/etc/passwd"
fi
# shellcheck disable=SC2086 # words
exec "${enter[@]}" env -i PATH="${PATH#*/shims:}" HOSTNAME="$name" MODE="of the pod" \
  KUBERNETES_SERVICE_HOST=10.88.0.1 KUBERNETES_SERVICE_PORT=6443 \
  OMPI_MCA_plm_rsh_agent=/horovod/generated/bin/ssh OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_orte_keep_fqdn_hostnames=true \
  ${MORE:-} /bin/bash "/etc/khorovod/scripts/$script"
