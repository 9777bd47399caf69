#!/usr/bin/env python3
"""racks.py BRIDGE=BLOCK...: connects bridges as racks, and delays what one rack sends to another.

A frame takes 2 ms to a rack of the same block, and 8 ms to a rack of another block. The kernel's own program for delays, netem, is often
missing. The bridge `pods` exists already, and the others are created. Runs until it is killed.
"""
import fcntl
import heapq
import itertools
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, TAP, NO_HEADER = 0x400454CA, 2, 0x1000


def tap(name, bridge):
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH", name.encode(), TAP | NO_HEADER))
    subprocess.run(["ip", "link", "set", name, "master", bridge, "up"], check=True)
    return file


def main(words):
    blocks = dict(word.split("=") for word in words)
    for bridge in blocks:
        if bridge != "pods":
            subprocess.run(["ip", "link", "add", bridge, "type", "bridge"], check=True)
            subprocess.run(["ip", "link", "set", bridge, "up"], check=True)
    files = {tap(f"t-{bridge}", bridge): block for bridge, block in blocks.items()}
    print("connected", flush=True)
    queue, order = [], itertools.count()
    while True:
        now = time.monotonic()
        while queue and queue[0][0] <= now:
            _, _, target, frame = heapq.heappop(queue)
            try:
                os.write(target, frame)
            except OSError:
                pass
        ready, _, _ = select.select(files, [], [], max(0, queue[0][0] - now) if queue else None)
        for source in ready:
            try:
                frame = os.read(source, 65536)
            except OSError:
                continue
            for target, block in files.items():
                if target != source:
                    delay = 0.002 if block == files[source] else 0.008
                    heapq.heappush(queue, (time.monotonic() + delay, next(order), target, frame))


main(sys.argv[1:])
