"""Ranks of torch.distributed that get their rank from srun's variables, and the rendezvous address from the first argument."""
import os
import socket
import sys

import torch
import torch.distributed as ranks

rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
ranks.init_process_group("gloo", init_method=sys.argv[1], rank=rank, world_size=size)
total = torch.tensor([rank])
ranks.all_reduce(total)
place = f"{os.environ['SLURM_LOCALID']} of node {os.environ['SLURM_NODEID']}"
print(f"rank {rank} of {size} on {socket.gethostname()}, {place}: sum {total.item()}", flush=True)
