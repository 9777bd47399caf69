# shellcheck shell=bash
# The files that a reader of the page has.
cp "$MIGRATION/kubeflow-openmpi.txt" lines.sh
