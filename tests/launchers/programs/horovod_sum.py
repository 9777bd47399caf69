"""Ranks of Horovod: they sum their ranks, and know how many they must be."""
import os
import socket

import horovod.torch as hvd
import torch

hvd.init()
total = int(hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum))
assert hvd.size() == int(os.environ["WANTED"]), f"{hvd.size()} ranks"
assert total == hvd.size() * (hvd.size() - 1) // 2, f"sum {total}"
way = "MPI" if hvd.mpi_enabled() else "Gloo"
print(f"rank {hvd.rank()} of {hvd.size()} on {socket.gethostname()}: sum {total} by {way}", flush=True)
