"""Ranks of Horovod: sum their ranks, and check the number of ranks."""
import atexit
import os
import socket
import time

# At the end, because PyTorch takes a while to exit.
place = {}
atexit.register(lambda: place.get("rank") == 0 and print(f"ranks end at {time.time():.2f}", flush=True))

import horovod.torch as hvd
import torch

hvd.init()
place["rank"] = hvd.rank()
total = int(hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum))
assert hvd.size() == int(os.environ.get("WANTED", hvd.size())), f"{hvd.size()} ranks"
assert total == hvd.size() * (hvd.size() - 1) // 2, f"sum {total}"
way = "MPI" if hvd.mpi_enabled() else "Gloo"
print(f"rank {hvd.rank()} of {hvd.size()} on {socket.gethostname()}: sum {total} by {way}", flush=True)
