"""What tests of programs share: counted checks, and a terminal with a person before it. Imported, not run."""

import os
import pty


def check(holds, what, more=""):
    """One thing that must hold."""
    check.count += 1
    if not holds:
        check.wrong.append(f"{what}\n{more}")


check.count, check.wrong = 0, []


def on_terminal(command, env):
    """What a person sees who has a terminal, and types nothing."""
    child, screen = pty.fork()
    if child == 0:
        os.execve(command[0], list(map(str, command)), env)
    shown = b""
    try:
        while part := os.read(screen, 4096):
            shown += part
    except OSError:  # the terminal is closed by its last user
        pass
    os.waitpid(child, 0)
    return shown.decode()
