# Installs what package-lock.json names, once for each version of it. Sourced in web/.
# shellcheck shell=bash
need node nodejs && need npm npm
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.installed
fi
