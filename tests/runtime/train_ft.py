"""The program of the cases of ft_launcher: like sum.py, with heartbeats. In the first attempt of a pod, rank HANG sends one, and then hangs."""
import os
import socket
import time

import torch
import torch.distributed
from nvidia_resiliency_ext.fault_tolerance import RankMonitorClient

client = RankMonitorClient()
client.init_workload_monitoring()
client.send_heartbeat()
torch.distributed.init_process_group("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
assert world == int(os.environ["WORLD_SIZE"])
if os.environ.get("HANG") == str(rank) and not os.path.exists("/tmp/hung"):
    open("/tmp/hung", "w").close()
    print(f"rank {rank} hangs", flush=True)
    time.sleep(600)
total = torch.tensor([rank])
torch.distributed.all_reduce(total)
client.send_heartbeat()
print(f"rank {rank} of {world} on {socket.gethostname()}: sum {total.item()}", flush=True)
