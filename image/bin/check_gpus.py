"""The GPUs, or other accelerators, that each host sees: as many as wanted, and alike."""

from finding import Check, groups, some, told

CHECK = Check(
    "gpus",
    "Ranks without a GPU of their own fail, share one, or train on the CPU a hundred times slower.",
    "Compare `workers.gpus`, `gpuResource` and `placement.runtimeClass` with what the nodes' device plugin offers.",
)
NONE_GIVEN = ("", "void", "none", "all")  # `all` is what CUDA images say when nobody does


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
        yield CHECK.fail(f"{wanted} wanted on every host, but {told(kinds, say)}")
    elif counts == {0} and given:
        yield CHECK.fail(f"the device plugin gave some to {some(given)}, which see none")
    elif counts == {0}:
        yield CHECK.ok("none on any host; `--gpus N` says how many there should be")
    elif 0 in counts:
        yield CHECK.fail(told(kinds, say))
    elif few:
        yield CHECK.warn(f"fewer than ranks: {told(kinds, say)}", do="Set `workers.slots` to `workers.gpus`.")
    elif len(kinds) > 1:
        yield CHECK.warn(
            f"not alike: {told(kinds, say)}",
            "The slowest sets the pace of all.",
            "Choose nodes by `placement.nodeSelector`.",
        )
    elif len(drivers) > 1:
        yield CHECK.warn(
            f"drivers differ: {told(drivers)}", "What works on one host may fail on another.", "Update the nodes alike."
        )
    else:
        yield CHECK.ok(f"{say(kinds[0][0])} on every host" + (f", driver {drivers[0][0]}" if drivers[0][0] else ""))


def say(kind):
    count, names = kind
    return f"{count} × {names}" if count else "none"
