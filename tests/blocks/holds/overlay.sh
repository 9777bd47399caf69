# shellcheck shell=bash
echo 'spec: {placement: {nodeSelector: {pool: b}}}' >cluster-b.yaml
