"""However a run ends, the scheduler counts no device for it five seconds later, in both shapes."""
import re
import time

from case import SHAPES, Play, job, merge, seconds


def success(case, shape):
    case.apply(case.render(job(seconds=2, spec=shape)))
    case.equal("the end", case.finished(90), "Complete")
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    case.freed_after(case.ranks_end())


def failure(case, shape):
    case.apply(case.render(job(seconds=2, code=7, spec=shape)))
    case.equal("the end", case.finished(90), "Failed")
    case.equal("the launcher's code", case.code(case.launcher()), 42)
    case.check("the training's code in the log", re.search("training ended with code 7", case.log()))
    case.freed_after(case.ranks_end())


def deadline(case, shape):
    # Without the API, index 0 of an Indexed Job may look up the other pod too early, and DNS caches for 30 s that it has no address.
    allowed = 55 if shape else 25
    case.apply(case.render(job(seconds=600, spec=merge(shape, {"lifecycle": {"deadline": f"{allowed}s"}}))))
    case.equal("the end", case.finished(90), "Failed")
    start = case.jobs()[0]["status"]["startTime"]
    case.equal("the launcher's code", case.code(case.launcher()), 44)
    case.check("ranks ran", "launching: " in case.log())
    # The launcher checks every five seconds, and MPI needs time to end its ranks.
    case.freed_after(seconds(start) + allowed, 10)
    case.check("the deadline was waited for", case.freed() >= seconds(start) + allowed)


def deletion(case, shape):
    case.apply(case.render(job(seconds=600, spec=shape)))
    case.wait_for_line("launching: ", 60)
    time.sleep(2)
    case.equal("devices in use", sum(case.held.values()), 8)
    began = time.time()
    case.delete("sum")
    case.freed_after(began)
    case.until("end of all pods", lambda: not case.pods(), 130)
    case.equal("left", case.objects(), [])


def both(act):
    return [Play(f"free-after-{act.__name__}-{name}", lambda case, act=act, shape=shape: act(case, shape))
            for name, shape in SHAPES.items()]


def plays():
    return [play for act in (success, failure, deadline, deletion) for play in both(act)]
