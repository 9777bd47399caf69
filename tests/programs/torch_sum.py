"""Ranks of torch.distributed: sum their ranks. Without RANK, they get their rank from MPI, like DeepSpeed's programs. With SUM_UNTIL, they
repeat it until that file exists."""
import atexit
import os
import socket
import time

# At the end, because PyTorch takes a while to exit.
atexit.register(lambda: os.environ["RANK"] == "0" and print(f"ranks end at {time.time():.2f}", flush=True))

if "RANK" not in os.environ:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    os.environ.update(RANK=str(world.rank), WORLD_SIZE=str(world.size))
    os.environ.update(MASTER_ADDR=world.bcast(socket.gethostbyname(socket.gethostname())), MASTER_PORT="29500")

import torch
import torch.distributed as ranks

ranks.init_process_group("gloo")
rank, size = ranks.get_rank(), ranks.get_world_size()
until, going = os.environ.get("SUM_UNTIL"), torch.tensor([1])
while going.item():
    total = torch.tensor([rank])
    ranks.all_reduce(total)
    # Rank 0 decides when all ranks stop.
    going[0] = int(bool(until) and not os.path.exists(until))
    ranks.broadcast(going, 0)
    time.sleep(0.2 * going.item())
assert size == int(os.environ.get("WANTED", size)), f"{size} ranks"
assert total.item() == size * (size - 1) // 2, f"sum {total}"
print(f"rank {rank} of {size} on {socket.gethostname()}: sum {total.item()}", flush=True)
ranks.barrier()
ranks.destroy_process_group()
