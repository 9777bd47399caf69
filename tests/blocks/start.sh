#!/usr/bin/env bash
# Runs the commands of docs/start.md and other pages on a cluster of one node: tests/blocks/start.sh BINARY
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/tools.sh
[[ $(id -u) = 0 ]] || exec tests/note.sh left-out "a cluster needs root"
need buildah buildah && need debootstrap debootstrap
buildah inspect --type image localhost/debian:trixie-slim >/dev/null 2>&1 || image/base.sh localhost/debian:trixie-slim

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BUILT=$work/hello.tar
python3 tests/blocks/start.py "$1" image
NODES=1 IMAGES=$BUILT tests/cluster/up.sh python3 tests/blocks/start.py "$1" pages
