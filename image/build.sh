#!/usr/bin/env bash
# Builds the worker image with docker, podman or buildah, whichever is installed.
#
#   image/build.sh [--gpu] [--name NAME] [--output FILE] [--base IMAGE] [--drift | --relist] [HOROVOD_NAME=VALUE …]
#
#   --gpu          PyTorch for NVIDIA GPUs and Horovod with NCCL; the default is both for CPUs
#   --name         the name of the image; the default is khorovod-worker:cpu or :gpu
#   --output       also write the image to FILE as a docker archive, and its bill of materials to FILE.spdx.json
#   --base         the base image; the default is debian:trixie-slim. Without a registry, `image/base.sh` builds one
#   --drift        install a newer version if the mirror no longer has the pinned one
#   --relist       like --drift, and write the installed versions to image/pins
#   HOROVOD_…      Horovod's build flags: HOROVOD_GPU_OPERATIONS=MPI HOROVOD_WITHOUT_GLOO=1 …
#
# BUILDER selects the program. CA is a file of certificates to trust behind a proxy.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
variant=cpu name='' output='' base=debian:trixie-slim drift=refuse relist='' flags=()
while (($#)); do
  case $1 in
    --gpu) variant=gpu ;;
    --name) name=$2 && shift ;;
    --output) output=$2 && shift ;;
    --base) base=$2 && shift ;;
    --drift) drift=allow ;;
    --relist) drift=allow relist=1 ;;
    HOROVOD_[A-Z_]*=*) flags+=("$1") ;;
    *) sed -n '2,/^set/{s/^# \{0,1\}//p}' "$0" >&2 && exit 2 ;;
  esac
  shift
done
name=${name:-khorovod-worker:$variant}

builder=${BUILDER:-}
for program in docker podman buildah; do
  [[ -n $builder ]] || builder=$(command -v "$program") || true
done
[[ -n $builder ]] || { echo "docker, podman or buildah is required; on Debian: apt-get install buildah" >&2; exit 1; }
options=(--build-arg "BASE=$base" --build-arg "VARIANT=$variant" --build-arg "DRIFT=$drift" --build-arg "HOROVOD_FLAGS=${flags[*]}"
  --build-arg "VERSION=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml")"
  --build-arg "REVISION=$(git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown)")
[[ -z ${CA:-} ]] || options+=(--secret "id=ca,src=$CA")
case ${builder##*/} in
  # Caches the layers for the next build. Requires no privileges and no container runtime.
  buildah) options+=(--layers --isolation "${BUILDAH_ISOLATION:-chroot}") ;;
  docker) export DOCKER_BUILDKIT=1 ;;
esac

# build TARGET NAME
build() { "$builder" build "${options[@]}" --target "$1" --tag "$2" "$here"; }

# run COMMAND…: runs a command in the image.
run() {
  local container
  case ${builder##*/} in
    buildah)
      container=$(buildah from --pull-never "$name")
      buildah run --isolation "${BUILDAH_ISOLATION:-chroot}" "$container" -- "$@"
      buildah rm "$container" >/dev/null
      ;;
    *) "$builder" run --rm "$name" "$@" ;;
  esac
}

if [[ -n $relist ]]; then
  # This stage has all packages of the other stages.
  build compilers "$name-compilers"
  name=$name-compilers run cat /usr/share/khorovod/debian.txt >"$here/pins/debian-$variant.new"
  mv "$here/pins/debian-$variant.new" "$here/pins/debian-$variant.txt"
fi
build worker "$name"
if [[ -n $output ]]; then
  mkdir -p "$(dirname "$output")"
  case ${builder##*/} in
    buildah) buildah push --quiet "$name" "docker-archive:$output.new:$name" ;;
    *) "$builder" save --output "$output.new" "$name" ;;
  esac
  run cat /usr/share/khorovod/sbom.spdx.json >"$output.spdx.json"
  mv "$output.new" "$output"
  echo "wrote $output and $output.spdx.json"
fi
