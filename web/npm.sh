#!/usr/bin/env bash
# Packs the npm package `khorovod-wasm` into a folder, from what build.sh has built, and prints the path of the package.
#
#   web/npm.sh FOLDER
set -euo pipefail
out=$(realpath "$1")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work"/{src,package}
# Node.js resolves only complete names of files.
module() { sed -E 's|"../pkg/|"./|; s|"./wire/([a-z]+)"|"./\1.js"|; s|"./check"|"./check.js"|' "$1" >"$work/src/$2"; }
module src/npm.ts index.ts
module src/wire/types.ts types.ts
module src/wire/check.ts check.ts
for name in khorovod_web khorovod_web_texts; do
    cp "pkg/$name.d.ts" "$work/src"
    cp "pkg/$name.js" "$work/package"
done
# The module with every target has the same functions as the default one.
cp pkg/khorovod_web_targets_bg.wasm "$work/package/khorovod_web_bg.wasm"
cp pkg/khorovod_web_texts_bg.wasm npm/README.md ../LICENSE-APACHE ../LICENSE-MIT "$work/package"
cat >"$work/tsconfig.json" <<JSON
{
  "extends": "$PWD/npm/tsconfig.json",
  "compilerOptions": { "rootDir": "src", "outDir": "package", "typeRoots": ["$PWD/node_modules/@types"] },
  "include": ["src"]
}
JSON
node_modules/.bin/tsc --project "$work/tsconfig.json" >&2
get() { ../dist/project.py get "$1"; }
node - "$work/package/package.json" "$(get version)" "$(get homepage)" "$(get repository)" <<'JS'
const { readFileSync, writeFileSync } = require("node:fs");
const [file, version, homepage, repository] = process.argv.slice(2);
const facts = { ...JSON.parse(readFileSync("npm/package.json", "utf8")), version, homepage, license: "Apache-2.0 OR MIT" };
facts.repository = { type: "git", url: `git+${repository}.git` };
writeFileSync(file, `${JSON.stringify(facts, null, 2)}\n`);
JS
cd "$work/package"
echo "$out/$(npm pack --silent --pack-destination "$out")"
