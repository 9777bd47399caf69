# shellcheck shell=bash
# Flux's controller that applies, built from its Go module, once a version. Sourced after tests/tools.sh.
# shellcheck disable=SC2154

# The newest that Go 1.26 builds and whose parts Go's proxy all has.
flux=1.9.5

# module NAME: the folder of a module of Flux.
module() { go mod download -json "github.com/fluxcd/$1@v$flux" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# flux: builds kustomize-controller, and prints its folder, where the types it asks for lie too, those of sources among them. The
# module replaces others, so it is built in a copy; its api, which no copy has, is a module of its own.
flux() (
    name=kustomize-controller
    home=$tools_cache/$name-$flux
    if [[ ! -x $home/$name ]]; then
        echo "building Flux's $name $flux: once, some ten minutes" >&2
        set -e
        work=$(mktemp -d)
        trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
        cp -r "$(module $name)/." "$work"
        chmod -R u+w "$work"
        cd "$work"
        mkdir out
        go mod edit -dropreplace="github.com/fluxcd/$name/api"
        CGO_ENABLED=0 nice go build -mod=mod -trimpath -ldflags '-s -w' -o out/ . >&2
        cp config/crd/bases/*.yaml "$(module source-controller)"/config/crd/bases/*.yaml out/
        rm -rf "$home"
        mv out "$home"
    fi
    echo "$home"
)
