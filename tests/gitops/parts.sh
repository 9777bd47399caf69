# shellcheck shell=bash
# Builds Flux's kustomize-controller from its Go module, once per version. Sourced after tests/tools.sh.
# shellcheck disable=SC2154

# The newest version that Go 1.26 builds and whose modules are all in Go's proxy.
flux=1.9.5

# module NAME: prints the folder of a module of Flux.
module() { go mod download -json "github.com/fluxcd/$1@v$flux" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# flux: builds kustomize-controller and prints its folder, which also contains the custom resources, including those of sources.
# The module has replace directives, so it is built in a copy of its folder; its api is a separate module.
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
