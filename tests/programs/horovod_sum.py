"""Ranks of Horovod: they sum their ranks, and know how many they must be."""
import os
import socket
import time

import horovod.torch as hvd
import torch

hvd.init()
total = int(hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum))
assert hvd.size() == int(os.environ.get("WANTED", hvd.size())), f"{hvd.size()} ranks"
assert total == hvd.size() * (hvd.size() - 1) // 2, f"sum {total}"
way = "MPI" if hvd.mpi_enabled() else "Gloo"
print(f"rank {hvd.rank()} of {hvd.size()} on {socket.gethostname()}: sum {total} by {way}", flush=True)
if hvd.rank() == 0:
    print(f"ranks end at {time.time():.2f}", flush=True)
