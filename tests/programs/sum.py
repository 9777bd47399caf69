"""Sums the numbers of all ranks, which shows that all of them took part. Uses only libmpi.

SUM_SECONDS: how long to run; SUM_CODE: the exit code of the ranks. SUM_UNTIL: a file that ends the run, and contains the code.
"""
import ctypes
import os
import sys
import time

# Hydra is the launcher of MPICH and Intel MPI, whose handles are numbers.
HYDRA = {"ompi_mpi_comm_world": 0x44000000, "ompi_mpi_int": 0x4C000405, "ompi_mpi_op_sum": 0x58000003} if "PMI_SIZE" in os.environ else {}
mpi = ctypes.CDLL("libmpi.so.12" if HYDRA else "libmpi.so.40", mode=ctypes.RTLD_GLOBAL)


def handle(name):
    if HYDRA:
        return ctypes.c_int(HYDRA[name])
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))


world, number = handle("ompi_mpi_comm_world"), ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(number))
rank = number.value
mpi.MPI_Comm_size(world, ctypes.byref(number))
size, total = number.value, ctypes.c_int()
until, code = os.environ.get("SUM_UNTIL"), int(os.environ.get("SUM_CODE", 0))
end = time.time() + float(os.environ.get("SUM_SECONDS", 0))
while True:
    mpi.MPI_Allreduce(ctypes.byref(ctypes.c_int(rank)), ctypes.byref(total), 1, handle("ompi_mpi_int"), handle("ompi_mpi_op_sum"), world)
    going = ctypes.c_int(int(not os.path.exists(until) if until else time.time() < end))
    # Rank 0 decides when all ranks stop.
    mpi.MPI_Bcast(ctypes.byref(going), 1, handle("ompi_mpi_int"), 0, world)
    if not going.value:
        break
    time.sleep(0.2)
if rank == 0:
    print(f"sum of {size} ranks: {total.value}", flush=True)
if until:
    with open(until) as file:
        code = int(file.read())
mpi.MPI_Finalize()
if rank == 0:
    print(f"ranks end at {time.time():.2f}", flush=True)
elif code:
    # mpirun kills the other ranks if one fails: rank 0 prints first.
    time.sleep(0.5)
sys.exit(code)
