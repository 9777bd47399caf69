"""All hosts of a job, and which host checks which others."""

import asyncio

from hosts import Host, own_name


class Crew:
    """`hosts` are those in the hostfile. `launcher` is None if it is one of them. `there` and `talking` are valid after the
    check `ssh`."""

    def __init__(self, hosts, patience):
        self.patience = patience
        self.hosts = [Host(name, slots) for name, slots in hosts]
        own = own_name(hosts)
        rank = any(name.partition(".")[0] == own.partition(".")[0] for name, _ in hosts)
        self.launcher = None if rank else Host(own, 0, local=True)
        self.own = own

    @property
    def all(self):
        return [*self.hosts, *([self.launcher] if self.launcher else [])]

    @property
    def there(self):
        """The workers that answered."""
        return [host for host in self.hosts if host.facts]

    @property
    def talking(self):
        return [*self.there, *([self.launcher] if self.launcher else [])]

    @property
    def mpi(self):
        """The launcher's MPI and version, or `none`."""
        return self.talking[-1].facts["versions"].get("mpi", "none")

    def peers(self, host):
        """The hosts that a host checks: all others, or of more than 16 those 1, 2, 4, 8 … places after it; and the launcher."""
        if host is self.launcher or len(self.there) <= 16:
            return [peer for peer in self.talking if peer is not host]
        at, many = self.there.index(host), len(self.there)
        steps = [1 << power for power in range(many.bit_length()) if 1 << power < many]
        return [self.there[(at + step) % many] for step in steps] + ([self.launcher] if self.launcher else [])

    async def stop(self):
        await asyncio.gather(*(host.stop() for host in self.all))
