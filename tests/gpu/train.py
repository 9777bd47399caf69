"""A small training on a GPU with DistributedDataParallel, for cases.sh. The environment chooses the backend and a fault.

BACKEND  nccl or gloo
STEPS    the number of steps (200)
HANG     rank HANG waits in read_batch at step 20 of the first attempt, which creates the file /out/hung
KERNEL   at step 20 of the first attempt, a kernel on the GPU does not end
SAVES    on SIGUSR1 the model and the step are saved in /out/model.pt, from which a later start continues
"""
import os
import signal
import socket
import time

import torch
import torch.distributed as ranks
from torch.nn.parallel import DistributedDataParallel

DEVICE = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)) % max(1, torch.cuda.device_count())) if torch.cuda.is_available() else "cpu"
SAVED = "/out/model.pt"
is_notified = False


def first_time(name):
    """Whether no earlier attempt has asked for this name."""
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def read_batch(step):
    if step == 20 and os.environ.get("HANG") == str(ranks.get_rank()) and first_time("/out/hung"):
        time.sleep(1000)
    generator = torch.Generator().manual_seed(step * 1000 + ranks.get_rank())
    given = torch.randn(4096, 64, generator=generator)
    return given.to(DEVICE), given.sin().sum(1, keepdim=True).to(DEVICE)


def run_kernel(step):
    if step == 20 and "KERNEL" in os.environ and first_time("/out/hung"):
        torch.cuda._sleep(1 << 60)
        torch.cuda.synchronize()


def notice(*_):
    global is_notified
    is_notified = True


def save(model, optimizer, step):
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, SAVED + ".new")
    os.rename(SAVED + ".new", SAVED)


def main():
    signal.signal(signal.SIGUSR1, notice)
    backend = os.environ.get("BACKEND", "nccl") if torch.cuda.is_available() else "gloo"
    if DEVICE != "cpu":
        torch.cuda.set_device(DEVICE)
    ranks.init_process_group(backend)
    rank, count = ranks.get_rank(), ranks.get_world_size()
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    numbers = torch.full((1 << 20,), float(rank + 1), device=DEVICE)
    ranks.all_reduce(numbers)
    print(f"rank {rank} of {count} on {socket.gethostname()}, {name}: sum {numbers[0].item():.0f} by {backend}", flush=True)

    torch.manual_seed(rank)
    layers = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    model = DistributedDataParallel(layers.to(DEVICE))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    first, start = None, 0
    if "SAVES" in os.environ and os.path.exists(SAVED):
        state = torch.load(SAVED, map_location=DEVICE)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["step"]
        place = next(iter(state["model"].values())).device
        print(f"rank {rank} continues at step {start} with a model on {place.type}", flush=True)
    for step in range(start, int(os.environ.get("STEPS", 200))):
        given, wanted = read_batch(step)
        run_kernel(step)
        loss = torch.nn.functional.mse_loss(model(given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or "SAVES" in os.environ:
            value = loss.item()
            first = first or value
            print(f"step {step}: loss {value:.4f}", flush=True)
        if "SAVES" in os.environ:
            time.sleep(0.2)
            if is_notified:
                save(model, optimizer, step + 1)
                print(f"rank {rank} saved step {step + 1} from {DEVICE}", flush=True)
                ranks.destroy_process_group()
                return
    weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    lowest, highest = weights.clone(), weights.clone()
    ranks.all_reduce(lowest, op=ranks.ReduceOp.MIN)
    ranks.all_reduce(highest, op=ranks.ReduceOp.MAX)
    same = "the same" if torch.equal(lowest, highest) else "different"
    value = loss.item()
    print(f"rank {rank} of {count}: the loss {'fell' if value < 0.2 * first or start else 'did not fall'}, {same} weights on all ranks", flush=True)
    if DEVICE != "cpu":
        print(f"memory of the GPU: {torch.cuda.max_memory_allocated() >> 20} MiB", flush=True)
    ranks.destroy_process_group()


main()
