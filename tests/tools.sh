# Finds or installs what the tests need. Sourced; nothing here runs by itself.
# shellcheck shell=bash

# Where things stay between runs, each under its own version.
tools_cache=${XDG_CACHE_HOME:-$HOME/.cache}/khorovod

# need COMMAND PACKAGE [ARGUMENTS]: what `COMMAND ARGUMENTS` needs to run is in a Debian package; installs it where that
# is missing and we may.
need() {
    local command=$1 package=$2
    shift 2
    "$command" "${@:---version}" >/dev/null 2>&1 && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $package"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null &&
            "$command" "${@:---version}" >/dev/null && return
    fi
    echo "'$command' is missing or incomplete and could not be installed; on Debian: apt-get install $package" >&2
    return 1
}

# cargo_tool NAME VERSION: a cargo subcommand, built once; puts it first in PATH.
cargo_tool() {
    local name=$1 version=$2 root=$tools_cache/$1-$2
    if [ ! -x "$root/bin/$name" ]; then
        echo "installing $name $version: once, a few minutes"
        cargo install --quiet --locked --no-default-features --root "$root" --version "$version" "$name" || {
            echo "$name $version could not be installed; try: cargo install --locked $name --version $version" >&2
            return 1
        }
    fi
    PATH=$root/bin:$PATH
}

# shipped: builds the binary as people download it and prints its path. Static: it runs on any Linux, and a quarter
# of its start-up was the dynamic loader.
shipped() {
    local host
    host=$(rustc -vV | sed -n 's/^host: //p')
    RUSTFLAGS='-C target-feature=+crt-static' cargo build --locked --release --target "$host" >&2 &&
        printf '%s' "${CARGO_TARGET_DIR:-$PWD/target}/$host/release/khorovod"
}
