#!/usr/bin/env bash
# Builds the hosted site of the book in target/book/html and checks it: tests/site/run.sh
#
# The site has two versions, of which the earlier one is a copy of the book.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null; rm -rf "$work"' EXIT
version=$(dist/project.py get version)
homepage=$(dist/project.py get homepage)

mkdir "$work/release" "$work/earlier"
dist/site.py pack "$work/release"
python3 -B -c 'import pathlib, sys; sys.path.insert(0, "dist"); import helm; helm.chart(pathlib.Path(sys.argv[1]))' "$work/release"
cp "$work/release/khorovod-$version.book.tar.gz" "$work/earlier/khorovod-0.0.9.book.tar.gz"
site=${SITE:-$work/site}
dist/site.py "$site" "$work/release" "$work/earlier"
cp -r "$site" "$work/again" && dist/site.py "$site" "$work/earlier" "$work/release" >/dev/null
diff -r "$site" "$work/again"
echo "ok: the same bytes a second time, whatever the order of the releases"

tests/book/links.py "$site"
tests/site/pages.py "$site" "$homepage"
node tests/site/look.mjs "$site" "$homepage"

python3 -B -m http.server --bind 127.0.0.1 --directory "$site" 0 >"$work/address" 2>/dev/null &
server=$!
for _ in {1..100}; do
    address=$(sed -n 's/.*(\(http[^)]*\)\/).*/\1/p' "$work/address")
    [[ -z $address ]] || break
    sleep 0.1
done
for helm in "$(helm3)" "$(helm4)"; do
    export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
    rm -rf "$work/helm"
    "$helm" repo add khorovod "$address/charts" >/dev/null
    "$helm" show chart khorovod/training-job --version "$version" | grep -q "^appVersion: $version$"
done
echo "ok: Helm 3 and Helm 4 find the chart in the site"

conform=$(kubeconform)
check=("$conform" -strict -summary -schema-location "$address/schema/crds/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json")
"${check[@]}" examples/*/job.yaml
sed 's/gpus:/gpu:/' examples/horovod-gpu/job.yaml >"$work/wrong.yaml"
if "${check[@]}" "$work/wrong.yaml" >"$work/said"; then
    echo "kubeconform accepts a field that does not exist" >&2
    exit 1
fi
grep -q "gpu" "$work/said"
echo "ok: kubeconform validates specs with the schema of the site, in the form of the CRDs catalog"
