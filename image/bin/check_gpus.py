"""Checks that each host has the expected number of GPUs or other accelerators, and that all are of the same type."""

from finding import Check, groups, some, told

CHECK = Check(
    "gpus",
    "Ranks without their own GPU fail, share one, or train a hundred times slower on the CPU.",
    "Compare `workers.gpus`, `gpuResource` and `placement.runtimeClassName` with what the nodes' device plugin offers.",
)
NONE_GIVEN = ("", "void", "none", "all")  # `all` is the default of CUDA images


def gpus(crew, wanted=None):
    seen = {host: host.facts["gpus"] for host in crew.there}
    broken = groups([host for host in seen if "error" in seen[host]], lambda host: seen[host]["error"])
    for words, names in broken:
        yield CHECK.fail(f"nvidia-smi on {some(names)}: {words}", do="Check the driver on those nodes.")
    if broken:
        return
    kinds = groups(seen, lambda host: (len(seen[host]["names"]), some(sorted(set(seen[host]["names"])))))
    drivers = groups(seen, lambda host: seen[host].get("driver"))
    counts = {count for (count, _), _ in kinds}
    given = [host.pod for host in seen if host.facts["environment"].get("NVIDIA_VISIBLE_DEVICES", "") not in NONE_GIVEN]
    few = [host.pod for host in seen if len(seen[host]["names"]) < host.slots]
    if wanted is not None and counts != {wanted}:
        yield CHECK.fail(f"{wanted} expected on every host, but {told(kinds, say)}")
    elif counts == {0} and given:
        yield CHECK.fail(f"the device plugin assigned some to {some(given)}, but none is visible there")
    elif counts == {0}:
        yield CHECK.ok("none on any host; `--gpus N` sets the expected number")
    elif 0 in counts:
        yield CHECK.fail(told(kinds, say))
    elif few:
        yield CHECK.warn(f"fewer than ranks: {told(kinds, say)}", do="Set `workers.slotsPerWorker` to `workers.gpus`.")
    elif len(kinds) > 1:
        yield CHECK.warn(
            f"hosts differ: {told(kinds, say)}",
            "The slowest GPU determines the speed of all.",
            "Choose nodes by `placement.nodeSelector`.",
        )
    elif len(drivers) > 1:
        yield CHECK.warn(
            f"drivers differ: {told(drivers)}", "A program may work on one host and fail on another.", "Install the same driver on all nodes."
        )
    else:
        yield CHECK.ok(f"{say(kinds[0][0])} on every host" + (f", driver {drivers[0][0]}" if drivers[0][0] else ""))


def say(kind):
    count, names = kind
    return f"{count} × {names}" if count else "none"
