# Python runs this at its start, because khorovod puts its folder first in PYTHONPATH. On signal 60 the process prints the stacks of
# its threads into a file in memory, also while it is in C code. evidence.sh sends the signal and reads the file.
try:
    import faulthandler
    import os

    faulthandler.register(60, os.memfd_create("khorovod-stacks"), all_threads=True, chain=False)
except BaseException:
    pass


# The standard output of a rank may be a pipe or a file. Python then writes only full buffers, so that lines and the progress in them
# would come late.
try:
    import sys

    sys.stdout.reconfigure(line_buffering=True)
except BaseException:
    pass


try:
    import khorovod_frameworks
except BaseException:
    pass


# Runs the sitecustomize that Python would have found without this one.
def find_next():
    import importlib.machinery
    import importlib.util
    import os
    import sys

    own = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != own])
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        return lambda: spec.loader.exec_module(module)


try:
    run_next = find_next()
except BaseException:
    run_next = None
if run_next:
    run_next()
