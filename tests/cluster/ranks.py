"""The ranks of a test, which record their starts, signals and ends in a folder that all nodes share: tests/programs/record.py."""
import os
import re
from collections import namedtuple

from case import PROGRAMS, merge
from examples import volumes

Event = namedtuple("Event", "time launch host rank what")


def with_program(name):
    """The spec fields that make ranks run and record another program of tests/programs than sum.py."""
    with open(os.path.join(PROGRAMS, name)) as file:
        return {"command": ["python3", "/programs/record.py", f"/programs/{name}"], "code": {"files": {name: file.read()}}}


class Ranks:
    """A job of `size` ranks that run until `end`."""

    def __init__(self, case, size=2):
        self.case, self.size = case, size
        self.folder = os.path.join(os.environ["STATE"], "claims", f"{case.namespace}-0")
        volumes(case, 1, **{"size": "1Gi", "class": case.namespace, "mode": "ReadWriteMany"})

    def spec(self, over=None):
        """The spec fields that make ranks record, with further fields."""
        with open(os.path.join(PROGRAMS, "record.py")) as file:
            program = file.read()
        return merge({
            "command": ["python3", "/programs/record.py", "/programs/sum.py"],
            "code": {"files": {"record.py": program}},
            "env": {"RECORD": "/record", "SUM_UNTIL": "/record/end"},
            "storage": [{"name": "record", "mountPath": "/record", "claim": {
                "size": "1Gi", "storageClassName": self.case.namespace, "accessModes": ["ReadWriteMany"]}}],
            # The default of khorovod.
            "lifecycle": {"retries": 3},
        }, over or {})

    def path(self, name):
        return os.path.join(self.folder, name)

    def events(self, what=None):
        """All events, or those that match a pattern."""
        if not os.path.exists(self.path("events")):
            return []
        with open(self.path("events")) as file:
            words = [line.rstrip("\n").split(" ", 4) for line in file if line.endswith("\n")]
        found = [Event(float(time), launch, host, int(rank), said) for time, launch, host, rank, said in words]
        return [event for event in found if what is None or re.fullmatch(what, event.what)]

    def launches(self):
        """The starts of ranks by launch, oldest launch first."""
        found = {}
        for event in self.events("start"):
            found.setdefault(event.launch, []).append(event)
        return list(found.values())

    def until_running(self, number, allowed):
        """Waits until all ranks of a launch have started, by its number from 1; returns their starts."""
        def look():
            starts = self.launches()[number - 1:number]
            return starts and len(starts[0]) == self.size and starts[0]
        return self.case.until(f"launch {number} of {self.size} ranks", look, allowed)

    def until_started(self, since, allowed):
        """Waits until each rank has started after a given time, under any launcher; returns these starts."""
        def look():
            last = {event.rank: event for event in self.events("start") if event.time > since}
            return len(last) == self.size and list(last.values())
        return self.case.until(f"{'another ' if since else ''}start of {self.size} ranks", look, allowed)

    def last_beat(self, launch=None, host=None):
        """The last time at which a process of a launch, or on a host, existed."""
        times = [os.stat(self.path(f"beats/{name}")).st_mtime for name in os.listdir(self.path("beats"))
                 if launch in (None, name.split(" ")[0]) and host in (None, name.split(" ")[1])]
        return max(times)

    def end(self, code=0):
        """Ends the ranks with an exit code."""
        with open(self.path("end.new"), "w") as file:
            file.write(str(code))
        os.rename(self.path("end.new"), self.path("end"))

    def do_not_end(self):
        """Lets the ranks of the next launch run."""
        os.remove(self.path("end"))
