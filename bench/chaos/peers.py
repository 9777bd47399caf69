"""The same training with other systems: the objects that their users write, and the start of their controllers.

SYSTEMS maps the name of a system to its Peer.
"""
import importlib.util
import os
import subprocess
import tempfile
from typing import Callable, NamedTuple

from bounds import CHECKPOINT, STEP
from case import merge
from controllers import start_jobset, start_mpi_operator, start_trainer
from lost_nodes import APART

RESTARTS = 100
SSH_FOLDER = "/home/khorovod/.ssh"
# The answer of a worker's ssh server, as in the runtimes that Trainer publishes.
READY = {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 5}


class Peer(NamedTuple):
    title: str
    # Starts the controllers with pairs of source folder and program.
    start: Callable
    # The objects of a Training.
    objects: Callable
    # The kind of the object that a person deletes, and the kinds that must be gone before it is applied again.
    kind: str
    gone: str
    # The API path of the object whose conditions show how the run ended, and these conditions. None: those of the Jobs.
    state: str | None
    complete: tuple = ("Complete", "SuccessCriteriaMet")
    failed: tuple = ("Failed", "FailureTarget")


def operator_bench():
    """bench/operator.py; its name is also that of a module of Python."""
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "operator.py")
    spec = importlib.util.spec_from_file_location("operator_bench", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def away_from(component):
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": {
        "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app.kubernetes.io/component": component}}}}]}}


# Workers run on different nodes, and the launcher on another one if there is one.
AFFINITY = {"worker": merge(APART, away_from("launcher")), "launcher": away_from("worker")}


def templates(training):
    """The objects of an MPIJob, changed for the training, and the pod templates of its launcher and its workers."""
    spec = training.spec()
    objects = operator_bench().mpijob(training.ranks, f"env RECORD=/record STEP={STEP} CHECKPOINT={CHECKPOINT} {' '.join(spec['command'])}")
    found = {}
    for role, replicas in objects[1]["spec"]["mpiReplicaSpecs"].items():
        component = role.lower()
        template = found[component] = replicas["template"]
        template["metadata"] = {"labels": {"app.kubernetes.io/component": component}}
        template["spec"] |= spec["placement"] | {"affinity": AFFINITY[component]}
        template["spec"]["volumes"] += [{"name": "record", "persistentVolumeClaim": {"claimName": "record"}},
                                        {"name": "programs", "configMap": {"name": "programs"}},
                                        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}]
        template["spec"]["containers"][0]["volumeMounts"] += [
            {"name": "record", "mountPath": "/record"}, {"name": "programs", "mountPath": "/programs"},
            {"name": "shm", "mountPath": "/dev/shm"}]
    claim = spec["storage"][0]["claim"]
    objects += [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "programs"}, "data": spec["code"]["files"]},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "record"}, "spec": {
            "storageClassName": claim["storageClassName"], "accessModes": claim["accessModes"],
            "resources": {"requests": {"storage": claim["size"]}}}}]
    return objects, found


def mpijob(training):
    """An MPIJob whose workers restart in place, with many retries of its launcher."""
    objects, _ = templates(training)
    job = objects[1]
    job["spec"]["runPolicy"]["backoffLimit"] = RESTARTS
    for role, replicas in job["spec"]["mpiReplicaSpecs"].items():
        replicas["restartPolicy"] = "OnFailure" if role == "Worker" else "Never"
    return objects


def in_jobset(template):
    """A pod template of the MPIJob for a JobSet: Trainer expects this name of the container, and the keys need the group."""
    template["spec"]["securityContext"]["fsGroup"] = 65532
    template["spec"]["containers"][0]["name"] = "node"
    return template


def mount(template, name, path, source):
    template["spec"]["volumes"].append({"name": name} | source)
    template["spec"]["containers"][0]["volumeMounts"].append({"name": name, "mountPath": path})


def ssh_keys():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", f"{folder}/id_rsa"], check=True)
        with open(f"{folder}/id_rsa") as private, open(f"{folder}/id_rsa.pub") as public:
            return {"id_rsa": private.read(), "authorized_keys": public.read()}


def jobset(training):
    """A JobSet as its documentation recommends: a failed pod fails its Job, and the JobSet then restarts all of its Jobs."""
    objects, pods = templates(training)
    if not training.keys:
        training.keys = ssh_keys()
    for template in pods.values():
        in_jobset(template)
        template["spec"]["restartPolicy"] = "Never"
        mount(template, "keys", SSH_FOLDER, {"secret": {"secretName": "keys", "defaultMode": 0o640}})
    mount(pods["launcher"], "hosts", "/etc/mpi", {"configMap": {"name": "hosts"}})
    pods["worker"]["spec"]["containers"][0]["readinessProbe"] = {"tcpSocket": {"port": 2222}, "periodSeconds": 1}

    def job(name, count, **more):
        return {"name": name, "replicas": 1, "template": {"spec": {
            "completionMode": "Indexed", "completions": count, "parallelism": count, "backoffLimit": 0, "template": pods[name]}}} | more
    objects[1] = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train"}, "spec": {
        "failurePolicy": {"maxRestarts": RESTARTS}, "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]},
        "replicatedJobs": [job("worker", training.ranks), job("launcher", 1, dependsOn=[{"name": "worker", "status": "Ready"}])]}}
    return [*objects, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": training.keys},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hosts"}, "data": {
                "hostfile": "".join(f"train-worker-0-{n}.train slots=1\n" for n in range(training.ranks))}}]


def trainjob(training):
    """A TrainJob with a runtime for MPI like `deepspeed-distributed`, which Trainer publishes, with restarts of the JobSet. The runtime
    has the image, the resources and the volumes. Its containers restart in place."""
    objects, pods = templates(training)
    for template in pods.values():
        in_jobset(template)
    pods["worker"]["spec"]["containers"][0]["readinessProbe"] = READY
    objects[1] = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {
        "name": "mpi", "labels": {"trainer.kubeflow.org/framework": "mpi"}}, "spec": {
            "mlPolicy": {"numNodes": 1, "mpi": {"numProcPerNode": 1, "mpiImplementation": "OpenMPI", "sshAuthMountPath": SSH_FOLDER,
                                                "runLauncherAsNode": False}},
            "template": {"spec": {
                "network": {"publishNotReadyAddresses": True}, "failurePolicy": {"maxRestarts": RESTARTS},
                "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]},
                "replicatedJobs": [
                    {"name": "node", "template": {"spec": {"template": pods["worker"]}}},
                    {"name": "launcher", "dependsOn": [{"name": "node", "status": "Ready"}], "template": {
                        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                        "spec": {"template": pods["launcher"]}}}]}}}}
    return [*objects, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "train"}, "spec": {
        "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "mpi"},
        "trainer": {"numNodes": training.ranks, "numProcPerNode": 1}}}]


SYSTEMS = {
    "mpi-operator": Peer("MPI Operator", lambda operator: start_mpi_operator(*operator), mpijob, "mpijob", "mpijob", None),
    "jobset": Peer("JobSet", lambda jobset: start_jobset(*jobset), jobset, "jobset", "jobset",
                   "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets/train", ("Completed",), ("Failed",)),
    "trainer": Peer("Trainer", lambda jobset, trainer: (start_jobset(*jobset), start_trainer(*trainer)), trainjob, "trainjob",
                    "trainjob,jobset,secret", "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs/train", ("Complete",), ("Failed",)),
}
