"""Checks that all hosts have the same versions of the MPI and of the modules that ranks import."""

from finding import Check, groups, told

CHECK = Check(
    "software",
    "Ranks with different versions cannot talk to each other: they hang or fail at the first message.",
    "Run one image everywhere, by digest or a tag that does not move; `launcher.image` needs the workers' MPI.",
)


def software(crew):
    kinds = sorted({kind for host in crew.talking for kind in host.facts["versions"]})
    alike = []
    for kind in kinds:
        # The launcher starts the ranks with its MPI, but need not have the modules that only ranks import.
        hosts = crew.talking if kind == "mpi" else crew.there
        found = groups(hosts, lambda host: host.facts["versions"].get(kind, "none"))
        if len(found) > 1:
            yield (CHECK.warn if kind == "python" else CHECK.fail)(f"{kind} differs: {told(found)}")
        elif found[0][0] != "none":
            alike.append(found[0][0] if kind == "mpi" else f"{kind} {found[0][0]}")
    if crew.mpi == "none":
        yield CHECK.warn(
            "no mpirun in the launcher", "mpirun, and Horovod over MPI, start ranks with it.", "Add an MPI to the image."
        )
    if len(alike) == len(kinds):
        yield CHECK.ok(f"the same everywhere: {', '.join(alike)}")
