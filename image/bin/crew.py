"""All hosts of a job, and who is asked about whom."""

import asyncio

from hosts import Host, own_name


class Crew:
    """`hosts` by the hostfile; `launcher` where it is not one of them; `there` and `talking` once ssh was tried."""

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
        """Whom a host is asked about: everybody, or among many those 1, 2, 4, 8 … places further; and the launcher."""
        if host is self.launcher or len(self.there) <= 16:
            return [peer for peer in self.talking if peer is not host]
        at, many = self.there.index(host), len(self.there)
        steps = [1 << power for power in range(many.bit_length()) if 1 << power < many]
        return [self.there[(at + step) % many] for step in steps] + ([self.launcher] if self.launcher else [])

    async def stop(self):
        await asyncio.gather(*(host.stop() for host in self.all))
