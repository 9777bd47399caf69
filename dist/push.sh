#!/usr/bin/env bash
# Pushes the image, the chart and the plugins for Helm to the registry of Cargo.toml: dist/push.sh DIST
#
# Prints the name and the digest of each, the image first. ORAS and HELM are the programs, which must be logged in.
set -euo pipefail
dist=$(realpath "${1:?the folder of the packages}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
oras=${ORAS:-oras} helm=${HELM:-helm}
registry=$(dist/project.py get registry) version=$(dist/project.py get version)
plain=() to_plain=()
case $registry in
localhost:* | 127.0.0.1:*) plain=(--plain-http) to_plain=(--to-plain-http) ;;
esac

# pushed NAME: prints the name and digest of what was pushed as NAME:VERSION.
pushed() { printf '%s/%s@%s\n' "$registry" "$1" "$("$oras" resolve "${plain[@]}" "$registry/$1:$version")"; }

"$oras" cp --from-oci-layout "$dist/khorovod-$version.oci.tar:$version" "${to_plain[@]}" "$registry/khorovod:$version" >&2
pushed khorovod
"$helm" push "${plain[@]}" "$dist/training-job-$version.tgz" "oci://$registry/charts" >&2
pushed charts/training-job
cd "$dist"
for plugin in khorovod khorovod-post-render; do
    "$oras" push "${plain[@]}" --artifact-type application/vnd.helm.plugin.v1+json "$registry/plugins/$plugin:$version" \
        "$plugin-$version.tgz" "$plugin-$version.tgz.prov" >&2
    pushed "plugins/$plugin"
done
