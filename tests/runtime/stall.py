"""Ranks that sum their numbers again and again. Uses only libmpi.

STEPS: how many times. HANG: the rank that waits in `read_batch`, for HANG_SECONDS; only if the file HANG_ONCE does not exist, which
it makes. SLOW: the rank that reports two steps less, and longer steps. TICK: a file that rank 0 changes after each step. PRINT: print each step.
"""
import ctypes
import os
import time


def read_batch(rank):
    once = os.environ.get("HANG_ONCE", "/tmp/hung")
    if str(rank) != os.environ.get("HANG") or steps != 3 or os.path.exists(once):
        return
    open(once, "w").close()
    time.sleep(float(os.environ.get("HANG_SECONDS", 1000)))


def add_up(rank):
    total = ctypes.c_int()
    mpi.MPI_Allreduce(ctypes.byref(ctypes.c_int(rank)), ctypes.byref(total), 1, handle("ompi_mpi_int"), handle("ompi_mpi_op_sum"), handle("ompi_mpi_comm_world"))


def handle(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))


mpi, number, steps = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL), ctypes.c_int(), 0
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(handle("ompi_mpi_comm_world"), ctypes.byref(number))
rank = number.value
print(f"up {rank}", flush=True)
until = int(os.environ.get("STEPS", 20))
while steps < until:
    read_batch(rank)
    add_up(rank)
    steps += 1
    with open(f"{os.environ['KHOROVOD_STEPS']}/{rank}", "w") as file:
        file.write(f"{steps - 2} 0.75" if str(rank) == os.environ.get("SLOW") else f"{steps} 0.4{rank}")
    if rank == 0 and "TICK" in os.environ:
        with open(os.environ["TICK"], "w") as file:
            file.write(str(steps))
    if "PRINT" in os.environ:
        print(f"step {steps}", flush=True)
    time.sleep(0.3)
mpi.MPI_Finalize()
