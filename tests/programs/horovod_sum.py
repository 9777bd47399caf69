"""Ranks of Horovod: sum their ranks, and check the number of ranks. With SUM_UNTIL, they repeat it until that file exists."""
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
until, going = os.environ.get("SUM_UNTIL"), True
while going:
    total = int(hvd.allreduce(torch.tensor([hvd.rank()]), op=hvd.Sum))
    # Rank 0 decides when all ranks stop.
    going = bool(hvd.broadcast(torch.tensor([int(bool(until) and not os.path.exists(until))]), 0))
    time.sleep(0.2 * going)
assert hvd.size() == int(os.environ.get("WANTED", hvd.size())), f"{hvd.size()} ranks"
assert total == hvd.size() * (hvd.size() - 1) // 2, f"sum {total}"
way = "MPI" if hvd.mpi_enabled() else "Gloo"
print(f"rank {hvd.rank()} of {hvd.size()} on {socket.gethostname()}: sum {total} by {way}", flush=True)
