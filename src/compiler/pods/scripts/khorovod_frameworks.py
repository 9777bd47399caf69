"""Connects the ranks of JAX, and checks those of JAX and TensorFlow. sitecustomize.py imports it at the start of each Python process.

JAX takes the number and the id of its processes from the arguments of `jax.distributed.initialize()`, or from a cluster that it
detects. This module adds such a cluster, whose values processes.sh sets. It changes a module of a framework when that is imported.
"""
import atexit
import os
import sys

RANKS = int(os.environ.get("KHOROVOD_RANKS", 1))
# False in processes that a rank starts, such as the loaders of data.
IS_RANK = os.environ.get("KHOROVOD_RANK_PID") == str(os.getpid())


def log(text):
    print(f"khorovod: {text}", file=sys.stderr, flush=True)


def reject(text):
    log(f"wrong world: {text}; the spec has {RANKS} ranks")
    os._exit(197)


def add_cluster(clusters):
    class KhorovodCluster(clusters.ClusterEnv):
        name = "khorovod"

        @classmethod
        def is_env_present(cls):
            return "JAX_PROCESS_ID" in os.environ

        @classmethod
        def get_coordinator_address(cls, *_, **__):
            return os.environ["JAX_COORDINATOR_ADDRESS"]

        @classmethod
        def get_process_count(cls):
            return int(os.environ["JAX_NUM_PROCESSES"])

        @classmethod
        def get_process_id(cls):
            return int(os.environ["JAX_PROCESS_ID"])

    # Before that of Kubernetes, which needs the permission to read pods and Services.
    known = clusters.ClusterEnv._cluster_types
    known.remove(KhorovodCluster)
    known.insert(0, KhorovodCluster)


def check_jax(bridge):
    backends = bridge.backends

    def checked():
        state = sys.modules["jax._src.distributed"].global_state
        count = state.num_processes if state.client else 1
        if not bridge._backends and count != RANKS:
            reject(f"this process of JAX is one of {count}: call jax.distributed.initialize() before other functions of JAX")
        return backends()

    if IS_RANK:
        bridge.backends = checked


def check_tensorflow(module):
    extended = module.CollectiveAllReduceExtended
    initialize = extended._initialize_strategy
    strategies = []

    def initialized(self, *args, **options):
        initialize(self, *args, **options)
        strategies.append(self)
        if self._num_workers != RANKS:
            reject(f"this strategy of TensorFlow has {self._num_workers} workers")

    def warn():
        if not strategies:
            log("this rank ends without a MultiWorkerMirroredStrategy: what it has trained, it has trained alone")

    if IS_RANK:
        extended._initialize_strategy = initialized
        atexit.register(warn)


def check_keras(module):
    trainer = module.TensorFlowTrainer
    fit = trainer.fit

    def hinted(self, *args, **options):
        if RANKS > 1:
            log(
                "Keras 3 does not support MultiWorkerMirroredStrategy in fit(): install tf_keras and set TF_USE_LEGACY_KERAS to 1, or "
                "write the training loop yourself"
            )
        return fit(self, *args, **options)

    trainer.fit = hinted


CHANGES = {
    "jax._src.clusters": add_cluster,
    "jax._src.xla_bridge": check_jax,
    "tensorflow.python.distribute.collective_all_reduce_strategy": check_tensorflow,
    "keras.src.backend.tensorflow.trainer": check_keras,
}


class Finder:
    """Calls the function of CHANGES for a module after its import."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        change = CHANGES.pop(name, None)
        if not change:
            return None
        for finder in sys.meta_path:
            spec = None if finder is Finder else finder.find_spec(name, path, target)
            if spec:
                break
        else:
            return None
        execute = getattr(spec.loader, "exec_module", None)

        def execute_and_change(module):
            execute(module)
            try:
                change(module)
            except Exception as error:
                log(f"{name} could not be prepared: {error!r}")

        if execute:
            spec.loader.exec_module = execute_and_change
        return spec


if "KHOROVOD_RANK" in os.environ:
    sys.meta_path.insert(0, Finder)
