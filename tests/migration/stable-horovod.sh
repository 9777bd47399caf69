# shellcheck shell=bash
# The files that a reader of the page has.
cp "$MIGRATION/../import/stable-horovod/readme.yaml" values.yaml
