"""collect.py PORT FOLDER REQUEST COUNT: sends REQUEST to COUNT pods, and writes what each answers to FOLDER/NAME.

Index 0 of torchrun runs it during a stall. The other pods try to connect all the time. A pod answers with its name, any lines and
`end`; all connections are closed together, once all pods have answered or after half a minute.
"""
import os
import socket
import sys
import threading
import time

LIMIT = 1 << 22


def serve(client):
    with client.makefile("rw", errors="replace") as stream:
        stream.write(request + "\n")
        stream.flush()
        name, lines, size = os.path.basename(stream.readline().strip()), [], 0
        for line in stream:
            size += len(line)
            if line == "end\n" or size > LIMIT:
                break
            lines.append(line)
    with open(os.path.join(folder, name), "w") as file:
        file.writelines(lines)
    answers.add(name)


port, folder, request, count = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
dual = socket.has_dualstack_ipv6()
server = socket.create_server(("", port), family=socket.AF_INET6 if dual else socket.AF_INET, dualstack_ipv6=dual, backlog=128)
server.settimeout(0.5)
clients, answers, end = [], set(), time.monotonic() + 30
while len(answers) < count and time.monotonic() < end:
    try:
        clients.append(server.accept()[0])
        clients[-1].settimeout(30)
        threading.Thread(target=serve, args=clients[-1:], daemon=True).start()
    except socket.timeout:
        pass
