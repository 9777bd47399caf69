"""Ranks of any MPI: sum their ranks, and check the number of ranks."""
import os
import socket

from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
assert world.size == int(os.environ["WANTED"]), f"{world.size} ranks"
assert total == world.size * (world.size - 1) // 2, f"sum {total}"
print(f"rank {world.rank} of {world.size} on {socket.gethostname()}: sum {total}, {MPI.Get_library_version().split(',')[0]}", flush=True)
