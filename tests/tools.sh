# Functions that find, install or build the programs for the tests. Sourced.
# shellcheck shell=bash

# The cache of built programs, with one folder per version.
tools_cache=${XDG_CACHE_HOME:-$HOME/.cache}/khorovod

# need COMMAND PACKAGE [ARGUMENTS]: if `COMMAND ARGUMENTS` fails, installs a Debian package as root. Prints messages to stderr,
# because callers print paths to stdout.
need() {
    local command=$1 package=$2
    shift 2
    "$command" "${@:---version}" >/dev/null 2>&1 && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $package" >&2
        # Another stage or program may be installing packages.
        apt-get update -qq -o DPkg::Lock::Timeout=600 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            -o DPkg::Lock::Timeout=600 --no-install-recommends "$package" >/dev/null &&
            "$command" "${@:---version}" >/dev/null && return
    fi
    echo "'$command' is missing or incomplete and could not be installed; on Debian: apt-get install $package" >&2
    return 1
}

# cargo_tool NAME VERSION [PROGRAM]: builds a program of a crate once, and puts it first in PATH. Without optimization, which would
# take six times as long to build and save one second per run. Uses the crate's lock file, or the nearest versions if the registry
# lacks one of those. FEATURES are the features to enable.
cargo_tool() {
    local name=$1 version=$2 program=${3:-$1} root=$tools_cache/$1-$2
    local install=(cargo install --debug --quiet --no-default-features --features "${FEATURES:-}" --root "$root" --version "$version" "$name")
    if [ ! -x "$root/bin/$program" ]; then
        echo "installing $name $version: once, two minutes" >&2
        # Hides the error of the first command if the second succeeds.
        "${install[@]}" --locked 2>/dev/null || "${install[@]}" || {
            echo "$name $version could not be installed; try: cargo install --locked $name --version $version" >&2
            return 1
        }
    fi
    PATH=$root/bin:$PATH
}

# kept_crates: prints the folder with the compiled dependencies for the next clone; its name has a hash of all inputs.
kept_crates() { echo "$tools_cache/crates-$({ rustc -vV && cat Cargo.toml Cargo.lock; } | sha256sum | cut -c1-16)"; }

# keep_crates: stores the compiled dependencies, without khorovod's own crates, which the next clone compiles itself.
keep_crates() {
    local kept
    kept=$(kept_crates)
    [[ ! -d $kept ]] || return 0
    echo "storing compiled dependencies for the next clone in $kept"
    rm -rf "$tools_cache"/crates-* && mkdir -p "$kept.new" && cp -a target/. "$kept.new" &&
        rm -rf "$kept.new"/{doc,package,tmp} "$kept.new"/{,*/}{debug,release}/{examples,incremental} &&
        find "$kept.new" -depth \( -name '*khorovod*' -o -path '*/deps/*' ! -name 'lib*' ! -name '*.d' \) -exec rm -rf {} + &&
        mv "$kept.new" "$kept"
}

# cross TARGET COMMAND...: runs a command that calls cargo for another target. Uses rustup's target, or Debian's compiler if rustup
# cannot install it: Debian has the sources of the standard library, which takes some minutes longer.
cross() {
    local target=$1 linker
    shift
    if [[ ${WASM_STD:-rustup} = rustup ]] &&
        { [[ -d $(rustc --print sysroot)/lib/rustlib/$target ]] || rustup target add "$target" >&2; }; then
        "$@"
        return
    fi
    need /usr/bin/rustc rustc-web && need test rust-web-src -d /usr/lib/rustlib/src || return
    linker=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
    PATH=$PATH:$linker RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=std,panic_abort "$@"
}

# cross_cargo TARGET ARGUMENTS: runs cargo for another target.
cross_cargo() { cross "$1" cargo "${@:2}" --target "$1"; }

# wasm_cargo ARGUMENTS: runs cargo for WebAssembly in a browser.
wasm_cargo() { cross_cargo wasm32-unknown-unknown "$@"; }

# remapped: prints the option that keeps this machine's paths of crates out of binaries.
remapped() { echo "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"; }

# shipped_flags: prints the options of rustc for the release binary. On Linux it is static: it runs on any Linux, and the dynamic
# loader took a quarter of the start-up. There it also has a fixed address, like kubectl and helm: relocation took a tenth. On
# Windows it needs no C library of Visual Studio.
shipped_flags() {
    case $(uname -s) in
    Linux) printf -- '-C target-feature=+crt-static -C relocation-model=static ' ;;
    MINGW* | MSYS*) printf -- '-C target-feature=+crt-static ' ;;
    esac
    remapped
}

# host_target: prints the target of this machine.
host_target() { rustc -vV | sed -n 's/^host: //p'; }

# shipped: builds the release binary and prints its path.
shipped() {
    local host
    host=$(host_target)
    # The package alone, as maturin and `cargo install` build it: together with the other crates, their features would differ.
    RUSTFLAGS=$(shipped_flags) cargo build --locked --release --package khorovod --bin khorovod --target "$host" >&2 &&
        printf '%s' "${CARGO_TARGET_DIR:-$PWD/target}/$host/release/khorovod"
}

# go_program NAME VERSION PACKAGE: builds a program of a published Go module, once, and prints its path. CGO=1 enables cgo.
go_program() {
    local folder=$tools_cache/$1-$2
    if [[ ! -x $folder/$1 ]]; then
        need go golang version || return
        echo "building $1 $2: once, some minutes" >&2
        GOBIN=$folder.new CGO_ENABLED=${CGO:-0} nice go install -trimpath -ldflags '-s -w' "$3@$2" >&2 &&
            rm -rf "$folder" && mv "$folder.new" "$folder" || return
    fi
    echo "$folder/$1"
}

built_helm() { go_program helm "$1" "helm.sh/helm/${1%%.*}/cmd/helm"; }
helm3() { built_helm v3.21.4; }
helm4() { built_helm v4.3.1; }

# Later versions require a newer Go.
kustomize() { go_program kustomize v5.8.2 sigs.k8s.io/kustomize/kustomize/v5; }

# Checks GitHub workflows, and their scripts with shellcheck.
actionlint() { go_program actionlint v1.7.7 github.com/rhysd/actionlint/cmd/actionlint; }

# Checks prose. Later versions require a newer Go; the parsers in it are C.
vale() { need g++ g++ && CGO=1 go_program vale v3.21.0 github.com/vale-cli/vale/v3/cmd/vale; }

# Scores manifests by rules of its own.
kube_score() { go_program kube-score v1.20.0 github.com/zegl/kube-score/cmd/kube-score; }

# kubectl's plugin manager. `go install` cannot build the published module, so it is built in its own folder.
krew() (
    folder=$tools_cache/krew-v0.5.0
    if [[ ! -x $folder/krew ]]; then
        need go golang version || exit
        echo "building krew 0.5.0: once, a minute" >&2
        cd "$(go mod download -json sigs.k8s.io/krew@v0.5.0 | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')" &&
            CGO_ENABLED=0 nice go build -mod=readonly -trimpath -ldflags '-s -w' -o "$folder.new/krew" ./cmd/krew >&2 &&
            mv "$folder.new" "$folder" || exit
    fi
    echo "$folder/krew"
)

# Checks and tests alert rules.
promtool() { go_program promtool v0.316.0 github.com/prometheus/prometheus/cmd/promtool; }

# Validates manifests with JSON Schemas at an address.
kubeconform() { go_program kubeconform v0.7.0 github.com/yannh/kubeconform/cmd/kubeconform; }

# Pushes to registries of OCI artifacts.
oras() { go_program oras v1.3.4 oras.land/oras/cmd/oras; }

# A registry of OCI artifacts.
registry() { go_program registry v3.1.2 github.com/distribution/distribution/v3/cmd/registry; }

# A manager of programs in several versions, from npm.
mise() (
    folder=$tools_cache/mise-2026.9.15
    if [[ ! -x $folder/bin/mise ]]; then
        need npm npm || exit
        npm install --silent --no-save --prefix "$folder.new" @jdxcode/mise-linux-x64@2026.9.15 >&2 &&
            mv "$folder.new/node_modules/@jdxcode/mise-linux-x64" "$folder" && rm -rf "$folder.new" || exit
    fi
    echo "$folder/bin/mise"
)

# An S3 server.
versitygw() { go_program versitygw v1.8.0 github.com/versity/versitygw/cmd/versitygw; }

# Simulated nodes and pods, for tests of scale.
# shellcheck disable=SC2034 # bench/scale.sh uses it
kwok_module=sigs.k8s.io/kwok@v0.8.0
kwok() { go_program kwok "${kwok_module#*@}" "${kwok_module%@*}/cmd/kwok"; }

# horovod_wheel: builds Horovod once for Debian's PyTorch and Open MPI on this machine, and prints the path of the wheel. Takes
# about 7 minutes on two cores.
horovod_wheel() {
    need g++ g++ && need cmake cmake && need make make && need /usr/bin/python3 python3-pip -m pip --version &&
        need /usr/bin/python3-config python3-dev --includes && need test libopenmpi-dev -e "/usr/lib/$(uname -m)-linux-gnu/openmpi/include/mpi.h" &&
        need /usr/bin/python3 python3-torch -c 'import torch' && need test libtorch-dev -e /usr/include/torch &&
        need test pybind11-dev -e /usr/include/pybind11 || return
    local folder
    folder=$tools_cache/horovod-0.28.1-torch$(debian_version python3-torch)-py$(debian_version python3 | cut -d. -f1,2)
    folder+=-openmpi$(debian_version libopenmpi-dev)
    [[ -e $(echo "$folder"/horovod-*.whl) ]] || PYTHON=/usr/bin/python3 image/horovod.sh "$folder" >/dev/null || return
    echo "$folder"/horovod-*.whl
}

# debian_version PACKAGE: prints the upstream version of an installed package.
debian_version() { dpkg-query --show --showformat '${Version}' "$1" | sed 's/^[0-9]*://; s/[+-].*//'; }

# worker_archive: prints the path of the worker image's archive for the current content of image/, which may not exist.
worker_archive() {
    local key
    key=$(find image -type f ! -name check-image ! -name '*.pyc' | sort | xargs sha256sum | sha256sum | cut -c1-16)
    echo "$tools_cache/worker-image-$key/worker-cpu.tar"
}

# worker_image: builds the worker image for CPUs from Debian packages, once per content of image/, and prints the path of its
# archive. Takes about 12 minutes on two cores; the layers of an earlier build make it faster.
worker_image() {
    need buildah buildah && need debootstrap debootstrap || return
    local file base=localhost/debian:trixie-slim
    file=$(worker_archive)
    if [[ ! -e $file ]]; then
        rm -rf "$tools_cache"/worker-image-* && mkdir -p "${file%/*}"
        buildah inspect --type image "$base" >/dev/null 2>&1 || image/base.sh "$base" >&2 || return
        # --drift accepts security fixes of Debian and prints them, so that they do not break the build.
        CA=/etc/ssl/certs/ca-certificates.crt BUILDER=buildah \
            image/build.sh --drift --base "$base" --output "$file" >"${file%.tar}.log" 2>&1 || {
            tail -n 40 "${file%.tar}.log" >&2
            return 1
        }
    fi
    echo "$file"
}
