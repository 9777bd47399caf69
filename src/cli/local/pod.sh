#!/bin/bash
# pod.sh POD CONTAINER: the first process of a pod. Builds a root of this machine's files and the pod's volumes, and executes the
# command of a container as the user of the spec, like in the cluster. The arguments are folders that `khorovod run --local` has written.
set -eu
pod=$1 container=$2 root=$1/root
PATH=$PATH:/usr/sbin:/sbin
hostname "$(<"$pod/hostname")"
mount -t tmpfs -o mode=755 root "$root"

# The machine's folders, except those that every pod has for itself. After pivot_root the machine's root is at /.machine.
declare -A own=(["$root"]=1)
mkdir "$root/.machine"
for entry in /*; do
  here=$root$entry
  case $entry in
  /proc) mkdir "$here" && mount -t proc proc "$here" ;;
  /tmp) mkdir -m 1777 "$here" ;;
  *)
    if [[ -L $entry ]]; then
      cp -P "$entry" "$here"
    elif [[ -d $entry ]]; then
      mkdir "$here" && mount --rbind "$entry" "$here"
    fi
    ;;
  esac
done
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
volumes=(/dev/shm)

# own_folder PATH: makes a folder of the new root one in which this pod can create files. It keeps the machine's entries, as links.
own_folder() {
  local here=$root$1 entry
  [[ -z ${own[$here]:-} ]] || return 0
  own[$here]=1
  if [[ -d $here && ! -L $here ]]; then
    mount -t tmpfs -o mode=755 folder "$here"
  else
    rm -f "$here" && mkdir "$here"
  fi
  for entry in "$1"/* "$1"/.[!.]*; do
    if [[ -e $entry || -L $entry ]]; then ln -s "/.machine$entry" "$here/"; fi
  done
}

# place SOURCE TARGET: makes the file or folder SOURCE appear at TARGET.
place() {
  local parent='' part parts volume is_in_volume=''
  for volume in "${volumes[@]}"; do [[ $2 != "$volume"/* ]] || is_in_volume=yes; done
  if [[ -z $is_in_volume ]]; then
    IFS=/ read -r -a parts <<<"${2#/}"
    for part in "${parts[@]:0:${#parts[@]}-1}"; do
      parent+=/$part
      own_folder "$parent"
    done
    [[ ! -L $root$2 ]] || rm "$root$2"
  fi
  if [[ -d $1 ]]; then
    mkdir -p "$root$2"
    volumes+=("$2")
  else
    mkdir -p "$(dirname "$root$2")"
    [[ -e $root$2 ]] || : >"$root$2"
  fi
  mount --rbind "$1" "$root$2"
}

# The flags that the machine's mount may have, and that must stay.
protect() {
  local flags
  for flags in ro ro,nosuid,nodev ro,nosuid,nodev,noexec; do
    ! mount -o "remount,bind,$flags" "$root$1" 2>/dev/null || return 0
  done
  echo "khorovod: cannot make $1 read-only" >&2
  return 1
}

mapfile -d '' -t mounts <"$container/mounts"
for ((index = 0; index < ${#mounts[@]}; index += 3)); do
  target=$(realpath -m -- "${mounts[index + 1]}")
  # It is a file system of its own already.
  [[ $target != /dev/shm ]] || continue
  place "${mounts[index]}" "$target"
  [[ ${mounts[index + 2]} != ro ]] || protect "$target"
done
mapfile -d '' -t environment <"$container/environment"
mapfile -d '' -t command <"$container/command"
folder=$(<"$container/folder")
read -r user group <"$pod/ids"
cd "$root"
pivot_root . .machine
cd "$folder"
exec unshare --user --map-user="$user" --map-group="$group" env -i "${environment[@]}" "${command[@]}"
