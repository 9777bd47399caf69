# shellcheck shell=bash
# The files that a reader of the page has.
cp "$MIGRATION/../import/elastic-horovod/tutorial.yaml" values.yaml
