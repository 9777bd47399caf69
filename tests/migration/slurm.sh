# shellcheck shell=bash
# The files that a reader of the page has.
cp "$MIGRATION/slurm.txt" lines.sh
