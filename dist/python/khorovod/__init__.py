"""khorovod compiles a short training spec into plain Kubernetes objects.

>>> import khorovod
>>> job = khorovod.TrainingJob(name="mnist", image="ghcr.io/acme/mnist:1.4", workers=khorovod.Workers(replicas=4, gpus=8))
>>> print(job.plan())
"""

from . import spec
from ._cluster import Status, explain, logs, status, stop, wait
from ._function import JobFunction, NotShippable, job
from ._job import Plan, Rendered, TrainingJob
from ._problems import CommandError, Error, Fix, Place, Problem, Problems, SpecWarning
from .spec import *

__all__ = [
    "CommandError",
    "Error",
    "Fix",
    "JobFunction",
    "NotShippable",
    "Place",
    "Plan",
    "Problem",
    "Problems",
    "Rendered",
    "SpecWarning",
    "Status",
    "TrainingJob",
    "explain",
    "job",
    "logs",
    "spec",
    "status",
    "stop",
    "wait",
]
__all__ += spec.__all__
