# Finds or installs what the tests need. Sourced; nothing here runs by itself.
# shellcheck shell=bash

# Where things stay between runs, each under its own version.
tools_cache=${XDG_CACHE_HOME:-$HOME/.cache}/khorovod

# need COMMAND [PACKAGE]: a Debian package, where it is missing and we may install it.
need() {
    local command=$1 package=${2:-$1}
    command -v "$command" >/dev/null && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $package"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" &&
            command -v "$command" >/dev/null && return
    fi
    echo "'$command' is missing and could not be installed; on Debian: apt-get install $package" >&2
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

# python_env REQUIREMENTS: prints the folder of a virtual environment that holds exactly these pinned packages.
python_env() {
    local requirements=$1 key env
    key=$({ python3 --version && cat "$requirements"; } | sha256sum | cut -c1-16) || return
    env=$tools_cache/python-$key
    if [ ! -e "$env/complete" ]; then
        rm -rf "$env"
        { python3 -m venv "$env" && "$env/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"; } >&2 || {
            echo "the packages of $requirements could not be installed; they need python3 with venv (Debian: python3-venv)" >&2
            return 1
        }
        touch "$env/complete"
    fi
    echo "$env"
}
