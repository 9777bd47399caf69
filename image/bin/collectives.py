"""All-reduce implementations with one interface: Horovod, PyTorch (NCCL or Gloo), and MPI through its C library, so that an
image with only an MPI and python3 can be measured too. khorovod-bandwidth selects one and measures it.
"""

import array
import ctypes
import os
import shutil
import socket
from pathlib import Path

RANKS = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),  # MPICH, Intel MPI
]


def place():
    """The rank, size and local rank that the launcher of this process set; None without a launcher."""
    for names in RANKS:
        if all(name in os.environ for name in names):
            return tuple(int(os.environ[name]) for name in names)
    return None


class Mpi:
    """MPI_Allreduce on main memory. Handles are addresses in Open MPI, and numbers in MPICH and Intel MPI."""

    def __init__(self):
        self.lib = load()
        if hasattr(self.lib, "ompi_mpi_comm_world"):
            handle = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.lib, name)))
            self.world, self.float, self.double, self.byte, self.sum = map(
                handle, ("ompi_mpi_comm_world", "ompi_mpi_float", "ompi_mpi_double", "ompi_mpi_byte", "ompi_mpi_op_sum")
            )
            self.name = "Open MPI"
        else:
            self.world, self.float, self.double, self.byte, self.sum = map(
                ctypes.c_int, (0x44000000, 0x4C00040A, 0x4C00080B, 0x4C00010D, 0x58000003)
            )
            about, length = ctypes.create_string_buffer(8192), ctypes.c_int()
            self.lib.MPI_Get_library_version(about, ctypes.byref(length))
            self.name = "Intel MPI" if about.value.startswith(b"Intel") else "MPICH"
        self.lib.MPI_Init(None, None)
        self.rank, self.size = self.ask("MPI_Comm_rank"), self.ask("MPI_Comm_size")
        self.local_rank = place()[2]

    def ask(self, what):
        number = ctypes.c_int()
        getattr(self.lib, what)(self.world, ctypes.byref(number))
        return number.value

    def prepare(self, count):
        self.count = count
        self.given, self.sums = (ctypes.c_float * count)(), (ctypes.c_float * count)()

    def fill(self, pattern):
        ctypes.memmove(self.given, repeat(pattern, self.count), self.count * 4)

    def reduce(self):
        self.lib.MPI_Allreduce(self.given, self.sums, self.count, self.float, self.sum, self.world)

    def equals(self, pattern):
        return bytes(self.sums) == repeat(pattern, self.count)

    def settle(self):
        pass

    def total(self, number):
        given, result = ctypes.c_double(number), ctypes.c_double()
        self.lib.MPI_Allreduce(ctypes.byref(given), ctypes.byref(result), 1, self.double, self.sum, self.world)
        return result.value

    def broadcast(self, text):
        """Broadcasts the value of rank 0."""
        room = ctypes.create_string_buffer(text.encode(), 256)
        self.lib.MPI_Bcast(room, 256, self.byte, 0, self.world)
        return room.value.decode()

    def close(self):
        self.lib.MPI_Finalize()


def load():
    """The library of the mpirun that started this process. Other MPIs may be installed too."""
    open_mpi = "OMPI_COMM_WORLD_SIZE" in os.environ
    names = ["libmpi.so.40", "libmpi.so"] if open_mpi else ["libmpi.so.12", "libmpich.so.12", "libmpi.so"]
    folder = Path(shutil.which("mpirun") or "/usr/bin/mpirun").resolve().parents[1] / "lib"
    for path in [*(str(folder / name) for name in names), *names]:
        try:
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            why = error
    raise ImportError(f"no MPI library: {why}")


def repeat(pattern, count):
    """A repeated pattern of numbers, as bytes of float32."""
    block = array.array("f", pattern).tobytes()
    return (block * (count // len(pattern) + 1))[: count * 4]


class Tensors:
    """The common part of Horovod and PyTorch: a tensor on this rank's GPU, or in main memory."""

    def on_device(self):
        import torch

        self.torch = torch
        self.gpu = torch.cuda.is_available()
        if self.gpu:
            torch.cuda.set_device(self.local_rank % torch.cuda.device_count())

    def tensor(self, numbers, kind=None):
        made = self.torch.tensor(numbers, dtype=kind or self.torch.float32)
        return made.cuda() if self.gpu else made

    def prepare(self, count):
        self.given = self.torch.zeros(count, device="cuda" if self.gpu else "cpu")

    def pattern(self, pattern):
        count = len(self.given)
        return self.tensor(list(pattern)).repeat(count // len(pattern) + 1)[:count]

    def fill(self, pattern):
        self.given.copy_(self.pattern(pattern))

    def equals(self, pattern):
        return bool(self.torch.equal(self.given, self.pattern(pattern)))

    def settle(self):
        if self.gpu:
            self.torch.cuda.synchronize()


class Horovod(Tensors):
    def __init__(self):
        import horovod.torch as hvd

        hvd.init()
        self.hvd = hvd
        self.rank, self.size, self.local_rank = hvd.rank(), hvd.size(), hvd.local_rank()
        self.on_device()
        by = "NCCL" if self.gpu and hvd.nccl_built() else "MPI" if hvd.mpi_enabled() else "Gloo"
        self.name = f"Horovod with {by}"

    def reduce(self):
        self.hvd.allreduce_(self.given, op=self.hvd.Sum, name=f"bandwidth.{len(self.given)}")

    def total(self, number):
        one = self.torch.tensor([number], dtype=self.torch.float64)
        return self.hvd.allreduce(one, op=self.hvd.Sum, name="total").item()

    def close(self):
        self.hvd.shutdown()


class Torch(Tensors):
    def __init__(self):
        import torch.distributed as dist

        self.dist, self.mpi = dist, None
        self.rank, self.size, self.local_rank = place()
        where = "env://"
        if "MASTER_ADDR" not in os.environ:
            # mpirun sets no rendezvous address: rank 0 chooses one.
            self.mpi = Mpi()
            with socket.create_server(("", 0)) as free:
                port = free.getsockname()[1]
            # Not gethostbyname, which supports IPv4 only.
            address = socket.getaddrinfo(socket.gethostname(), None)[0][4][0]
            where = self.mpi.broadcast(f"tcp://[{address}]:{port}" if ":" in address else f"tcp://{address}:{port}")
        self.on_device()
        backend = "nccl" if self.gpu and dist.is_nccl_available() else "gloo"
        self.gpu = backend == "nccl"
        dist.init_process_group(backend, init_method=where, rank=self.rank, world_size=self.size)
        self.name = f"PyTorch with {backend.upper() if self.gpu else 'Gloo'}"

    def reduce(self):
        self.dist.all_reduce(self.given)

    def total(self, number):
        one = self.tensor([number], self.torch.float64)
        self.dist.all_reduce(one)
        return one.item()

    def close(self):
        self.dist.destroy_process_group()
        if self.mpi:
            self.mpi.close()


def choose(wanted):
    """The requested library; by default the first in the image of Horovod, PyTorch and MPI."""
    ways = {"horovod": Horovod, "torch": Torch, "mpi": Mpi}
    if wanted != "auto":
        return ways[wanted]()
    if "RANK" in os.environ and "OMPI_COMM_WORLD_RANK" not in os.environ:
        return Torch()
    for way in ways.values():
        try:
            return way()
        except ImportError:
            continue
    raise SystemExit("khorovod-bandwidth: this image has no Horovod, PyTorch or MPI library")
