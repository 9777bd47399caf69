# shellcheck shell=bash
cp -r docs/repository/. .
