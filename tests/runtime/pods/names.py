"""The cluster's DNS: answers A queries for the names of pods over UDP."""
import os
import socket
import struct
import threading
import time

DENIED = {}


def resolve(cluster, name):
    """The answers of a cluster's DNS, which caches negative answers for WORK/denial seconds."""
    if time.monotonic() < DENIED.get(name, 0):
        return None
    found = cluster.resolve(name)
    if not found:
        DENIED[name] = time.monotonic() + cluster.seconds("denial")
    return found


def answer(cluster, query):
    """A response by RFC 1035: the question, with an address for each pod that has the name."""
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode())
        at += 1 + length
    question = query[12 : at + 5]
    (kind,) = struct.unpack("!H", query[at + 1 : at + 3])
    found = resolve(cluster, ".".join(labels).lower())
    addresses = found if found and kind == 1 else []
    # If the name exists but has no record of this type, the response is not an error.
    flags = 0x8580 | (0 if found else 3)
    head = query[:2] + struct.pack("!HHHHH", flags, 1, len(addresses), 0, 0)
    records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 5, 4) + socket.inet_aton(each) for each in addresses)
    return head + question + records


def serve(cluster):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    server.bind((cluster.address, 53))

    def loop():
        while True:
            query, peer = server.recvfrom(512)
            # A case lets queries get no answer while this file exists.
            if os.path.exists(f"{cluster.work}/silent"):
                continue
            server.sendto(answer(cluster, query), peer)

    threading.Thread(target=loop, daemon=True).start()
