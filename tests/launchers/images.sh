# The images for the cases of launchers: this machine's root, and in /srv/PART the packages of pins/PART*: an MPI from PyPI, or
# (openmpi4) packages for Debian's PyTorch and Open MPI. The image for Horovod is the worker image of image/. Built once. Sourced.
#
#   HOROVOD=debian       instead builds Horovod for this machine's PyTorch and Open MPI 4; takes eight minutes once
#   HOROVOD=tensorflow   or mxnet: builds it for that framework from PyPI, as in docs/images.md; takes three minutes once
# shellcheck shell=bash disable=SC2154 # `tools_cache` comes from tests/tools.sh
launchers=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# part_folder PART: prints the folder of a part; its name contains a hash of the content.
part_folder() {
    printf '%s/%s-%s' "$tools_cache" "$1" "$({ printf '%s' "${HOROVOD:-}"; cat "$launchers/pins/$1"*; /usr/bin/python3 -VV; } | sha256sum | cut -c1-16)"
}

# make_images PART...: creates virtual environments, at the path at which pods see them, because their programs contain that path.
# Renames them into place when they are complete.
make_images() {
    local part folder wheel
    need /usr/bin/python3 python3-venv -m ensurepip --version || return
    for part; do
        folder=$(part_folder "$part")
        [[ ! -d $folder ]] || continue
        echo "installing tests/launchers/pins/$part*: once"
        wheel=''
        if [[ $part == openmpi4 && ${HOROVOD:-} == debian ]]; then wheel=$(horovod_wheel) || return; fi
        # shellcheck disable=SC2016 # expanded by the inner shell
        rm -rf "$folder.new" && mkdir -p "$folder.new" && unshare --mount bash -euc '
            mount -t tmpfs srv /srv
            mkdir "/srv/$2"
            mount --bind "$3" "/srv/$2"
            [[ $2 != openmpi4 ]] || options=--system-site-packages
            /usr/bin/python3 -m venv ${options:-} "/srv/$2"
            export DS_ACCELERATOR=cpu
            pip="/srv/$2/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation"
            for pins in "$1/pins/$2"*; do $pip --require-hashes -r "$pins"; done
            wheel=${4:-}
            case $2 in
            tensorflow | mxnet)
                PYTHON=/srv/$2/bin/python "$1/../../image/horovod.sh" /srv/wheel "HOROVOD_WITH_${2^^}=1" HOROVOD_WITHOUT_PYTORCH=1
                wheel=$(echo /srv/wheel/*)
                ;;
            esac
            ${wheel:+$pip "$wheel"}
        ' - "$launchers" "$part" "$folder.new" ${wheel:+"$wheel"} && mv "$folder.new" "$folder" || return
    done
}

# make_horovod, use_horovod: build and use an image with Horovod: the part that HOROVOD selects, or the worker image.
horovod_part() { printf '%s' "${HOROVOD/#debian/openmpi4}"; }
make_horovod() {
    local archive root container
    if [[ -n ${HOROVOD:-} ]]; then make_images "$(horovod_part)"; return; fi
    archive=$(worker_image) && root=${archive%.tar} || return
    [[ ! -d $root ]] || return 0
    echo "unpacking the worker image: once"
    container=$(buildah from --pull-never "docker-archive:$archive") || return
    rm -rf "$root.new" && cp -a "$(buildah mount "$container")" "$root.new" && mv "$root.new" "$root"
    buildah rm "$container" >/dev/null
}
use_horovod() {
    if [[ -n ${HOROVOD:-} ]]; then use_image "$(horovod_part)"; return; fi
    image root "$(worker_archive | sed 's/\.tar$//')"
    image mount "$launchers/../programs:/programs"
}

# use_image PART...: sets the image of a case's pods. PATH contains these parts in this order, then Debian.
use_image() {
    local part path=''
    for part; do
        image mount "$(part_folder "$part"):/srv/$part"
        path+=/srv/$part/bin:
    done
    image mount "$launchers/../programs:/programs"
    image env "PATH=$path/usr/local/bin:/usr/bin:/bin"
}
