"""The fields of a TrainingJob. Generated from the JSON Schema by `make bless`: do not edit.

A field has the name of the spec in snake_case. The fields of `metadata` and of `spec` are fields of `TrainingJob`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

from ._base import Spec


@dataclass(kw_only=True, slots=True, repr=False)
class ImageParts(Spec):
    """An image with its digest, pull policy and pull secrets."""

    _names: ClassVar[Mapping[str, str]] = {
        "pull_policy": "pullPolicy",
        "pull_secrets": "pullSecrets",
    }

    name: str
    """The image's name, with its tag.

    Example: `"ghcr.io/acme/mnist:1.4"`
    """

    digest: str | None = None
    """The digest of the image. It takes precedence over the tag. Default: the tag of `name` decides, whose
    content may change.
    """

    pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When nodes pull the image. Default: that of Kubernetes, which is `Always` for the tag `latest` or without
    a tag, else `IfNotPresent`.

    - `"Always"`: Ask the registry at every start.
    - `"IfNotPresent"`: Pull the image only if the node does not have it.
    - `"Never"`: The image must be on the node.

    Example: `"IfNotPresent"`
    """

    pull_secrets: list[str] | None = None
    """Secrets of type `kubernetes.io/dockerconfigjson` for a private registry.

    Example: `["regcred"]`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class EnvSource(Spec):
    """The source of a variable's value, as in a `valueFrom` of Kubernetes.

    Exactly one of `secret_key_ref`, `config_map_key_ref`, `field_ref` must be given.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "secret_key_ref": "secretKeyRef",
        "config_map_key_ref": "configMapKeyRef",
        "field_ref": "fieldRef",
    }

    secret_key_ref: KeyRef | None = None
    """A key of a Secret.

    Example: `KeyRef(name="hf", key="token")`
    """

    config_map_key_ref: KeyRef | None = None
    """A key of a ConfigMap.

    Example: `KeyRef(name="settings", key="rate")`
    """

    field_ref: FieldRef | None = None
    """A field of the pod.

    Example: `FieldRef(field_path="spec.nodeName")`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class KeyRef(Spec):
    """A key of a Secret or ConfigMap."""

    name: str
    """The name of the Secret or ConfigMap.

    Example: `"hf"`
    """

    key: str
    """The key.

    Example: `"token"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class FieldRef(Spec):
    """A field of the pod."""

    _names: ClassVar[Mapping[str, str]] = {
        "field_path": "fieldPath",
    }

    field_path: str
    """The path of the field.

    Example: `"spec.nodeName"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class EnvFrom(Spec):
    """A Secret or ConfigMap of which each key becomes a variable.

    Exactly one of `secret_ref`, `config_map_ref` must be given.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "secret_ref": "secretRef",
        "config_map_ref": "configMapRef",
    }

    secret_ref: ObjectRef | None = None
    """The Secret.

    Example: `ObjectRef(name="wandb")`
    """

    config_map_ref: ObjectRef | None = None
    """The ConfigMap.

    Example: `ObjectRef(name="settings")`
    """

    prefix: str | None = None
    """A prefix for the names of the variables.

    Example: `"APP_"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class ObjectRef(Spec):
    """A Secret or ConfigMap."""

    name: str
    """Its name.

    Example: `"wandb"`
    """

    optional: bool | None = None
    """Whether the pods start if it does not exist. Default: `False`."""


@dataclass(kw_only=True, slots=True, repr=False)
class Code(Spec):
    """Small scripts that khorovod puts into the pods, so that they need not be in the image.

    Exactly one of `config_map_name`, `files` must be given.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "config_map_name": "configMapName",
        "mount_path": "mountPath",
    }

    config_map_name: str | None = None
    """The name of an existing ConfigMap. Each key is a file.

    Example: `"my-scripts"`
    """

    files: Mapping[str, str] | None = None
    """Texts of files by name, each up to 200 KiB.

    Example: `{"train.py": "print('hello')"}`
    """

    mount_path: str | None = None
    """The directory of the files. The ranks start there, unless `workingDir` is set. It is read-only: write to a
    volume of `storage`, or to `/tmp`. Default: `"/workspace"`.
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Workers(Spec):
    """The pods that run ranks.

    Exactly one of `replicas`, `groups` must be given.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "compute_domain": "computeDomain",
        "health_check": "healthCheck",
        "service_account_name": "serviceAccountName",
        "gpu_resource": "gpuResource",
        "slots_per_worker": "slotsPerWorker",
        "ephemeral_storage": "ephemeralStorage",
        "resource_claims": "resourceClaims",
        "gpu_claim": "gpuClaim",
    }

    replicas: int | None = None
    """The number of workers, which are the nodes of `torchrun --nnodes` and of Slurm; with `elastic`, the number
    at the start. A changed number starts a new run.

    Example: `4`
    """

    elastic: Elastic | None = None
    """The number of workers may change during the run. Only with `launcher: horovodrun` or `torchrun`, and not
    with `groups` and `spares`. The run continues without lost workers. khorovod does not change the number
    itself, but you can. Not with `horovodrun` in a queue of Kueue or in a gang; with torchrun, Kueue admits
    more workers when the quota has room (0.18 or newer), but not with `placement.topology`, under which the
    number must stay as it is. With horovodrun: `kubectl scale statefulset JOB-RUN-worker --replicas 6`. With
    torchrun, until you apply the spec again: `kubectl patch job JOB-RUN -p '{"spec": {"completions": 6,
    "parallelism": 6}}'`.

    Example: `Elastic(min_replicas=2, max_replicas=8)`
    """

    compute_domain: Literal["Single", "All"] | None = None
    """Multi-node NVLink: all workers join a ComputeDomain of NVIDIA's DRA driver, and each gets IMEX channels.
    Kubernetes 1.34 or newer. Add `placement: {topology: {required: nvlink}}`, so that all workers run on
    nodes of one NVLink domain.

    - `"Single"`: One channel, which is what NCCL needs.
    - `"All"`: All channels of the domain.

    Example: `"Single"`
    """

    groups: list[Group] | None = None
    """Heterogeneous worker groups. The fields of a worker beside `groups`, such as `gpus`, are the defaults of
    each group. Only with `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow.

    Example: `[Group(name="a100", replicas=2, gpus=8)]`
    """

    health_check: HealthCheck | None = None
    """The checks that a worker must pass before it runs ranks. A worker that fails is replaced: with
    `launcher.runsIn: ownPod` by a spare or by a new worker, else Kubernetes starts its pod again. Default:
    `OnFailure` for workers with GPUs, `Never` for others; with a map, `policy` decides.

    Example: `HealthCheck(command=["dcgmi", "diag", "-r", "1"], timeout="2m")`
    """

    service_account_name: str | None = None
    """An existing ServiceAccount for the workers, which gives them an identity in the cloud: a role of AWS, a
    service account of Google, or a managed identity of Azure. The launcher keeps its own account. The workers
    then get no token for the API server, so they cannot release their GPUs if no launcher starts any more.
    Only with `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow. Default: the account of the
    launcher.

    Example: `"reads-data"`
    """

    spares: int | None = None
    """The number of additional workers, which are ready but run no ranks until another worker is lost. Without
    one, another pod replaces a lost worker: see `launcher.runsIn`. Each group has its own spares. Only with
    `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow, a gang or Kueue, and not with
    `elastic`. Default: `0`.

    Example: `1`
    """

    gpus: int | None = None
    """GPUs per worker. 0 trains on CPUs. Default: `0`.

    Example: `8`
    """

    gpu_resource: str | None = None
    """The resource that counts GPUs on the nodes: `amd.com/gpu`, `habana.ai/gaudi`, or a MIG slice such as
    `nvidia.com/mig-1g.10gb`. Request one MIG slice per worker: a process with CUDA uses only one. Default:
    `"nvidia.com/gpu"`.

    Example: `"nvidia.com/mig-1g.10gb"`
    """

    slots_per_worker: int | None = None
    """Ranks per worker, which MPI calls slots, torchrun `--nproc-per-node`, Slurm `--ntasks-per-node`, and JAX
    processes. Each JAX rank gets an equal share of the GPUs of its worker. Default: one per GPU, at least
    one.

    Example: `8`
    """

    cpu: str | float | None = None
    """CPUs per worker, for all its ranks together: both request and limit. This is a share of CPU time, not a
    set of cores: the ranks may run on any core of the node. With a whole number here, `memory` too, and the
    static CPU manager policy on the nodes, a worker gets cores of its own. khorovod does not set
    `OMP_NUM_THREADS`. Under Slurm, it is `--cpus-per-task` for each rank, rounded down. Default: no request
    and no limit.

    Example: `"32"`
    """

    memory: str | float | None = None
    """Memory per worker, for all its ranks together: both request and limit. A worker that uses more is killed.
    With `cpu` too, the pods have the QoS class Guaranteed. Under Slurm, it is `--mem`. Default: no request
    and no limit.

    Example: `"256Gi"`
    """

    shm: str | float | None = None
    """Size of `/dev/shm`, which uses memory of the worker. Default: a quarter of `memory`, else 8Gi.

    Example: `"64Gi"`
    """

    ephemeral_storage: str | float | None = None
    """Local disk per worker: both request and limit. Default: no request and no limit.

    Example: `"100Gi"`
    """

    resource_claims: list[ResourceClaim] | None = None
    """Devices that each worker gets by Dynamic Resource Allocation (DRA), Kubernetes 1.34 or newer: GPUs,
    network interfaces, or others that a DRA driver offers.

    Example: `[ResourceClaim(name="nic", resource_claim_template_name="rdma-nic")]`
    """

    gpu_claim: str | None = None
    """The entry of `resourceClaims` with the GPUs that `gpus` counts. Only with `gpus`. The workers then do not
    request `gpuResource`.

    Example: `"gpus"`
    """

    rdma: Rdma | None = None
    """RDMA devices per worker. Needs the Pod Security level `privileged`, because of the capability `IPC_LOCK`.

    Example: `Rdma(resource="rdma/hca", count=8)`
    """

    resources: Resources | None = None
    """Kubernetes requests and limits in full, instead of `cpu`, `memory` and `ephemeralStorage`.

    Example: `Resources(requests={"cpu": "8"}, limits={"memory": "64Gi"})`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Elastic(Spec):
    """Training that continues while workers come and go."""

    _names: ClassVar[Mapping[str, str]] = {
        "min_replicas": "minReplicas",
        "max_replicas": "maxReplicas",
        "reset_limit": "resetLimit",
    }

    min_replicas: int
    """The minimum number of workers. If there are fewer, the launcher waits for others, at most `timeout`.

    Example: `2`
    """

    max_replicas: int
    """The maximum number of workers, up to which you may scale the job. khorovod never adds workers above
    `replicas` itself.

    Example: `8`
    """

    cooldown: Cooldown | None = None
    """How long `horovodrun` does not use a failed host. A host is the name of a worker's pod, and a pod that
    replaces it with the same name counts as the same host. Not with torchrun. Default: horovodrun never uses
    a failed host again.

    Example: `Cooldown(min="1m", max="10m")`
    """

    timeout: str | None = None
    """How long the training waits if fewer than `minReplicas` workers are left. After this time, the attempt has
    failed. The limit for the start of an attempt is `lifecycle.startTimeout` and, with torchrun, also this
    time. Default: `"10m"`.
    """

    reset_limit: int | None = None
    """How often the set of workers may change before `horovodrun` fails. Not with torchrun. Default: no limit.

    Example: `100`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Cooldown(Spec):
    """How long a failed host is not used. The time grows from `min` to `max` with each failure."""

    min: str
    """The time after the first failure.

    Example: `"1m"`
    """

    max: str
    """The maximum time.

    Example: `"10m"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Group(Spec):
    """A group of equal workers."""

    _names: ClassVar[Mapping[str, str]] = {
        "gpu_resource": "gpuResource",
        "slots_per_worker": "slotsPerWorker",
        "ephemeral_storage": "ephemeralStorage",
        "resource_claims": "resourceClaims",
        "gpu_claim": "gpuClaim",
    }

    name: str
    """The name of the group. The names of its pods contain it.

    Example: `"a100"`
    """

    replicas: int
    """The number of workers of the group.

    Example: `2`
    """

    spares: int | None = None
    """The number of additional workers, which are ready but run no ranks until another worker is lost. Without
    one, another pod replaces a lost worker: see `launcher.runsIn`. Each group has its own spares. Only with
    `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow, a gang or Kueue, and not with
    `elastic`. Default: `0`.

    Example: `1`
    """

    gpus: int | None = None
    """GPUs per worker. 0 trains on CPUs. Default: `0`.

    Example: `8`
    """

    gpu_resource: str | None = None
    """The resource that counts GPUs on the nodes: `amd.com/gpu`, `habana.ai/gaudi`, or a MIG slice such as
    `nvidia.com/mig-1g.10gb`. Request one MIG slice per worker: a process with CUDA uses only one. Default:
    `"nvidia.com/gpu"`.

    Example: `"nvidia.com/mig-1g.10gb"`
    """

    slots_per_worker: int | None = None
    """Ranks per worker, which MPI calls slots, torchrun `--nproc-per-node`, Slurm `--ntasks-per-node`, and JAX
    processes. Each JAX rank gets an equal share of the GPUs of its worker. Default: one per GPU, at least
    one.

    Example: `8`
    """

    cpu: str | float | None = None
    """CPUs per worker, for all its ranks together: both request and limit. This is a share of CPU time, not a
    set of cores: the ranks may run on any core of the node. With a whole number here, `memory` too, and the
    static CPU manager policy on the nodes, a worker gets cores of its own. khorovod does not set
    `OMP_NUM_THREADS`. Under Slurm, it is `--cpus-per-task` for each rank, rounded down. Default: no request
    and no limit.

    Example: `"32"`
    """

    memory: str | float | None = None
    """Memory per worker, for all its ranks together: both request and limit. A worker that uses more is killed.
    With `cpu` too, the pods have the QoS class Guaranteed. Under Slurm, it is `--mem`. Default: no request
    and no limit.

    Example: `"256Gi"`
    """

    shm: str | float | None = None
    """Size of `/dev/shm`, which uses memory of the worker. Default: a quarter of `memory`, else 8Gi.

    Example: `"64Gi"`
    """

    ephemeral_storage: str | float | None = None
    """Local disk per worker: both request and limit. Default: no request and no limit.

    Example: `"100Gi"`
    """

    resource_claims: list[ResourceClaim] | None = None
    """Devices that each worker gets by Dynamic Resource Allocation (DRA), Kubernetes 1.34 or newer: GPUs,
    network interfaces, or others that a DRA driver offers.

    Example: `[ResourceClaim(name="nic", resource_claim_template_name="rdma-nic")]`
    """

    gpu_claim: str | None = None
    """The entry of `resourceClaims` with the GPUs that `gpus` counts. Only with `gpus`. The workers then do not
    request `gpuResource`.

    Example: `"gpus"`
    """

    rdma: Rdma | None = None
    """RDMA devices per worker. Needs the Pod Security level `privileged`, because of the capability `IPC_LOCK`.

    Example: `Rdma(resource="rdma/hca", count=8)`
    """

    resources: Resources | None = None
    """Kubernetes requests and limits in full, instead of `cpu`, `memory` and `ephemeralStorage`.

    Example: `Resources(requests={"cpu": "8"}, limits={"memory": "64Gi"})`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class ResourceClaim(Spec):
    """Devices that each worker gets by Dynamic Resource Allocation.

    Exactly one of `resource_claim_template_name`, `resource_claim_name`, `devices` must be given.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "resource_claim_template_name": "resourceClaimTemplateName",
        "resource_claim_name": "resourceClaimName",
    }

    name: str
    """The name of the entry.

    Example: `"nic"`
    """

    resource_claim_template_name: str | None = None
    """An existing ResourceClaimTemplate, from which Kubernetes makes a claim for each worker.

    Example: `"rdma-nic"`
    """

    resource_claim_name: str | None = None
    """An existing ResourceClaim, which all workers share.

    Example: `"shared-accelerator"`
    """

    devices: Mapping[str, Any] | None = None
    """The devices that each worker gets. khorovod renders a ResourceClaimTemplate with them.

    Example: `{"requests": [{"name": "nic", "exactly": {"deviceClassName": "dranet", "count": 8}}]}`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Rdma(Spec):
    """RDMA devices per worker.

    Exactly one of `resource`, `claim` must be given.
    """

    resource: str | None = None
    """The resource that counts the devices, which your RDMA device plugin has. Not the resource of the GPUs.

    Example: `"rdma/hca"` or `"vpc.amazonaws.com/efa"`
    """

    count: int | None = None
    """The number of devices. Default: `1`."""

    claim: str | None = None
    """Instead of `resource`: the entry of `resourceClaims` that has the devices.

    Example: `"nic"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Resources(Spec):
    """Kubernetes requests and limits in full."""

    requests: Mapping[str, str | float] | None = None
    """The resources that the scheduler reserves.

    Example: `{"cpu": "8", "memory": "64Gi"}`
    """

    limits: Mapping[str, str | float] | None = None
    """The maximum that the container may use.

    Example: `{"memory": "64Gi"}`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class HealthCheck(Spec):
    """The checks that a worker must pass before it runs ranks: khorovod's own checks, and your `command`.
    khorovod logs in to the worker and checks the number and the memory errors of GPUs, RDMA devices, free
    space, volumes, the clock, and the connection to other workers. A check is not repeated: a worker that
    fails once is replaced. With `launcher.runsIn: ownPod`, a spare or a new worker takes its place, and the
    rejected pod keeps its GPUs until the run ends, so that no other worker of the run starts on them.
    Otherwise the pod exits, and Kubernetes starts another one, perhaps on the same node. khorovod does not
    cordon a node. The run fails if checks reject workers in more than `lifecycle.retries` + 1 rounds.
    """

    policy: Literal["Always", "OnFailure", "Never"] | None = None
    """The attempts before which the workers are checked. Without the whole map `healthCheck`, it is `OnFailure`
    for workers with GPUs and `Never` for others. Default: `"Always"`.

    - `"Always"`: Each attempt.
    - `"OnFailure"`: Each attempt that follows a failed one, also if a lost worker was the reason.
    - `"Never"`: None.
    """

    command: str | list[str] | None = None
    """A command that runs on every worker beside khorovod's own checks. Any exit code but 0 means that the
    worker must not run ranks.

    Example: `["dcgmi", "diag", "-r", "1"]`
    """

    timeout: str | None = None
    """How long the command may take. A worker on which it takes longer fails the check. Default: `"30s"`.

    Example: `"2m"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Launcher(Spec):
    """The program that starts the ranks, and the pod it runs in. With torchrun, jax and tensorflow, and with
    `runsIn: firstWorker`, the launcher is the pod with index 0.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "runs_in": "runsIn",
        "runs_ranks": "runsRanks",
        "idle_timeout": "idleTimeout",
        "lost_timeout": "lostTimeout",
    }

    kind: Literal["mpirun", "horovodrun", "torchrun", "deepspeed", "jax", "tensorflow", "shell"]
    """The program that starts the ranks. Required in a map; without `launcher`, it is mpirun. Default:
    `"mpirun"`.

    - `"mpirun"`: The launcher of MPI.
    - `"horovodrun"`: The launcher of Horovod, static or elastic.
    - `"torchrun"`: The launcher of PyTorch, which needs no ssh. It reads its options from variables that
    khorovod sets: `PET_NNODES`, `PET_NPROC_PER_NODE`, `PET_NODE_RANK` (the index of the pod),
    `PET_MAX_RESTARTS`, `PET_TEE`, `PET_RDZV_CONF`, and `PET_MASTER_ADDR` and `PET_MASTER_PORT` or, with
    `elastic`, `PET_RDZV_BACKEND`, `PET_RDZV_ENDPOINT` and `PET_RDZV_ID`; with `hostNetwork` also
    `PET_LOCAL_ADDR`. `khorovod plan` prints their values.
    - `"deepspeed"`: The launcher of DeepSpeed.
    - `"jax"`: Processes of JAX, which `jax.distributed.initialize()` connects. Needs no ssh.
    - `"tensorflow"`: Processes of TensorFlow with `TF_CONFIG`, for `MultiWorkerMirroredStrategy`. Needs no
    ssh.
    - `"shell"`: The command itself, in the launcher pod, with hostfile, ssh and MPI ready.

    Example: `"mpirun"`
    """

    mpi: Literal["openmpi", "intelmpi", "mpich"] | None = None
    """The MPI in the image. Not with torchrun, jax and tensorflow. horovodrun uses MPI if the Horovod of the
    image was built with it, else Gloo; elastic jobs always use Gloo. Default: `"openmpi"`.

    - `"openmpi"`: Open MPI 4 or 5.
    - `"intelmpi"`: Intel MPI.
    - `"mpich"`: MPICH and libraries derived from it.

    Example: `"mpich"`
    """

    args: list[str] | None = None
    """Arguments of the launcher program. khorovod adds the number of ranks, the hosts, the ssh settings and the
    bounds of `elastic`; for mpirun also `--bind-to none` and an option that starts each line of output with
    its rank, if you do not set these. `khorovod plan` prints the whole command. torchrun gets these values as
    variables `PET_*` instead. Not with jax, tensorflow and shell, which have no options. Bind ranks to cores
    only if each worker has cores of its own: see `workers.cpu`.

    Example: `["--bind-to", "socket"]`
    """

    program: str | None = None
    """The program that each pod runs in place of torchrun, such as `ft_launcher` of NVIDIA's Resiliency
    Extension. It must take the options and the variables `PET_*` of torchrun. Only with torchrun and
    `workers.elastic`. Default: `torchrun`.

    Example: `"ft_launcher"`
    """

    runs_in: Literal["ownPod", "firstWorker"] | None = None
    """The pod that the launcher runs in. Default: `ownPod`. A gang, Kueue (`localQueue`), `suspend`, torchrun,
    jax, tensorflow, and `security.apiAccess: false` without `lifecycle.keepWorkers` have `firstWorker`, and
    refuse `ownPod` with all fields that need it: `workers.spares`, `workers.groups`, `storage.perWorker` and
    `lifecycle.keepWorkers`. Only `scheduling.gang: native` also supports `ownPod`.

    - `"ownPod"`: A pod of its own. A Job runs the launcher and a StatefulSet the workers, which the launcher
    scales. If the node of a worker fails, the ranks run again after about 15 seconds with one of the
    `spares`, and after about 30 seconds without one.
    - `"firstWorker"`: The first worker. One Indexed Job runs all workers, so the launcher needs no permission
    to scale them. If a node fails, Kubernetes replaces its pod after about 80 seconds, or with
    `security.apiAccess: false` when you delete the node. Meanwhile the others wait in their pods; elastic
    torchrun starts the ranks again on them when it notices the loss. There are no spares.

    Example: `"firstWorker"`
    """

    runs_ranks: bool | None = None
    """Whether the launcher pod also runs ranks, as one more host beside the workers and with the same resources.
    Only with `runsIn: ownPod`, and not with `workers.elastic`. Default: `False`.
    """

    interactive: bool | None = None
    """Whether the launcher pod stays open for `kubectl exec`, until `idleTimeout`. Only with kind `shell`.
    Default: `False`.
    """

    idle_timeout: str | None = None
    """How long an interactive launcher stays open without a session. Only with `interactive`. Default: `"2h"`."""

    cpu: str | float | None = None
    """CPUs of the launcher pod. Only with `runsIn: ownPod`, and not with `runsRanks`. Default: `"1"`.

    Example: `"2"`
    """

    memory: str | float | None = None
    """Memory of the launcher pod. Only with `runsIn: ownPod`, and not with `runsRanks`. With more than 1,000
    workers, the default is larger and grows with their number. Default: `"2Gi"`.

    Example: `"4Gi"`
    """

    image: str | None = None
    """The image of the launcher pod. Only with `runsIn: ownPod`. Default: that of the job.

    Example: `"ghcr.io/acme/launcher:1.0"`
    """

    lost_timeout: str | None = None
    """How long the workers wait while no launcher runs, for example because its node is lost. After this time,
    the workers release their GPUs and CPUs. With torchrun, jax and tensorflow, the pods notice within ten
    seconds that another pod is lost, end the attempt, and wait for its replacement, at most
    `lifecycle.startTimeout`. Not with torchrun, jax and tensorflow, `lifecycle.keepWorkers`,
    `workers.serviceAccountName` and `security.apiAccess: false`. Default: `"15m"`.

    Example: `"1h"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Ssh(Spec):
    """Settings of ssh between the pods. Not with torchrun, jax and tensorflow."""

    _names: ClassVar[Mapping[str, str]] = {
        "secret_name": "secretName",
    }

    port: int | None = None
    """The port sshd listens on in the pods. A port below 1024 needs `security.runAsUser: 0`. Not with torchrun,
    jax and tensorflow. Default: `2222`.
    """

    secret_name: str | None = None
    """An existing Secret with the keys `id_ed25519`, `authorized_keys`, `host_key` and `known_hosts`; `khorovod
    keygen` generates one. With torchrun, jax and tensorflow, only the pods that pass on a `download` of
    `storage` use it. Default: khorovod renders one per run, `<job>-<run>-ssh`.

    Example: `"my-keys"`
    """

    user: str | None = None
    """The login name in the pods. Not with torchrun, jax and tensorflow. Default: `"khorovod"`."""


@dataclass(kw_only=True, slots=True, repr=False)
class Collective(Spec):
    """Settings of NCCL, Horovod and MPI. If you leave a setting out, the library uses its own default. Variables
    in `env` override these settings, and other variables such as `NCCL_IB_HCA` belong there. khorovod does
    not set `OMP_NUM_THREADS`.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "nccl_debug": "ncclDebug",
        "fusion_threshold": "fusionThreshold",
        "cycle_time": "cycleTime",
        "hierarchical_allreduce": "hierarchicalAllreduce",
    }

    nccl_debug: Literal["VERSION", "WARN", "INFO", "TRACE"] | None = None
    """The log level of NCCL, as the variable `NCCL_DEBUG`. Default: that of NCCL, which prints no messages.

    - `"VERSION"`: Its version.
    - `"WARN"`: Errors with an explanation.
    - `"INFO"`: Its decisions, with reasons.
    - `"TRACE"`: Every call.

    Example: `"WARN"`
    """

    interface: str | None = None
    """The network interface for NCCL, Gloo and the TCP transport of Open MPI. In pods it is usually `eth0`; the
    names of the node exist only with `placement.hostNetwork`. `^NAME` excludes one. Default: each library
    chooses one.

    Example: `"eth0"`
    """

    infiniband: bool | None = None
    """Whether NCCL may use InfiniBand. Default: that of NCCL, which uses it if the pod has such a device.

    Example: `True`
    """

    fusion_threshold: str | float | None = None
    """The amount of data that Horovod combines into one reduction. Not with torchrun, jax and tensorflow.
    Default: that of Horovod, 128 MB.

    Example: `"64Mi"`
    """

    cycle_time: str | None = None
    """The time between two rounds in which Horovod combines tensors, a multiple of `1ms`. Not with torchrun, jax
    and tensorflow. Default: that of Horovod, `1ms`.

    Example: `"5ms"`
    """

    autotune: bool | None = None
    """Whether Horovod tunes its own parameters. Not with torchrun, jax and tensorflow. Default: that of Horovod,
    false.

    Example: `True`
    """

    hierarchical_allreduce: bool | None = None
    """Whether Horovod reduces within each host first. Not with torchrun, jax and tensorflow. Default: that of
    Horovod, false.

    Example: `True`
    """

    timeline: str | None = None
    """The file for the timeline of Horovod, which rank 0 writes. Not with torchrun, jax and tensorflow. Default:
    no timeline.

    Example: `"/results/timeline.json"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Storage(Spec):
    """A volume that is mounted in every worker and, unless it is `perWorker`, `s3` or `download`, also in the
    launcher pod. Exactly one field names its source.

    Exactly one of `claim`, `existing_claim`, `per_worker`, `nfs`, `persistent_volume`, `s3`, `download`,
    `host_path`, `empty_dir` must be given.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "mount_path": "mountPath",
        "read_only": "readOnly",
        "sub_path": "subPath",
        "existing_claim": "existingClaim",
        "per_worker": "perWorker",
        "persistent_volume": "persistentVolume",
        "host_path": "hostPath",
        "empty_dir": "emptyDir",
    }

    name: str
    """The name of the entry. Names of volumes and claims contain it.

    Example: `"data"`
    """

    mount_path: str
    """Where it is mounted.

    Example: `"/data"`
    """

    read_only: bool | None = None
    """Whether the pods may only read it. Not with `s3` and `download`, which fill a directory of the pod.
    Default: `False`.
    """

    sub_path: str | None = None
    """The directory of the volume to mount. Default: its root.

    Example: `"imagenet/train"`
    """

    claim: Claim | None = None
    """A PersistentVolumeClaim that khorovod renders. It stays when the job is deleted.

    Example: `Claim(size="1Ti", access_modes=["ReadWriteMany"])`
    """

    existing_claim: str | None = None
    """The name of an existing PersistentVolumeClaim. The user `security.runAsUser` must be able to write to its
    files.

    Example: `"team-nfs"`
    """

    per_worker: Claim | None = None
    """One PersistentVolumeClaim per worker. It stays when the job is deleted. Only with `launcher.runsIn:
    ownPod`, so not with torchrun, jax and tensorflow.

    Example: `Claim(size="100Gi")`
    """

    nfs: Nfs | None = None
    """A directory on an NFS server. The user `security.runAsUser` must be able to write to it. Needs the Pod
    Security level `baseline`; under `restricted`, write `persistentVolume: {size: 1Ti, source: {nfs: {…}}}`
    instead.

    Example: `Nfs(server="10.0.0.1", path="/exports/data")`
    """

    persistent_volume: PersistentVolume | None = None
    """A PersistentVolume that khorovod renders, with its claim.

    Example: `PersistentVolume(size="1Ti", source={"nfs": {"server": "10.0.0.1", "path": "/data"}})`
    """

    s3: S3 | None = None
    """Objects in an S3 bucket, which are copied into every worker before the training, or out while it runs and
    after it. Only the files of the first worker are copied out, not the shards of other workers. If a copy
    stops, the next start of the container continues it: complete files, and complete ranges of 16 MiB, are
    not copied again.

    Example: `S3(bucket="imagenet", secret_name="s3-keys", direction="in")`
    """

    download: Download | None = None
    """A model or data set, which is downloaded once before the training and passed on from worker to worker.
    Each worker has its own copy on the disk of its node, which is deleted with its pod; a pod that takes its
    place gets the files from other workers. The workers authenticate each other with a key of ssh, so the job
    needs a seed or `ssh.secretName`, with every launcher.

    Example: `Download(hugging_face="Qwen/Qwen3-8B", revision="b968826d9c46dd6066d109eabc6255188de91218")`
    """

    host_path: HostPath | None = None
    """A directory of the node. It must exist on every node, and the user `security.runAsUser` must be able to
    write to it. Needs the Pod Security level `privileged`.

    Example: `HostPath(path="/mnt/nvme")`
    """

    empty_dir: EmptyDir | None = None
    """A directory that is deleted with the pod.

    Example: `EmptyDir(size_limit="50Gi")`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Claim(Spec):
    """A PersistentVolumeClaim."""

    _names: ClassVar[Mapping[str, str]] = {
        "storage_class_name": "storageClassName",
        "access_modes": "accessModes",
    }

    size: str | float
    """The requested size.

    Example: `"1Ti"`
    """

    storage_class_name: str | None = None
    """The StorageClass. Default: that of the cluster.

    Example: `"fast"`
    """

    access_modes: list[Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]] | None = None
    """How it may be mounted. Default: `ReadWriteMany`, or `ReadWriteOnce` with `perWorker` or in a job of one
    worker.

    Example: `["ReadWriteMany"]`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Nfs(Spec):
    """A directory on an NFS server."""

    server: str
    """The name or address of the server.

    Example: `"10.0.0.1"`
    """

    path: str
    """The exported directory.

    Example: `"/exports/data"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class PersistentVolume(Spec):
    """A PersistentVolume and its claim."""

    _names: ClassVar[Mapping[str, str]] = {
        "access_modes": "accessModes",
    }

    source: Mapping[str, Mapping[str, Any]]
    """A Kubernetes volume source, such as `{nfs: {...}}` or `{csi: {...}}`.

    Example: `{"nfs": {"server": "10.0.0.1", "path": "/data"}}`
    """

    size: str | float
    """The capacity of the volume.

    Example: `"1Ti"`
    """

    access_modes: list[Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]] | None = None
    """How it may be mounted. Default: `ReadWriteMany`.

    Example: `["ReadWriteMany"]`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class S3(Spec):
    """Objects in a bucket."""

    _names: ClassVar[Mapping[str, str]] = {
        "secret_name": "secretName",
        "upload_interval": "uploadInterval",
        "size_limit": "sizeLimit",
    }

    endpoint: str | None = None
    """The URL of the server, if it is not AWS: with `http` or `https`, a name or an address, and a port.
    Requests have the bucket in the path. The image must trust the certificate of the server. Default: that of
    AWS in `region`.

    Example: `"https://minio.example.org:9000"`
    """

    bucket: str
    """The bucket.

    Example: `"imagenet"`
    """

    prefix: str | None = None
    """Only objects below this folder of the bucket, with or without a `/` at its end. An empty prefix means the
    whole bucket.

    Example: `"train/"`
    """

    region: str | None = None
    """The region. Default: `"us-east-1"`."""

    secret_name: str | None = None
    """A Secret with `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, as `kubectl create secret generic s3-keys
    --from-literal=AWS_ACCESS_KEY_ID=… --from-literal=AWS_SECRET_ACCESS_KEY=…` creates it. Default: the role
    that AWS gives to the ServiceAccount of `security.serviceAccountName`; without a role, a public bucket.

    Example: `"s3-keys"`
    """

    direction: Literal["in", "out", "both"] | None = None
    """Whether objects are copied in, out, or both. Default: `"in"`.

    - `"in"`: Into every worker before the training. One worker downloads the objects, and the others get them
    from it. A retry on the same pods copies nothing again; a new pod gets all objects. Nothing is copied
    back.
    - `"out"`: Out of the first worker, while the training runs and after it. Before a retry, new workers get
    the files that this run has copied out, such as the newest checkpoint. A new run starts with an empty
    directory. No object is deleted.
    - `"both"`: Both: in before the training, and out as with `out`. A new run gets the files of earlier runs
    too, because they are in the bucket.
    """

    upload_interval: str | None = None
    """How often files are copied out while the training runs. If a file changes while it is copied, the bucket
    keeps its earlier version, and the file is copied at the next interval. Default: `"10m"`.

    Example: `"30m"`
    """

    size_limit: str | float | None = None
    """The maximum size of the volume for the copies. Default: no limit.

    Example: `"500Gi"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Download(Spec):
    """A model or data set on the Hugging Face Hub, or a file on a web server.

    Exactly one of `hugging_face`, `url` must be given.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "hugging_face": "huggingFace",
        "secret_name": "secretName",
        "size_limit": "sizeLimit",
    }

    hugging_face: str | None = None
    """A repository of the Hugging Face Hub: a model, or a data set as `datasets/ORG/NAME`. For another server
    with the same API, set `HF_ENDPOINT` in `env`.

    Example: `"Qwen/Qwen3-8B"`
    """

    revision: str | None = None
    """The commit of the repository, as 40 hexadecimal digits, not a branch. `git ls-remote
    https://huggingface.co/ORG/NAME` prints that of each branch. Only with `huggingFace`, which needs it.

    Example: `"b968826d9c46dd6066d109eabc6255188de91218"`
    """

    files: list[str] | None = None
    """Only files of the repository that match one of these patterns, in which `*` stands for any characters.
    Only with `huggingFace`. Default: all files.

    Example: `["*.safetensors", "*.json"]`
    """

    url: str | None = None
    """The URL of a file. Its last part is the name of the file in the volume.

    Example: `"https://example.org/coco-2017.tar.gz"`
    """

    sha256: str | None = None
    """The SHA-256 digest of the file, as `sha256sum` prints it. The job fails if the file has another one. Only
    with `url`. Default: only the size is verified.

    Example: `"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`
    """

    unpacks: bool | None = None
    """Whether the file is an archive of tar or zip, which each worker unpacks into the volume and then removes.
    Only with `url`. Default: `False`.
    """

    secret_name: str | None = None
    """A Secret with the token that the server requires, as `kubectl create secret generic hf-token
    --from-literal=HF_TOKEN=…` creates it. With `url`, its key is `TOKEN`.

    Example: `"hf-token"`
    """

    size_limit: str | float | None = None
    """The maximum size of the volume. Default: no limit.

    Example: `"50Gi"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class HostPath(Spec):
    """A directory of the node."""

    path: str
    """The directory.

    Example: `"/mnt/nvme"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class EmptyDir(Spec):
    """A directory that is deleted with the pod."""

    _names: ClassVar[Mapping[str, str]] = {
        "size_limit": "sizeLimit",
    }

    size_limit: str | float | None = None
    """The maximum size. Default: no limit.

    Example: `"50Gi"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Placement(Spec):
    """The nodes that the pods run on. The fields apply to the workers and to the launcher pod; for another
    placement of the launcher pod, use `patches` with `target: {kind: Pod, name: "*-launcher"}`.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "node_selector": "nodeSelector",
        "priority_class_name": "priorityClassName",
        "runtime_class_name": "runtimeClassName",
        "host_network": "hostNetwork",
    }

    node_selector: Mapping[str, str] | None = None
    """Labels a node must have.

    Example: `{"pool": "a100"}`
    """

    tolerations: list[Toleration] | None = None
    """Taints that the pods tolerate, as in Kubernetes. For the taints `node.kubernetes.io/not-ready` and
    `node.kubernetes.io/unreachable` of a node that has failed, khorovod adds `tolerationSeconds: 30` to the
    launcher pod and, with `launcher.runsIn: firstWorker`, to each worker, unless an entry tolerates the
    taint: after that time Kubernetes evicts the pod, and starts another one. Other workers and other targets
    have the default of Kubernetes, 300 seconds.

    Example: `[Toleration(key="nvidia.com/gpu", operator="Exists")]`
    """

    affinity: Mapping[str, Mapping[str, Any]] | None = None
    """A Kubernetes affinity, for all pods of the job."""

    priority_class_name: str | None = None
    """The PriorityClass of the pods. Default: the default class of the cluster, if it has one.

    Example: `"high"`
    """

    runtime_class_name: str | None = None
    """The RuntimeClass of the pods. Default: the runtime of the node.

    Example: `"nvidia"`
    """

    spread: str | None = None
    """Spread the workers over domains of this node label, if possible. Not with `pack` or `topology`. Default:
    `"kubernetes.io/hostname"`.
    """

    pack: str | None = None
    """Instead of spreading, pack the workers into one domain of this node label, if possible.

    Example: `"topology.kubernetes.io/rack"`
    """

    topology: Topology | None = None
    """How close together the workers run: in one rack, one block, or one domain of another level. A level is the
    label of nodes, such as `cloud.example.com/rack`, or a word for one: `host` is `kubernetes.io/hostname`,
    `nvlink` is `nvidia.com/gpu.clique`, and `rack`, `block`, `zone` and `region` are
    `topology.kubernetes.io/rack` and so on. Kubernetes itself sets only those of `host`, `zone` and `region`.
    khorovod passes it to Kueue, to Volcano or to the PodGroup of Kubernetes, or else sets an affinity of the
    pods.

    Example: `Topology(required="rack")`
    """

    host_network: bool | None = None
    """Whether the pods use the network of their node. Needs the Pod Security level `privileged`. Default:
    `False`.
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Toleration(Spec):
    """A taint that the pods tolerate."""

    _names: ClassVar[Mapping[str, str]] = {
        "toleration_seconds": "tolerationSeconds",
    }

    key: str | None = None
    """The key of the taint. Default: every key, and `operator` must be `Exists`.

    Example: `"nvidia.com/gpu"`
    """

    operator: Literal["Equal", "Exists"] | None = None
    """How the value is compared. `Exists` takes no `value`. Default: `"Equal"`.

    - `"Equal"`: The values are equal.
    - `"Exists"`: Any value.
    """

    value: str | None = None
    """The value of the taint. Default: an empty value. A value that YAML reads as a boolean or a number needs
    quotes.

    Example: `"true"`
    """

    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The effect of the taint. Default: every effect.

    - `"NoSchedule"`: No new pods.
    - `"PreferNoSchedule"`: No new pods, if possible.
    - `"NoExecute"`: No pods.

    Example: `"NoSchedule"`
    """

    toleration_seconds: int | None = None
    """The time in seconds for which a pod stays on a node with the taint `NoExecute`. Default: no limit.

    Example: `300`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Topology(Spec):
    """How close together the workers run. A level is the label of nodes, or one of these words: `host`
    (`kubernetes.io/hostname`), `nvlink` (`nvidia.com/gpu.clique`), `rack` and `block`
    (`topology.kubernetes.io/rack` and `/block`), `zone` and `region` (`topology.kubernetes.io/zone` and
    `/region`).
    """

    _names: ClassVar[Mapping[str, str]] = {
        "rank_order": "rankOrder",
    }

    required: str | None = None
    """All workers run in one domain of this level, or do not start: `rack`, or a label of your nodes such as
    `cloud.example.com/rack`.

    Example: `"rack"` or `"cloud.example.com/rack"`
    """

    preferred: str | None = None
    """All workers run in one domain of this level, if possible.

    Example: `"block"`
    """

    slices: TopologySlices | None = None
    """Slices of workers, each of which runs in one domain. Only with `scheduling.localQueue` or the target
    `volcano`.

    Example: `TopologySlices(size=4, required="rack")`
    """

    rank_order: Literal["measured"] | list[str] | None = None
    """By which the hosts of the ranks are sorted, so that ranks with near numbers run near each other: a list of
    levels, the outermost first, or `measured`. With `zone` and `region` alone, the pods read their own
    labels. Any other level needs the permission to read nodes, which khorovod then renders as a ClusterRole.
    `measured` needs no labels and no permission: the launcher measures the round-trip times between the
    workers. Not with torchrun, jax and tensorflow, and not for elastic jobs.

    Example: `["block", "rack"]` or `"measured"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class TopologySlices(Spec):
    """Slices of workers, each of which runs in one domain. The first slice has the workers with the lowest
    indexes, and so on.
    """

    size: int
    """The number of workers of a slice. It must divide the number of workers.

    Example: `4`
    """

    required: str
    """The workers of a slice run in one domain of this level, or do not start.

    Example: `"rack"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Scheduling(Spec):
    """Queues, gangs and schedulers."""

    _names: ClassVar[Mapping[str, str]] = {
        "volcano_queue": "volcanoQueue",
        "local_queue": "localQueue",
        "workload_priority_class_name": "workloadPriorityClassName",
        "partial_admission": "partialAdmission",
        "scheduler_name": "schedulerName",
    }

    gang: Literal["none", "volcano", "coscheduling", "native"] | None = None
    """The scheduler that starts all pods or none of them. It must be installed in the cluster. Default:
    `"none"`.

    - `"none"`: No gang: each pod starts as soon as it fits on a node.
    - `"volcano"`: The PodGroup and the scheduler of Volcano.
    - `"coscheduling"`: The PodGroup of the scheduler plugins.
    - `"native"`: The PodGroup and the scheduler of Kubernetes itself, 1.36 or newer with the feature gate
    `GenericWorkload`. With the target `plain`. With `launcher.runsIn: ownPod`, the workers are the gang, and
    the launcher waits for them.
    """

    volcano_queue: str | None = None
    """The queue of Volcano. Only with `gang: volcano` or the target `volcano`. Default: the queue `default` of
    Volcano.

    Example: `"vision"`
    """

    local_queue: str | None = None
    """The LocalQueue of Kueue, in the namespace of the job. The rendered Job has the label of the queue and no
    `suspend: true`: Kueue's webhook suspends it when you apply it, and Kueue starts it when there is room.
    With `workers.elastic` only under torchrun: Kueue 0.18 or newer then admits a changed number of workers.
    Default: Kueue does not manage the job.

    Example: `"team-a"`
    """

    workload_priority_class_name: str | None = None
    """The WorkloadPriorityClass of Kueue: the queue admits jobs of a higher class first, and may preempt others
    for them. Only with `localQueue`. Default: the priority of `placement.priorityClassName`.

    Example: `"high"`
    """

    partial_admission: bool | None = None
    """Whether Kueue may start the job with fewer workers if the quota has no room for all, but for
    `workers.elastic.minReplicas`. Kueue then allows no other number until the job ends, and refuses a change
    of this field in a run: change `runTag` with it. Only with `localQueue`, with `minReplicas` below
    `replicas`, and for the target `plain`. Default: `False`.
    """

    suspend: bool | None = None
    """Whether the job starts suspended, until you apply it with false. If you set it while the job runs, its
    pods end. Default: `False`.
    """

    scheduler_name: str | None = None
    """The name of the scheduler. Default: the scheduler of the gang, else that of the cluster.

    Example: `"my-scheduler"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Lifecycle(Spec):
    """How long the job may take, how often it is retried, and what happens after it."""

    _names: ClassVar[Mapping[str, str]] = {
        "start_timeout": "startTimeout",
        "retries_reset_after": "retriesResetAfter",
        "retries_without_progress": "retriesWithoutProgress",
        "final_exit_codes": "finalExitCodes",
        "ttl_after_finished": "ttlAfterFinished",
        "keep_workers": "keepWorkers",
    }

    deadline: str | None = None
    """The maximum duration of a run. It includes the wait for the pods and all attempts, but not the time in the
    queue of Kueue or the time in which the job is suspended. When it has passed, the ranks get the signal of
    `checkpoint` and may continue for its `gracePeriod`. Then the run fails and releases its GPUs. The signal
    comes at the deadline; under Slurm it comes so long before it that `gracePeriod` ends at the deadline,
    unless `checkpoint` has its default. `activeDeadlineSeconds` of the rendered Job is five minutes more, for
    a launcher that cannot enforce the deadline. Under Slurm, the time starts at 0 each time Slurm starts the
    job again. Default: no limit.

    Example: `"24h"`
    """

    start_timeout: str | None = None
    """How long an attempt waits until the launcher reaches all workers or, in an elastic job, `minReplicas`
    workers. If it does not reach them in this time, the run fails, whatever `retries` is, and names the
    missing workers. Default: `"30m"`.

    Example: `"2h"`
    """

    retries: int | None = None
    """How often the training is started again after attempts that failed in a row. With torchrun, jax and
    tensorflow, it starts again in the same pods. Lost, evicted and preempted workers do not count, unless the
    attempt ran for less than a minute. Under Slurm, each time that Slurm starts the job again counts, and the
    attempts before it do not. An attempt that runs for `retriesResetAfter` sets the count to 0, so a training
    that fails every few hours never ends if there is no `deadline`. With elastic torchrun, this is also the
    limit for restarts of the ranks within each attempt. Other torchrun jobs get `PET_MAX_RESTARTS=1`, so that
    a failed rank does not have to wait for the other pods: khorovod then restarts the ranks of all pods, and
    this number limits how often. Default: `3`.

    Example: `0`
    """

    retries_reset_after: str | Literal["never"] | None = None
    """An attempt that ran this long resets the number of failed attempts. With `never`, all failed attempts of
    the run count. Default: `"1h"`.

    Example: `"6h"`
    """

    retries_without_progress: int | None = None
    """How many attempts in a row may end without a new highest step, whatever ended them, before the run fails.
    An attempt that runs for `retriesResetAfter` counts as one with a new step. Needs
    `observability.progress`, and has no effect without it or while it finds no step. Default: `10`.

    Example: `5`
    """

    final_exit_codes: list[int] | None = None
    """Exit codes of the training after which no further attempt starts. Not with torchrun, jax and tensorflow,
    whose agents do not pass on the exit codes of their ranks. Default: every exit code but 0 is followed by
    another attempt.

    Example: `[2, 64]`
    """

    ttl_after_finished: str | None = None
    """How long Kubernetes keeps the finished Job. Its pods and their logs are deleted with it, so save the log
    before, for example with `khorovod logs JOB > FILE`. The other objects of the job stay until you delete
    them, with `kubectl delete` and the label `khorovod.dev/job=JOB`: `khorovod plan` prints the command.
    Default: until you delete it.

    Example: `"1h"`
    """

    keep_workers: bool | None = None
    """Whether the workers and their GPUs are kept after the end of the run, until you delete them. Otherwise the
    launcher scales the workers to zero. Only with `launcher.runsIn: ownPod`, so not with torchrun, jax and
    tensorflow. Default: `False`.
    """

    checkpoint: Checkpoint | None = None
    """The signal and the time that the ranks get to save a checkpoint, before they are ended by an eviction, a
    preemption, a drain, the deadline, a newer run or `khorovod stop`. Default: `SIGTERM` and `30s`.

    Example: `Checkpoint(signal="SIGUSR1", grace_period="2m")`
    """

    stall: Stall | None = None
    """How long a training may run without activity, by default without output of any rank. The start of the
    training counts too. Then the attempt ends and counts as failed, as `retries` allows. Default: without
    limit.

    Example: `Stall(timeout="20m")`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Checkpoint(Spec):
    """The signal and the time that the ranks get to save a checkpoint. Before the ranks of a run are ended
    (drain, eviction, preemption, deadline, newer run), every rank gets this signal and this much time. If a
    worker of an elastic job is evicted, only its ranks get it, with `horovodrun` after half of the time,
    because the others continue. The first worker of `torchrun` is an exception: all ranks end with it. Under
    Slurm, the script ends the training half a minute before `slurm.time`, or at `lifecycle.deadline` if that
    is earlier, and every rank gets the signal `gracePeriod` before that moment. Your program chooses where it
    saves checkpoints, and loads the newest one at its start. After the signal it may end or continue; its
    exit code does not matter then.
    """

    _names: ClassVar[Mapping[str, str]] = {
        "grace_period": "gracePeriod",
    }

    signal: Literal["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"] | None = None
    """The signal. Default: `"SIGTERM"`.

    - `"SIGTERM"`: Ends a program that does not handle it.
    - `"SIGINT"`: As from Ctrl+C. In Python it raises KeyboardInterrupt.
    - `"SIGHUP"`: Ends a program that does not handle it.
    - `"SIGUSR1"`: The signal that PyTorch Lightning and many scripts for Slurm handle.
    - `"SIGUSR2"`: Ends a program that does not handle it.

    Example: `"SIGUSR1"`
    """

    grace_period: str | None = None
    """How long the ranks may continue after the signal, at most `1h`. An upload of `s3` follows, which may take
    as long again, and up to a minute and a half for the end of the pod: `terminationGracePeriodSeconds` is
    the sum. If a cloud provider takes a node away after two minutes, leave it at `30s` with an upload, or
    save checkpoints often. Default: `"30s"`.

    Example: `"2m"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Stall(Spec):
    """How long a training may run without activity. After this time, the launcher collects from all hosts what
    each rank is doing, and prints it. If the ranks write their steps to the directory in `KHOROVOD_STEPS`,
    the launcher also names slow ranks. Without `file` and `metric`, any output counts, and khorovod sets
    `HOROVOD_STALL_CHECK_DISABLE=1`, because Horovod's own warnings are output too.
    """

    timeout: str
    """The longest time without activity, at least `10s`. It must be longer than the longest pause of a healthy
    training, also at its start.

    Example: `"20m"`
    """

    file: str | None = None
    """A file that the training changes to show activity, for example after each step. It may be on a shared
    volume or on each host. With it, output does not count as activity. Default: any output of any rank is
    activity, unless `metric` is set.

    Example: `"/checkpoints/progress"`
    """

    metric: str | None = None
    """A metric of the ranks, on the port in `observability.metrics`, whose changes are activity. With it, output
    does not count as activity; if you also set `file`, a change of either counts. Needs
    `observability.metrics`. Default: no metric.

    Example: `"training_steps_total"`
    """

    action: Literal["retry", "report"] | None = None
    """The reaction of the launcher. With `retry` and `lifecycle.retries: 0`, the run fails. Default: `"retry"`.

    - `"retry"`: It ends the attempt, which counts as failed: `lifecycle.retries` decides whether another one
    starts.
    - `"report"`: It only logs, and the training continues.
    """

    evidence: str | None = None
    """A directory on a volume that all workers mount, in which each host stores what its ranks are doing. With
    an `s3` volume, only the files of the first worker reach the bucket. Default: the launcher only prints a
    shorter form.

    Example: `"/checkpoints/stalls"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Security(Spec):
    """The permissions of the pods."""

    _names: ClassVar[Mapping[str, str]] = {
        "pod_security_level": "podSecurityLevel",
        "run_as_user": "runAsUser",
        "fs_group": "fsGroup",
        "network_policy": "networkPolicy",
        "egress_to": "egressTo",
        "service_account_name": "serviceAccountName",
        "api_access": "apiAccess",
        "read_only_root_filesystem": "readOnlyRootFilesystem",
    }

    pod_security_level: Literal["restricted", "openshift", "baseline", "privileged"] | None = None
    """The Pod Security level that the namespace allows. This does not change the namespace. The pods get only
    the permissions that the spec needs, and never run as root unless `runAsUser` is 0. `nfs` and root need
    `baseline`; `hostPath`, `hostNetwork` and `rdma` need `privileged`. Default: `"restricted"`.

    - `"restricted"`: Only what the strictest level of Pod Security allows.
    - `"openshift"`: As restricted, and the platform assigns user and group ids.
    - `"baseline"`: May run as root and mount `nfs`.
    - `"privileged"`: May use the network and paths of the host, and RDMA devices.
    """

    run_as_user: int | None = None
    """The id of the user that the containers run as. On a shared disk (`nfs`, `hostPath`, `existingClaim`), set
    the id of the owner of the files, as `id -u` prints it. Under `openshift` the platform assigns it.
    Default: `65532`.

    Example: `1000`
    """

    fs_group: int | None = None
    """The id of the group that owns volumes. Kubernetes may give the files of a volume to this group, but not
    those of `hostPath` and `nfs`. Default: `runAsUser`.

    Example: `65532`
    """

    network_policy: bool | None = None
    """Whether a NetworkPolicy blocks traffic from other pods to the pods of the job. `observability.metrics`
    opens its port. Default: `True`.
    """

    egress: Literal["open", "noMetadata", "private", "listed"] | None = None
    """The addresses that the pods may connect to, besides the pods of the job and port 53 of any address. Nodes
    pull the images, so registries need no entry. The NetworkPolicy limits them, if the network of your
    cluster enforces such policies. Default: `"open"`.

    - `"open"`: Any address.
    - `"noMetadata"`: Any address except the metadata service of the cloud, which gives out the credentials of
    the node: `169.254.169.254` and `fd00:ec2::254`.
    - `"private"`: Only pods of all namespaces, private addresses (`10.0.0.0/8`, `172.16.0.0/12`,
    `192.168.0.0/16`, `100.64.0.0/10` and `fc00::/7`), and `egressTo`. The API server, the buckets of `s3` and
    the servers of `download` must have such an address.
    - `"listed"`: Only `egressTo`. It must contain the addresses of the API server, unless the pods have no
    API access, of the buckets of `s3`, and of the servers of `download`. For the API server, these are its
    endpoints, which `kubectl -n default get endpointslice kubernetes` prints, and not the address of its
    Service. khorovod does not resolve host names, so it cannot check all of these addresses.

    Example: `"noMetadata"`
    """

    egress_to: list[Mapping[str, Mapping[str, Any]]] | None = None
    """Further pods and addresses that the pods may connect to, as in the `to` of a NetworkPolicy, with `egress:
    listed` or `egress: private`. A host name is not possible. Default: none.

    Example: `[{"ipBlock": {"cidr": "203.0.113.7/32"}}]`
    """

    service_account_name: str | None = None
    """An existing ServiceAccount, for which khorovod renders no Role. Default: khorovod renders one for the job,
    with a Role. If it has a role of AWS, `s3` without `secretName` uses that role. It must be allowed to get
    and patch the Job of the launcher, and with `launcher.runsIn: ownPod` to scale the workers.

    Example: `"trainer"`
    """

    api_access: bool | None = None
    """Whether the pods may read and change the objects of their own run, which khorovod permits with a Role. If
    you set it to false, Kubernetes does not replace a pod on a dead node until you delete the node, whatever
    `placement.tolerations` are. Default: `True`.
    """

    read_only_root_filesystem: bool | None = None
    """Whether containers may write only to `/tmp`, `/dev/shm` and mounted volumes. If the home directory of the
    image is not writable, `HOME` is `/tmp`. Default: `True`.
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Observability(Spec):
    """Metrics, TensorBoard and logs."""

    _names: ClassVar[Mapping[str, str]] = {
        "tensorboard_logdir": "tensorboardLogdir",
        "launcher_metrics": "launcherMetrics",
    }

    tensorboard_logdir: str | None = None
    """The directory for the logs of TensorBoard, which ranks get in `TENSORBOARD_LOGDIR`. khorovod does not run
    TensorBoard. Default: the variable is not set.

    Example: `"/results/tb"`
    """

    metrics: Metrics | None = None
    """A port on which the ranks serve metrics for Prometheus over HTTP, at the path `/metrics`. If a worker has
    several ranks, one of them serves: they share the address of their pod.

    Example: `Metrics(port=9400, pod_monitor=True)`
    """

    launcher_metrics: Metrics | None = None
    """A port on which the launcher serves what the run is doing: its phase, attempts, progress, and for how long
    workers were held and trained. It needs `python3` in the image.

    Example: `Metrics(port=9401, pod_monitor=True)`
    """

    progress: Literal["auto"] | Progress | None = None
    """The source of the progress of the training, which the launcher writes to the annotation
    `khorovod.dev/status` of its Job. `auto` recognises the lines of common frameworks. Default: the progress
    is unknown, and the output of the training does not pass through another process. Only with
    `launcherMetrics`, or for the target `plain` with `security.apiAccess: true` and without
    `lifecycle.keepWorkers`.

    - `"auto"`: With the bars of tqdm, PyTorch Lightning and the Trainer of Hugging Face, with the lines of
    Keras, or with lines such as `epoch 3/10` and `step 100/1000`. Bars of downloads, preparations and
    evaluations do not count.

    Example: `"auto"` or `Progress(pattern="step (\\\\d+)/(\\\\d+)")`
    """

    events: bool | None = None
    """Whether the launcher posts Kubernetes Events for its Job: when an attempt starts and why it ends, lost and
    replaced workers, hangs, and the end of the run. It permits the pods to create any event in their
    namespace. Only for the target `plain`. Not with `security.apiAccess: false` and `lifecycle.keepWorkers`.
    Default: `False`.
    """

    logs: Logs | None = None
    """The format of logs. The log of the launcher has the output of all ranks; with torchrun, jax and
    tensorflow, each pod has that of its own. Default: each line starts with its rank.

    Example: `Logs(rank_prefix=True)`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Metrics(Spec):
    """A port for Prometheus."""

    _names: ClassVar[Mapping[str, str]] = {
        "pod_monitor": "podMonitor",
        "from_": "from",
    }

    port: int
    """The port.

    Example: `9400`
    """

    pod_monitor: bool | None = None
    """Whether to render a PodMonitor for the Prometheus operator. Default: `False`."""

    from_: list[Mapping[str, Mapping[str, Any]]] | None = None
    """The pods and addresses that may connect to the port, as in the `from` of a NetworkPolicy. Default: every
    address.

    Example: `[{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Progress(Spec):
    """The source of the progress of the training. `auto` is short for `output: auto`. The output of the training
    then passes through a process that needs `python3` in the image, 15 MB of memory and almost no processor
    time.

    Exactly one of `output`, `pattern`, `file` must be given.
    """

    output: Literal["auto"] | None = None
    """How the output shows the progress.

    - `"auto"`: With the bars of tqdm, PyTorch Lightning and the Trainer of Hugging Face, with the lines of
    Keras, or with lines such as `epoch 3/10` and `step 100/1000`. Bars of downloads, preparations and
    evaluations do not count.

    Example: `"auto"`
    """

    pattern: str | None = None
    """A regular expression of Python, which is searched in each line of the output. Its groups `step` and
    `steps`, or `epoch` and `epochs`, are the step and the number of all steps. If the groups have no names,
    the first group is the step and the second one the number of all steps, which may be missing.

    Example: `"step (?P<step>\\\\d+)/(?P<steps>\\\\d+)"`
    """

    file: str | None = None
    """A file that rank 0 writes. Its last line is the step, or the step and the number of all steps, such as
    `120/1000`, or a JSON object such as `{"step": 120, "steps": 1000}`. The launcher reads it every 30
    seconds from the host of rank 0.

    Example: `"/tmp/progress.json"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Logs(Spec):
    """The format of logs."""

    _names: ClassVar[Mapping[str, str]] = {
        "rank_prefix": "rankPrefix",
    }

    rank_prefix: bool | None = None
    """Whether each line of output starts with the rank that printed it. `khorovod logs --rank` needs it, except
    with torchrun, jax and tensorflow. No effect with horovodrun, which adds a prefix of its own, and with
    shell. Default: `True`.
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Slurm(Spec):
    """Settings for Slurm clusters."""

    partition: str | None = None
    """The partition, as `--partition`. Default: that of the cluster.

    Example: `"ml"`
    """

    time: str | None = None
    """The time limit, as `--time`. Half a minute before it, or at `lifecycle.deadline` if that is earlier, the
    script ends the ranks. It starts at 0 each time Slurm starts the job again, at most `lifecycle.retries`
    times. Default: `lifecycle.deadline` plus one minute, else the limit of the partition.

    Example: `"8h"`
    """

    modules: list[str] | None = None
    """Environment modules to load, in order, with `module load`.

    Example: `["OpenMPI/4.1.4", "Python/3.10"]`
    """

    account: str | None = None
    """The account to charge, as `--account`. Default: yours.

    Example: `"p_vision"`
    """

    qos: str | None = None
    """The quality of service, as `--qos`. Default: that of the account.

    Example: `"high"`
    """

    constraint: str | None = None
    """Features that the nodes must have, as `--constraint`. Default: any nodes.

    Example: `"a100&ib"`
    """

    nodelist: str | None = None
    """The nodes that the job must get, as `--nodelist`. Default: any nodes.

    Example: `"gpu[01-04]"`
    """

    exclude: str | None = None
    """The nodes that the job must not get, as `--exclude`. Default: none.

    Example: `"gpu07"`
    """

    reservation: str | None = None
    """The reservation whose nodes the job uses, as `--reservation`. Default: none.

    Example: `"course"`
    """

    gres: str | None = None
    """The generic resource that counts GPUs, as `--gres` takes it before the number. Default: `"gpu"`.

    Example: `"gpu:a100"`
    """

    args: list[str] | None = None
    """More options of sbatch, one per item, with `=` before a value, such as `--mail-type=END` and
    `--array=0-9%2`.

    Example: `["--mail-type=END", "--exclusive"]`
    """

    setup: str | None = None
    """Bash that prepares the environment, after the modules and the variables of `env`, which it may change, and
    before the ranks start. It runs once each time Slurm starts the job, on the first node, and not again for
    each attempt. The ranks of all nodes get the variables that it exports.

    Example: `"source ~/venv/bin/activate"`
    """

    wrap: list[str] | None = None
    """Words that precede the command of each rank, such as a container runtime.

    Example: `["apptainer", "exec", "--nv", "mnist.sif"]`
    """

    srun: Srun | None = None
    """Options of srun. With `launcher: mpirun`, this map makes srun start the ranks instead of mpirun, which the
    MPI library must support; write `srun: {}` for no options. With `launcher: torchrun`, srun always starts
    the agents. Not with horovodrun, deepspeed and shell. Default: mpirun starts the ranks.

    Example: `Srun(mpi="pmix")`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Srun(Spec):
    """How srun starts the ranks."""

    mpi: str | None = None
    """The type of MPI for srun, from `srun --mpi=list`; `none` if the ranks do not use MPI. Default: that of the
    cluster. If the default type has no process management interface, the job ends with code 42.

    Example: `"pmix"`
    """

    args: list[str] | None = None
    """More options of srun, one per item, with `=` before a value, such as `--cpu-bind=cores`.

    Example: `["--cpu-bind=cores"]`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class Patch(Spec):
    """A strategic merge patch for rendered objects, or for their pods, as in `kubectl patch` and Kustomize."""

    target: PatchTarget | None = None
    """The objects that the patch applies to. Default: all objects.

    Example: `PatchTarget(kind="StatefulSet")`
    """

    patch: Mapping[str, Any]
    """The changes. Maps merge, and null removes a field. Lists that Kubernetes merges by a key are merged by it:
    containers, volumes and env by `name`, volumeMounts by `mountPath`, ports by their number. Other lists are
    replaced. The directives `$patch: delete`, `$patch: replace`, `$retainKeys`, `$setElementOrder/LIST` and
    `$deleteFromPrimitiveList/LIST` work as in Kubernetes. In custom resources, lists are merged only in the
    pod templates; all other lists are replaced.

    Example: `{"spec": {"containers": [{"name": "worker", "tty": True}]}}`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class PatchTarget(Spec):
    """The objects that a patch applies to."""

    kind: Literal["Pod", "NetworkPolicy", "ServiceAccount", "Secret", "PersistentVolume", "PersistentVolumeClaim", "ConfigMap", "Service", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ResourceClaimTemplate", "ComputeDomain", "PodGroup", "StatefulSet", "Job", "PodMonitor", "MPIJob", "JobSet", "TrainingRuntime", "TrainJob"] | None = None
    """Their kind. Default: every kind.

    - `"Pod"`: The pods of any target: `*-worker`, `*-launcher`.
    - `"NetworkPolicy"`: The pods that may connect to those of the job.
    - `"ServiceAccount"`: The account of the launcher.
    - `"Secret"`: The ssh keys.
    - `"PersistentVolume"`: A volume of `storage`.
    - `"PersistentVolumeClaim"`: A claim of `storage`.
    - `"ConfigMap"`: Scripts, hostfile, code and the current run.
    - `"Service"`: The DNS names of the pods.
    - `"Role"`: The permissions of the launcher.
    - `"RoleBinding"`: The account that has them.
    - `"ClusterRole"`: The permission to read nodes, for `placement.topology.rankOrder`.
    - `"ClusterRoleBinding"`: The account that has it.
    - `"ResourceClaimTemplate"`: The devices of `workers.resourceClaims`.
    - `"ComputeDomain"`: The NVLink domain of `workers.computeDomain`.
    - `"PodGroup"`: The gang.
    - `"StatefulSet"`: The workers.
    - `"Job"`: The launcher, or the whole job.
    - `"PodMonitor"`: The metrics that Prometheus scrapes.
    - `"MPIJob"`: The job, for the target mpijob.
    - `"JobSet"`: The job, for the target jobset.
    - `"TrainingRuntime"`: The pods, for the target trainjob.
    - `"TrainJob"`: The job, for the target trainjob.

    Example: `"StatefulSet"`
    """

    name: str | None = None
    """Their name, in which `*` means any characters. Default: every name.

    Example: `"*-worker"`
    """


@dataclass(kw_only=True, slots=True, repr=False)
class TrainingJobFields(Spec):
    """The fields of a `TrainingJob`."""

    _names: ClassVar[Mapping[str, str]] = {
        "name": "metadata.name",
        "namespace": "metadata.namespace",
        "labels": "metadata.labels",
        "annotations": "metadata.annotations",
        "image": "spec.image",
        "run_tag": "spec.runTag",
        "command": "spec.command",
        "args": "spec.args",
        "working_dir": "spec.workingDir",
        "env": "spec.env",
        "env_from": "spec.envFrom",
        "code": "spec.code",
        "workers": "spec.workers",
        "launcher": "spec.launcher",
        "ssh": "spec.ssh",
        "collective": "spec.collective",
        "storage": "spec.storage",
        "placement": "spec.placement",
        "scheduling": "spec.scheduling",
        "lifecycle": "spec.lifecycle",
        "security": "spec.security",
        "observability": "spec.observability",
        "slurm": "spec.slurm",
        "patches": "spec.patches",
    }

    name: str
    """The name of the job. The name of every object starts with it. A job has one run at a time: a changed spec
    with the same name ends the earlier run. Keep the name short, at most about 36 characters: names of pods
    add the name of the run and the worker, and have at most 63 characters.

    Example: `"mnist"`
    """

    namespace: str | None = None
    """The namespace of every object. `-n` overrides it. Set one of them, unless you apply the objects to
    `default`: without a namespace, the permissions of the launcher are for `default`, so in another namespace
    it may not scale the workers. Default: none, and kubectl uses that of its context. A chart uses the
    namespace of the release.

    Example: `"team-a"`
    """

    labels: Mapping[str, str] | None = None
    """Labels of every object except pods, so that a changed label does not restart a run. For labels of pods,
    use `patches` with `target: {kind: Pod}`.

    Example: `{"team": "vision"}`
    """

    annotations: Mapping[str, str] | None = None
    """Annotations of every object except pods. For those of pods, use `patches` with `target: {kind: Pod}`.

    Example: `{"acme.com/owner": "kim"}`
    """

    image: str | ImageParts
    """The image of every pod: a name, or a map with digest, pull policy and pull secrets. Required, but not used
    with `--target slurm`, whose ranks run directly on the nodes. The image needs bash, coreutils, findutils,
    sed, and curl or Python 3. The launchers mpirun, horovodrun, deepspeed and shell also need the client and
    the server of OpenSSH, and an MPI; horovodrun, deepspeed and torchrun need Horovod, DeepSpeed or PyTorch.
    The page images.md of the documentation has the list, and `image/check-image` reports what is missing.

    Example: `"ghcr.io/acme/mnist:1.4"`
    """

    run_tag: str | None = None
    """Change this text to run an unchanged spec again. It is part of the hash that names the run. It is needed
    only while the Job of the earlier run exists: after `khorovod stop`, or after
    `lifecycle.ttlAfterFinished`, apply the spec or call `khorovod run` again. The Job of the earlier run
    stays until you delete it.

    Example: `"2"`
    """

    command: str | list[str] | None = None
    """The command of every rank, without a launcher such as `mpirun` or `srun`. A list is the program and its
    arguments, without a shell; a text runs under `bash -c`. Default: an error, unless `launcher.interactive`
    is set.

    Example: `["python", "train.py"]` or `"python train.py --lr $LR"`
    """

    args: list[str] | None = None
    """Arguments that are appended to a command that is a list. A command that is a text gets them as `"$@"`.

    Example: `["--epochs", "10"]`
    """

    working_dir: str | None = None
    """The working directory of the ranks. Default: `code.mountPath` if `code` is set, else that of the image.

    Example: `"/workspace"`
    """

    env: Mapping[str, str | EnvSource] | None = None
    """Environment variables of every rank: a text, or a reference to the value. They override those that
    khorovod sets. Variables that the launcher needs, such as `RANK` or the host file of MPI, are an error.
    khorovod does not set `OMP_NUM_THREADS`: a library then starts as many threads per rank as it finds CPUs,
    and torchrun sets it to 1 if a worker has several ranks. Under Slurm, `slurm.setup` runs after these
    variables are set, and may change them.

    Example: `{"LR": "0.1", "TOKEN": EnvSource(secret_key_ref=KeyRef(name="hf", key="token"))}`
    """

    env_from: list[EnvFrom] | None = None
    """Secrets and ConfigMaps of which each key becomes an environment variable.

    Example: `[EnvFrom(secret_ref=ObjectRef(name="wandb"))]`
    """

    code: Code | None = None
    """Small scripts that khorovod puts into the pods, so that they need not be in the image.

    Example: `Code(files={"train.py": "print('hello')"})`
    """

    workers: Workers
    """The pods that run ranks.

    Example: `Workers(replicas=4, gpus=8)`
    """

    launcher: Literal["mpirun", "horovodrun", "torchrun", "deepspeed", "jax", "tensorflow", "shell"] | Launcher | None = None
    """The program that starts the ranks: its name, or a map with its options and the pod it runs in. Default:
    `mpirun`. If your program uses torch.distributed without MPI, write `torchrun`.

    - `"mpirun"`: The launcher of MPI.
    - `"horovodrun"`: The launcher of Horovod, static or elastic.
    - `"torchrun"`: The launcher of PyTorch, which needs no ssh. It reads its options from variables that
    khorovod sets: `PET_NNODES`, `PET_NPROC_PER_NODE`, `PET_NODE_RANK` (the index of the pod),
    `PET_MAX_RESTARTS`, `PET_TEE`, `PET_RDZV_CONF`, and `PET_MASTER_ADDR` and `PET_MASTER_PORT` or, with
    `elastic`, `PET_RDZV_BACKEND`, `PET_RDZV_ENDPOINT` and `PET_RDZV_ID`; with `hostNetwork` also
    `PET_LOCAL_ADDR`. `khorovod plan` prints their values.
    - `"deepspeed"`: The launcher of DeepSpeed.
    - `"jax"`: Processes of JAX, which `jax.distributed.initialize()` connects. Needs no ssh.
    - `"tensorflow"`: Processes of TensorFlow with `TF_CONFIG`, for `MultiWorkerMirroredStrategy`. Needs no
    ssh.
    - `"shell"`: The command itself, in the launcher pod, with hostfile, ssh and MPI ready.

    Example: `"torchrun"` or `Launcher(kind="mpirun", mpi="mpich")`
    """

    ssh: Ssh | None = None
    """Settings of ssh between the pods. Not with torchrun, jax and tensorflow.

    Example: `Ssh(secret_name="my-keys")`
    """

    collective: Collective | None = None
    """Settings of NCCL, Horovod and MPI. Variables in `env` override them, and other variables of these
    libraries belong there.

    Example: `Collective(interface="eth0")`
    """

    storage: list[Storage] | None = None
    """Volumes for data and results. Each is mounted in every worker and, unless it is `perWorker`, `s3` or
    `download`, also in the launcher pod.

    Example: `[Storage(name="data", mount_path="/data", existing_claim="imagenet")]`
    """

    placement: Placement | None = None
    """The nodes that the pods run on.

    Example: `Placement(node_selector={"pool": "a100"})`
    """

    scheduling: Scheduling | None = None
    """Queues, gangs and schedulers.

    Example: `Scheduling(local_queue="team-a")`
    """

    lifecycle: Lifecycle | None = None
    """How long the job may take, how often it is retried, and what happens after it.

    Example: `Lifecycle(deadline="24h")`
    """

    security: Security | None = None
    """The permissions of the pods.

    Example: `Security(pod_security_level="restricted")`
    """

    observability: Observability | None = None
    """Metrics, TensorBoard and logs.

    Example: `Observability(metrics=Metrics(port=9400))`
    """

    slurm: Slurm | None = None
    """Settings for Slurm clusters. Only the target `slurm` uses them.

    Example: `Slurm(partition="ml", time="8h")`
    """

    patches: list[Patch] | None = None
    """Strategic merge patches for the rendered objects. Use them for fields of Kubernetes that the spec does not
    have. The `target` of a patch is not the one of `--target`.

    Example: `[Patch(target=PatchTarget(kind="Job"), patch={"metadata": {"annotations": {"a": "b"}}})]`
    """


class JobOptions(TypedDict, total=False):
    """The fields of a `TrainingJob` that the decorator `job` accepts beside its own parameters."""

    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    run_tag: str
    working_dir: str
    env: Mapping[str, str | EnvSource]
    env_from: list[EnvFrom]
    launcher: Literal["mpirun", "horovodrun", "torchrun", "deepspeed", "jax", "tensorflow", "shell"] | Launcher
    ssh: Ssh
    collective: Collective
    storage: list[Storage]
    placement: Placement
    scheduling: Scheduling
    lifecycle: Lifecycle
    security: Security
    observability: Observability
    slurm: Slurm
    patches: list[Patch]


__all__ = [
    "Checkpoint",
    "Claim",
    "Code",
    "Collective",
    "Cooldown",
    "Download",
    "Elastic",
    "EmptyDir",
    "EnvFrom",
    "EnvSource",
    "FieldRef",
    "Group",
    "HealthCheck",
    "HostPath",
    "ImageParts",
    "KeyRef",
    "Launcher",
    "Lifecycle",
    "Logs",
    "Metrics",
    "Nfs",
    "ObjectRef",
    "Observability",
    "Patch",
    "PatchTarget",
    "PersistentVolume",
    "Placement",
    "Progress",
    "Rdma",
    "ResourceClaim",
    "Resources",
    "S3",
    "Scheduling",
    "Security",
    "Slurm",
    "Srun",
    "Ssh",
    "Stall",
    "Storage",
    "Toleration",
    "Topology",
    "TopologySlices",
    "Workers",
]
