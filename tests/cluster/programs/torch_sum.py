"""PyTorch's own all-reduce of the ranks' numbers."""
import time

import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
total = torch.tensor([rank])
torch.distributed.all_reduce(total)
torch.distributed.barrier()
if rank == 0:
    print(f"sum of {size} ranks: {total.item()}", flush=True)
    print(f"ranks end at {time.time():.2f}", flush=True)
torch.distributed.destroy_process_group()
