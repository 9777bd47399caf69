"""Runs the operators of other projects as processes of this machine, with their custom resources and webhooks. A source is a folder
with the repository or the Go module of the project."""
import glob
import os
import subprocess
import time

import yaml

from case import run

STATE = os.environ["STATE"]
# The address of the bridge, which the API server reaches.
ADDRESS = "10.100.0.1"


def start(name, *command, **environment):
    with open(f"{STATE}/log/{name}", "w") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ, **environment))


def install(pattern):
    """Creates the custom resources of the files that match a pattern."""
    for path in sorted(glob.glob(pattern)):
        with open(path) as file:
            kind = file.read()
        if "kind: CustomResourceDefinition" in kind:
            run("kubectl", "apply", "--server-side", "--force-conflicts", "-f", path)
    while run("kubectl", "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s", check=False).returncode:
        time.sleep(0.5)


def certificate():
    """Creates a certificate for webhooks where controller-runtime expects it; returns the temporary folder and the CA."""
    folder = os.path.join(STATE, "webhooks")
    certificates = os.path.join(folder, "k8s-webhook-server", "serving-certs")
    os.makedirs(certificates, exist_ok=True)
    if not os.listdir(certificates):
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=webhooks",
            "-addext", f"subjectAltName=IP:{ADDRESS}", "-keyout", f"{certificates}/tls.key", "-out", f"{certificates}/tls.crt")
    return folder, run("base64", "-w0", f"{certificates}/tls.crt").stdout


def admit(path, port, authority):
    """Applies the webhooks of a manifest, with a process of this machine instead of a Service; skips webhooks for all pods."""
    with open(path) as file:
        configurations = [c for c in yaml.safe_load_all(file) if c]
    for configuration in configurations:
        configuration["metadata"]["name"] = f"{configuration['metadata']['name']}-{port}"
        hooks = [hook for hook in configuration["webhooks"] if "pods" not in hook["rules"][0]["resources"]]
        for hook in hooks:
            service = hook["clientConfig"].pop("service")
            hook["clientConfig"].update(url=f"https://{ADDRESS}:{port}{service['path']}", caBundle=authority)
        configuration["webhooks"] = hooks
        run("kubectl", "apply", "-f", "-", text=yaml.safe_dump(configuration))


def controller(name, program, port, settings, hooks):
    """Starts an operator that uses controller-runtime, with its own certificates disabled and its webhooks on this machine."""
    folder, authority = certificate()
    path = f"{STATE}/{name}.yaml"
    with open(path, "w") as file:
        yaml.safe_dump({"kind": "Configuration", "webhook": {"port": port}, "leaderElection": {"leaderElect": False},
                        "health": {"healthProbeBindAddress": f":{port + 1}"}, "metrics": {"bindAddress": f":{port + 2}"}} | settings, file)
    process = start(name, program, f"--config={path}", TMPDIR=folder)
    admit(hooks, port, authority)
    return process


def start_mpi_operator(source, program):
    install(f"{source}/manifests/base/*.yaml")
    run("kubectl", "create", "namespace", "mpi-operator")
    return start("mpi-operator", program, "--kubeConfig", os.environ["KUBECONFIG"], "--namespace", "")


def start_jobset(source, program):
    install(f"{source}/config/components/crd/bases/*.yaml")
    return controller("jobset", program, 9443, {"apiVersion": "config.jobset.x-k8s.io/v1alpha1", "internalCertManagement": {"enable": False}},
                      f"{source}/config/components/webhook/manifests.yaml")


def start_trainer(source, program):
    """Starts Trainer, which needs a running JobSet."""
    install(f"{source}/manifests/base/crds/*.yaml")
    return controller("trainer", program, 9453, {"apiVersion": "config.trainer.kubeflow.org/v1alpha1", "certManagement": {"enable": False}},
                      f"{source}/manifests/base/webhook/manifests.yaml")
