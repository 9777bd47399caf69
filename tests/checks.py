"""Shared by tests of programs: counted checks, and a terminal. Imported, not run."""

import os
import pty


def check(holds, what, more=""):
    """Records one check; `what` is printed if it fails."""
    check.count += 1
    if not holds:
        check.wrong.append(f"{what}\n{more}")


check.count, check.wrong = 0, []


def on_terminal(command, env):
    """Runs a command on a terminal without input; returns its output."""
    child, screen = pty.fork()
    if child == 0:
        os.execve(command[0], list(map(str, command)), env)
    shown = b""
    try:
        while part := os.read(screen, 4096):
            shown += part
    except OSError:  # the command has ended
        pass
    os.waitpid(child, 0)
    return shown.decode()
