"""Checks that the program accepts the specs of the bench: specs.py BINARY. It needs no cluster."""
import json
import os
import subprocess
import sys

BINARY = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tests", "cluster")]
os.environ |= {"KHOROVOD": BINARY, "IMAGE": "localhost/worker:1", "KUBERNETES": "1.34.3", "STATE": HERE, "SERVER": "https://none"}
from training import Training  # noqa: E402

failed = 0
for name, shape, spares in (("spare", "set", 1), ("plain", "set", 0), ("indexed", "job", 0)):
    training = Training.without_cluster(name, shape, spares, True, "khorovod")
    job = {"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "train"}, "spec": training.spec()}
    done = subprocess.run([BINARY, "validate", "-"], input=json.dumps(job), text=True, capture_output=True)
    print(f"{'FAIL' if done.returncode else 'ok  '}  chaos: the spec of the job {name}", done.stderr if done.returncode else "")
    failed += bool(done.returncode)
sys.exit(failed)
