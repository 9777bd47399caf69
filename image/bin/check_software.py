"""Whether all hosts have the same MPI, and the same of what ranks import."""

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
        # The launcher starts the ranks with its MPI, but may lack what only they import.
        hosts = crew.talking if kind == "mpi" else crew.there
        found = groups(hosts, lambda host: host.facts["versions"].get(kind, "none"))
        if len(found) > 1:
            yield (CHECK.warn if kind == "python" else CHECK.fail)(f"{kind} differs: {told(found)}")
        elif found[0][0] != "none":
            alike.append(found[0][0] if kind == "mpi" else f"{kind} {found[0][0]}")
    if crew.mpi == "none":
        yield CHECK.warn(
            "no mpirun in the launcher", "mpirun, and Horovod over MPI, start ranks by it.", "Add an MPI to the image."
        )
    if len(alike) == len(kinds):
        yield CHECK.ok(f"alike everywhere: {', '.join(alike)}")
