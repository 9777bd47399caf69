# shellcheck shell=bash
# The files that a reader of the page has.
cp "$MIGRATION/../import/ffdl/tf-mnist.yml" manifest.yml
mkdir code
echo 'print(1)' >code/tensorflow_mnist.py
khorovod import ffdl manifest.yml >job.yaml 2>/dev/null
