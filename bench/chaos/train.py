"""A training that makes steps, saves checkpoints and continues from the newest one. Uses only libmpi.

Environment: STEP and CHECKPOINT in seconds, RECORD, a folder that all pods share. Rank 0 appends a line to RECORD/steps for each
step: the time, the launch, and the number of the step. Each rank appends a line to RECORD/starts: the time, its number and its host.
The file RECORD/end ends the training. SIGUSR1 to any rank makes all save a checkpoint and exit with 75, an error, because the
training is not complete. A checkpoint is prepared in /dev/shm.
"""
import ctypes
import os
import shutil
import signal
import socket
import sys
import time

RECORD, STEP, CHECKPOINT = os.environ["RECORD"], float(os.environ["STEP"]), float(os.environ["CHECKPOINT"])
GOES_ON, LEAVES, ENDS = 0, 1, 2
mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)


def handle(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))


WORLD, INT, MAX = handle("ompi_mpi_comm_world"), handle("ompi_mpi_int"), handle("ompi_mpi_op_max")


def largest(number):
    """The largest number of all ranks. A waiting rank sleeps, because many ranks share two cores here."""
    result, request, done = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
    given = ctypes.c_int(number)
    mpi.MPI_Iallreduce(ctypes.byref(given), ctypes.byref(result), 1, INT, MAX, WORLD, ctypes.byref(request))
    while True:
        mpi.MPI_Test(ctypes.byref(request), ctypes.byref(done), None)
        if done.value:
            return result.value
        time.sleep(0.005)


def append(name, *words):
    file = os.open(f"{RECORD}/{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(file, (" ".join(map(str, words)) + "\n").encode())
    os.close(file)


def save(step):
    with open("/dev/shm/new", "w") as file:
        file.write(f"{step}".ljust(1 << 20))
    os.replace("/dev/shm/new", "/dev/shm/checkpoint")
    shutil.copyfile("/dev/shm/checkpoint", f"{RECORD}/checkpoint.new")
    os.replace(f"{RECORD}/checkpoint.new", f"{RECORD}/checkpoint")


def load():
    try:
        with open(f"{RECORD}/checkpoint") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


leaves = []
signal.signal(signal.SIGUSR1, lambda *_: leaves.append(True))
mpi.MPI_Init(None, None)
number = ctypes.c_int()
mpi.MPI_Comm_rank(WORLD, ctypes.byref(number))
rank = number.value
launch = f"{time.time():.3f}"
append("starts", launch, rank, socket.gethostname())
step = largest(load() if rank == 0 else 0)
saved = time.time()
while True:
    time.sleep(STEP)
    does = largest(ENDS if rank == 0 and os.path.exists(f"{RECORD}/end") else LEAVES if leaves else GOES_ON)
    step += 1
    if rank == 0:
        append("steps", f"{time.time():.3f}", launch, step)
        if does != GOES_ON or time.time() - saved >= CHECKPOINT:
            save(step)
            saved = time.time()
            # Shows progress to `lifecycle.stall`.
            print(f"step {step}", flush=True)
    if does != GOES_ON:
        break
mpi.MPI_Finalize()
sys.exit(75 if does == LEAVES else 0)
