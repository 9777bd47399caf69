#!/usr/bin/env python3
"""Tests the preflight and the benchmark with simulated hardware: GPUs, unusual interfaces, broken collectives.
Replacements for nvidia-smi and mpirun are first in PATH. cases.sh runs the programs in jobs.
"""

import ast
import asyncio
import importlib.machinery
import importlib.util
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

BIN = Path(__file__).resolve().parents[2] / "image/bin"
sys.path.insert(0, str(BIN))
sys.dont_write_bytecode = True

import check_allreduce  # noqa: E402
import plot  # noqa: E402
from check_gpus import gpus  # noqa: E402
from check_interface import interface  # noqa: E402
from check_shm import shm  # noqa: E402
from crew import Crew  # noqa: E402
from finding import merged  # noqa: E402
from hosts import mpirun, read_hostfile  # noqa: E402


def program(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(BIN / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, path = Path(folder.name), os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{folder.name}:{path}"

    def stand_in(self, name, script):
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def facts(self, **environment):
        """The facts that the probe prints for this machine."""
        done = subprocess.run(
            [sys.executable, BIN / "probe.py"], stdin=subprocess.DEVNULL, capture_output=True, check=True,
            env={**os.environ, **environment},
        )  # fmt: skip
        return json.loads(done.stdout)

    def crew(self, *facts, slots=2):
        crew = Crew([(f"worker-{index}.job", slots) for index in range(len(facts))], 5)
        for index, host in enumerate(crew.hosts):
            host.facts = facts[index]
            host.reached = {"other": {"local": "10.0.0.1"}}
        crew.launcher = None
        return crew

    def says(self, findings, *texts):
        found = [f"{one.verdict} {one.text} | {one.do}" for one in findings]
        for text, line in zip(texts, found):
            self.assertIn(text, line)
        self.assertEqual(len(texts), len(found), found)


class Gpus(Case):
    def see(self, *rows, driver="580.65.06"):
        self.stand_in("nvidia-smi", "\n".join(f"echo '{row}, {driver}'" for row in rows) or "exit 6")
        return self.facts()

    def test_alike(self):
        seen = self.see(*["NVIDIA H100 80GB HBM3"] * 2)
        self.says(gpus(self.crew(seen, seen), 2), "ok 2 × NVIDIA H100 80GB HBM3 on every host, driver 580.65.06")

    def test_not_as_many(self):
        two, one = self.see("A", "A"), self.see("A")
        self.says(gpus(self.crew(two, two, one), 2), "FAIL 2 expected on every host, but 2 × A on worker-0, worker-1; 1 × A on worker-2")
        self.says(gpus(self.crew(two, one)), "warn fewer than ranks: 2 × A on worker-0; 1 × A on worker-1 | Set `workers.slotsPerWorker`")

    def test_not_of_a_kind(self):
        self.says(gpus(self.crew(self.see("A", "A"), self.see("B", "B"))), "warn hosts differ: 2 × A on worker-0; 2 × B on worker-1")
        self.says(gpus(self.crew(self.see("A", "A"), self.see("A", "A", driver="570"))), "warn drivers differ: 580.65.06 on worker-0; 570")

    def test_none(self):
        none = self.facts()
        self.assertEqual(none["gpus"]["names"], [])
        self.says(gpus(self.crew(none)), "ok none on any host")
        self.says(gpus(self.crew(none), 8), "FAIL 8 expected on every host, but none on worker-0")
        self.says(gpus(self.crew(none, self.see("A", "A"))), "FAIL none on worker-0; 2 × A on worker-1")
        os.unlink(self.folder / "nvidia-smi")
        given = self.facts(NVIDIA_VISIBLE_DEVICES="GPU-3c1ee2a7")
        self.says(gpus(self.crew(given)), "FAIL the device plugin assigned some to worker-0, but none is visible there")
        self.says(gpus(self.crew(self.facts(NVIDIA_VISIBLE_DEVICES="all"))), "ok none")

    def test_driver_that_fails(self):
        self.says(gpus(self.crew(self.see())), "FAIL nvidia-smi on worker-0: it ended with 6")


def card(name, address, mtu=1500, loopback=False):
    return {"name": name, "up": True, "loopback": loopback, "mtu": mtu, "address": address, "six": [], "prefix": 24}


class Interfaces(Case):
    def check(self, *cards, **environment):
        facts = {"interfaces": [card("lo", "127.0.0.1", loopback=True), *cards], "rdma": [], "environment": environment}
        return facts

    def test_one_name(self):
        one = self.check(card("eth0", "10.0.0.1"))
        self.says(interface(self.crew(one, one)), "ok eth0 leads to the others on every host (10.0.0.0/24, mtu 1500)")
        one["rdma"] = ["mlx5_0"]
        self.says(interface(self.crew(one, one)), "RDMA by mlx5_0")

    def test_names_and_mtus_differ(self):
        crew = self.crew(self.check(card("eth0", "10.0.0.1")), self.check(card("ens5", "10.0.0.1", mtu=9001)))
        self.says(
            interface(crew), "warn MTUs differ: 1500 on worker-0; 9001 on worker-1",
            'warn names differ: eth0 on worker-0; ens5 on worker-1 | Set `collective: {interface: "ens5,eth0"}`',
        )  # fmt: skip

    def test_a_bridge_misleads_until_one_is_chosen(self):
        cards = card("eth0", "10.0.0.1"), card("docker0", "172.17.0.1")
        crew = self.crew(self.check(*cards), self.check(*cards))
        self.says(interface(crew), "warn eth0 leads to the others on every host, but one address is on several hosts: docker0")
        self.says(interface(self.crew(*[self.check(*cards, NCCL_SOCKET_IFNAME="eth")] * 2)), "ok eth0 leads")

    def test_addresses_that_lead_out(self):
        inner = card("eth0", "") | {"six": ["10.0.0.1"]}
        crew = self.crew(*[self.check(inner, card("v4if0", f"169.254.172.{host}")) for host in (2, 3)])
        self.says(interface(crew), "warn eth0 leads to the others on every host, by IPv6, but no host answered by the IPv4 addresses of v4if0")
        self.says(interface(self.crew(self.check(inner), self.check(inner))), "ok eth0 leads")

    def test_chosen_wrongly(self):
        cards = card("eth0", "10.0.0.1")
        absent = self.crew(self.check(cards, GLOO_SOCKET_IFNAME="ib0"))
        self.says(interface(absent), "FAIL GLOO_SOCKET_IFNAME=ib0, but there is only lo, eth0: on worker-0", "ok")
        inner = self.crew(*[self.check(cards, NCCL_SOCKET_IFNAME="lo")] * 2)
        self.says(interface(inner), "FAIL NCCL_SOCKET_IFNAME=lo, and lo leads to no other host: on worker-0, worker-1", "ok")
        self.says(interface(self.crew(self.check(cards, OMPI_MCA_btl_tcp_if_include="10.0.0.0/8"))), "ok")


class Shm(Case):
    def test_sizes(self):
        sized = [{"shm": {"size": 1 << 33, "free": size}} for size in (1 << 33, 1 << 26, 1 << 28)]
        self.says(shm(self.crew(sized[0])), "ok /dev/shm is writable everywhere, with 8192 MiB or more free")
        self.says(shm(self.crew(*sized)), "FAIL free in /dev/shm: 64 MiB on worker-1", "warn free in /dev/shm: 256 MiB on worker-2")
        self.says(shm(self.crew({"shm": {"error": "Read-only file system"}})), "FAIL /dev/shm on worker-0: Read-only file system")


class Allreduce(Case):
    def check(self, script, patience=5):
        self.stand_in("mpirun", f'[[ $1 != --version ]] || {{ echo "mpirun (Open MPI) 5.0.9"; exit; }}\n{script}')
        gpus = {"gpus": {"names": ["A"]}, "versions": {"mpi": "openmpi 5.0.9"}}
        crew = self.crew(gpus, gpus)
        crew.patience = patience

        async def all_of_it():
            return [finding async for finding in check_allreduce.allreduce(crew, "/hosts")]

        return asyncio.run(all_of_it())

    def test_what_mpirun_brings(self):
        world = 'echo \'{"ranks": %d, "hosts": 2, "by": "NCCL"}\'; echo \'{"wrong": %d}\''
        self.says(self.check(world % (4, 0)), "ok 4 ranks on 2 hosts have the right sum, by NCCL")
        self.says(self.check(world % (4, 3) + "; exit 1"), "FAIL 3 of 4 ranks have a wrong sum, by NCCL")
        cpus = world.replace("NCCL", "Horovod with MPI on CPUs") % (4, 0)
        self.says(self.check(cpus), "warn 4 ranks have the right sum, but by Horovod with MPI on CPUs, though all hosts have")
        self.says(self.check(world % (2, 0)), "FAIL 2 ranks on 2 hosts took part, of 4 on 2")
        self.says(self.check("echo unhappy; exit 7"), "FAIL mpirun ended with 7\n           | unhappy")
        self.says(self.check("exec sleep 100", patience=-59), "FAIL 4 ranks did not end within 1 s")


class Bandwidth(Case):
    def test_wrong_sums_are_counted(self):
        bandwidth = program("khorovod-bandwidth")

        class Ranks:
            size, rank, local_rank, name, broken = 4, 0, 0, "a stand-in", False
            total = prepare = fill = reduce = lambda self, *_: None

            def total(self, number):
                return number * self.size

            def equals(self, pattern):
                return not self.broken

            def settle(self):
                pass

        options = bandwidth.argparse.Namespace(min=1 << 20, max=4 << 20, factor=4, seconds=0.01, limit=60, check=True)
        world, *rows = bandwidth.measure(Ranks(), options)
        self.assertEqual([row["bytes"] for row in rows], [1 << 20, 4 << 20])
        self.assertEqual({row["wrong"] for row in rows}, {0})
        # With four ranks, each link carries one and a half times the bytes.
        self.assertAlmostEqual(rows[0]["bus"], rows[0]["bytes"] / rows[0]["seconds"] / 1e9 * 1.5)
        Ranks.broken = True
        self.assertEqual({row["wrong"] for row in list(bandwidth.measure(Ranks(), options))[1:]}, {4})

    def test_ranks_that_hang_are_ended(self):
        bandwidth = program("khorovod-bandwidth")
        self.stand_in("mpirun", "[[ $1 != --version ]] || exit; trap 'exit 0' TERM; sleep 100 >/dev/null & wait")
        (self.folder / "hosts").write_text("a slots=1\n")
        options = bandwidth.argparse.Namespace(hostfile=self.folder / "hosts", limit=1 - bandwidth.GRACE)
        with self.assertRaisesRegex(SystemExit, "did not end within 1 s"):
            list(bandwidth.by_mpirun(options))

    def test_plots(self):
        rows = [
            {"bytes": 8 * 4**power, "seconds": 1e-5 * 3**power, "alg": 1, "bus": 0.5 * 2**power, "wrong": 0} for power in range(8)
        ]
        self.assertEqual(plot.summary(rows), "latency 10.00 µs at 8 B; bus bandwidth 64.0 GB/s at 128 KiB, half of it from 32 KiB on")
        bars = plot.bars(rows).splitlines()
        self.assertEqual((len(bars), bars[1][:9], bars[1].count("█")), (11, "    64.0 ", 4))
        drawn = xml.dom.minidom.parseString(plot.svg(rows, "4 ranks & <more>"))
        self.assertEqual(len(drawn.getElementsByTagName("circle")), 16)


class Whole(Case):
    def run_on(self, *hosts, world='{"ranks": 1, "hosts": 1, "by": "it"}', options=()):
        """Runs the whole preflight, with an ssh that connects to this machine."""
        self.stand_in("ssh", 'shift; exec bash -c "$*"')
        self.stand_in("mpirun", f"[[ $1 != --version ]] || {{ echo 'mpirun (Open MPI) 5'; exit; }}; echo '{world}'; echo '{{\"wrong\": 0}}'")
        (self.folder / "hosts").write_text("".join(f"{host} slots=1\n" for host in hosts))
        return subprocess.run(
            [BIN / "khorovod-preflight", "--hostfile", self.folder / "hosts", *options], capture_output=True, text=True
        )

    def test_for_machines(self):
        done = self.run_on(socket.gethostname(), options=["--json"])
        said = json.loads(done.stdout)
        verdicts = {one["what"]: one["verdict"] for one in said["findings"]}
        self.assertEqual((verdicts["ssh"], verdicts["allreduce"], done.returncode), ("ok", "ok", 0), done.stdout)
        self.assertIn("lo", [one["name"] for one in said["hosts"][socket.gethostname()]["interfaces"]])

    def test_two_names_of_one_host(self):
        done = self.run_on("127.0.0.1", "127.0.0.2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAIL  names      127.0.0.1, 127.0.0.2 lead to the same host", done.stdout)
        self.assertIn("warn  allreduce  skipped", done.stdout)

    def test_wants_a_hostfile(self):
        done = subprocess.run([BIN / "khorovod-preflight", "--hostfile", "/none"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("khorovod-preflight: there is no hostfile /none: run this in a job's launcher", done.stderr)


class Files(Case):
    def test_hostfiles(self):
        path = self.folder / "hosts"
        path.write_text("a.job slots=8\nb.job:4\n# none\nc.job\n\n")
        self.assertEqual(read_hostfile(path), [("a.job", 8), ("b.job", 4), ("c.job", 1)])
        path.write_text("\n")
        self.assertRaises(ValueError, read_hostfile, path)

    def test_mpirun(self):
        self.stand_in("mpirun", 'echo "mpirun (Open MPI) 4.1.4"')
        self.assertEqual(mpirun("/h", [("a", 2), ("b", 2)])[:5], ["mpirun", "-np", "4", "--hostfile", "/h"])
        self.stand_in("mpirun", 'echo "HYDRA build details:"')
        self.assertEqual(mpirun("/h", [("a", 2)])[3:6], ["-f", "/h", "-localhost"])
        self.stand_in("mpirun", 'echo "Intel(R) MPI Library for Linux* OS"')
        self.assertEqual(mpirun("/h", [("a", 2)])[3:], ["-machinefile", "/h"])

    def test_failures_in_few_lines(self):
        deaf = [(f"w{index}", "w9", "timed out") for index in range(3)]
        blind = [("w5", f"w{index}", "unknown") for index in range(3)]
        self.assertEqual(merged(deaf), [(("w0", "w1", "w2"), ["w9"], "timed out")])
        self.assertEqual(merged(blind), [(("w5",), ["w0", "w1", "w2"], "unknown")])

    def test_many_hosts_are_asked_about_a_few(self):
        crew = self.crew(*[{"host": "any"}] * 256)
        asked = [len(crew.peers(host)) for host in crew.hosts]
        self.assertEqual(set(asked), {8})

    def test_old_pythons_can_read_the_programs(self):
        for path in BIN.iterdir():
            if path.is_file():
                ast.parse(path.read_text(), str(path), feature_version=(3, 8))


if __name__ == "__main__":
    unittest.main(verbosity=0)
