# shellcheck shell=bash
cp "$(readlink -f docs)/../tests/import/elastic-horovod/tutorial.yaml" values.yaml
