"""container.py FILE: sets up and executes the container that FILE describes, like a container runtime.

Runs as the first process of new mount, process and UTS namespaces, in the pod's network namespace.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, DETACH = 1, 2, 4, 8, 32, 4096, 16384, 2
HOST = "/.host"


def checked(name, *arguments):
    if getattr(LIBC, name)(*arguments):
        error = ctypes.get_errno()
        raise OSError(error, f"{name}{arguments}: {os.strerror(error)}")


def mount(source, target, kind="", flags=0, data=""):
    checked("mount", source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())


def bind(source, target, read_only=False):
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "a").close()
    mount(source, target, flags=BIND | REC)
    if read_only:
        mount("", target, flags=BIND | REMOUNT | RDONLY)


def devices(given):
    mount("dev", "/dev", "tmpfs", NOSUID, "mode=755")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        bind(f"{HOST}/dev/{name}", f"/dev/{name}")
    for path in given:
        bind(HOST + path, path)
    os.makedirs("/dev/pts")
    mount("devpts", "/dev/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5")
    os.makedirs("/dev/shm")
    mount("shm", "/dev/shm", "tmpfs", NOSUID | NODEV | NOEXEC, "mode=1777,size=64m")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    for name, target in links.items():
        os.symlink(target, f"/dev/{name}")


def enter_root(spec):
    """Mounts the image with a writable layer. Afterwards the machine's files are below HOST."""
    scratch = spec["scratch"]
    mount("scratch", scratch, "tmpfs")
    for name in ("upper", "work", "root"):
        os.mkdir(f"{scratch}/{name}", 0o755)
    root = f"{scratch}/root"
    layers = f"lowerdir={':'.join(spec['layers'])},upperdir={scratch}/upper,workdir={scratch}/work"
    mount("image", root, "overlay", 0, layers)
    if spec["prepare"]:
        words = {"PATH": os.environ["PATH"], "POD": spec["pod"], "IMAGE": spec["image"]}
        subprocess.run(["bash", "-eu", spec["prepare"]], cwd=root, env=words, check=True)
    os.makedirs(root + HOST)
    checked("pivot_root", root.encode(), (root + HOST).encode())
    os.chdir("/")


def fill_root(spec):
    for folder in ("/proc", "/sys", "/dev"):
        os.makedirs(folder, exist_ok=True)
    mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    mount("sysfs", "/sys", "sysfs", RDONLY | NOSUID | NODEV | NOEXEC)
    devices(spec["devices"])
    for source, target, read_only in sorted(spec["mounts"], key=lambda mount: mount[1]):
        bind(HOST + source, target, read_only)
    os.makedirs(spec["workdir"], exist_ok=True)
    checked("umount2", HOST.encode(), DETACH)
    os.rmdir(HOST)
    if spec["read_only"]:
        mount("", "/", flags=BIND | REMOUNT | RDONLY)


def drop(spec):
    """Drops all capabilities except the named ones."""
    set_no_new_privileges, drop_from_bounding_set = 38, 24
    for capability in range(64):
        if capability not in spec["capabilities"]:
            LIBC.prctl(drop_from_bounding_set, capability, 0, 0, 0)
    os.setgroups(spec["groups"])
    os.setresgid(*[spec["gid"]] * 3)
    os.setresuid(*[spec["uid"]] * 3)
    if not spec["escalation"]:
        LIBC.prctl(set_no_new_privileges, 1, 0, 0, 0)
    os.umask(0o022)
    # Python ignores these signals, and programs would inherit that.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)


def home(uid):
    """The home folder of a user in the image's /etc/passwd."""
    try:
        with open("/etc/passwd", encoding="utf-8") as passwd:
            for fields in (line.rstrip("\n").split(":") for line in passwd):
                if len(fields) == 7 and fields[2] == str(uid):
                    return fields[5]
    except OSError:
        pass
    return "/"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    checked("sethostname", spec["hostname"].encode(), len(spec["hostname"]))
    enter_root(spec)
    fill_root(spec)
    spec["env"].setdefault("HOME", home(spec["uid"]))
    drop(spec)
    os.chdir(spec["workdir"])
    try:
        os.execvpe(spec["command"][0], spec["command"], spec["env"])
    except OSError as error:
        sys.exit(f"cannot start {spec['command'][0]}: {error.strerror}")


main()
