"""The program of JAX's cases: fits a line to data that differs per process, with the gradients averaged over all processes. If WAIT is
set, it continues until one process finds the file /tmp/end."""
import os
import pathlib
import socket

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

print("loaded", os.environ["KHOROVOD_RANK"], flush=True)
if "ALONE" not in os.environ:
    jax.distributed.initialize()
rank, world = jax.process_index(), jax.process_count()
tried = pathlib.Path("/tmp/tried")
if os.environ.get("FAILS") == str(rank) and not tried.exists():
    tried.touch()
    print("this rank fails", flush=True)
    raise SystemExit(3)


def step(weights, inputs, outputs, ends):
    def loss(weights):
        return jnp.mean((inputs * weights[0] + weights[1] - outputs) ** 2)

    error, gradients = jax.value_and_grad(loss)(weights)
    return weights - 0.5 * jax.lax.pmean(gradients, "ranks"), jax.lax.pmean(error, "ranks"), jax.lax.psum(ends, "ranks")


step = jax.pmap(step, axis_name="ranks")
count = jax.local_device_count()
inputs = jnp.tile(jnp.linspace(rank, rank + 1, 16), (count, 1)) / world
weights = jnp.zeros((count, 2))
print(f"up {rank}", flush=True)
steps, ended = 0, False
while steps < 300 or "WAIT" in os.environ and not ended:
    ends = jnp.full((count,), float(os.path.exists("/tmp/end")))
    weights, error, sums = step(weights, inputs, 3 * inputs + 1, ends)
    ended = float(sums[0]) > 0
    steps += 1
    if "WAIT" in os.environ and multihost_utils.reached_preemption_sync_point(steps):
        print(f"rank {rank} saves step {steps}", flush=True)
        raise SystemExit(1)
total = jax.pmap(lambda x: jax.lax.psum(x, "ranks"), axis_name="ranks")(jnp.full((count,), rank))
assert float(error[0]) < 1e-3, error
print(f"rank {rank} of {world} on {socket.gethostname()}: sum {int(total[0])}, line {weights[0][0]:.1f} x + {weights[0][1]:.1f}", flush=True)
