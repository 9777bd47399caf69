"""Horovod's own all-reduce of the ranks' numbers."""
import time

import horovod.torch as hvd
import torch

hvd.init()
total = hvd.allreduce(torch.tensor([float(hvd.rank())]), op=hvd.Sum)
if hvd.rank() == 0:
    print(f"sum of {hvd.size()} ranks: {int(total.item())}", flush=True)
    print(f"ranks end at {time.time():.2f}", flush=True)
