"""The program of torchrun's cases: sums the ranks."""
import os
import socket

import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
assert world == int(os.environ["WORLD_SIZE"])
total = torch.tensor([rank])
torch.distributed.all_reduce(total)
print(f"rank {rank} of {world} on {socket.gethostname()}: sum {total.item()}", flush=True)
