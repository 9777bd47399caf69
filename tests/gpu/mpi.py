"""Ranks of MPI that multiply matrices on a GPU and add up the results with mpi4py, for cases.sh."""
import socket

import torch
from mpi4py import MPI

world = MPI.COMM_WORLD
device = "cuda" if torch.cuda.is_available() else "cpu"
name = torch.cuda.get_device_name() if device == "cuda" else device
left = torch.full((512, 512), float(world.rank + 1), device=device)
product = (left @ torch.ones(512, 512, device=device)).cpu().numpy()
total = world.allreduce(product)
print(f"rank {world.rank} of {world.size} on {socket.gethostname()}, {name}: sum {total[0][0]:.0f} by {MPI.Get_library_version().split(',')[0]}", flush=True)
