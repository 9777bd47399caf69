#!/usr/bin/env bash
# Copies kubectl and krew into a folder, for page.py: tests/dist/programs.sh FOLDER
set -euo pipefail
out=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
here=$PWD/tests/cluster
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
if command -v kubectl >/dev/null; then
    cp "$(command -v kubectl)" "$out/"
else
    kubernetes_parts "$kubernetes" kubectl
    cp "$tools_cache/kubernetes-$kubernetes/kubectl" "$out/"
fi
cp "$(krew)" "$out/kubectl-krew"
