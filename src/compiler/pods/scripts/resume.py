# The launcher puts this before PATH's horovodrun in an elastic job. Horovod 0.28 does not start a failed rank again if its host returns
# before there are enough hosts without it: the driver counts the rank as running, and the others wait for it without end.
import os
import runpy
import sys


def correct_driver():
    from horovod.runner.elastic.driver import ElasticDriver
    from horovod.runner.elastic.registration import FAILURE

    resume, notify = ElasticDriver.resume, ElasticDriver._notify_workers_host_changes

    # Horovod ends all ranks of a host of which one failed. discover.sh lists this host again once it answers.
    def resume_without_failed(driver):
        os.makedirs("/horovod/generated/failed", exist_ok=True)
        for host, _ in list(driver._worker_registry.get(FAILURE)):
            driver._host_assignments.pop(host, None)
            open("/horovod/generated/failed/" + host, "w").close()
        resume(driver)

    # Otherwise Horovod looks for no hosts while it tries to reach rank 0 on a lost host.
    def notify_first_rank(driver, hosts, change):
        first = driver.get_coordinator_info()
        if first and first.hostname in hosts.host_slots:
            notify(driver, hosts, change)

    ElasticDriver.resume, ElasticDriver._notify_workers_host_changes = resume_without_failed, notify_first_rank


if __name__ == "__main__":
    program = os.path.realpath("/horovod/generated/real-horovodrun")
    sys.argv[0], sys.path[0] = program, os.path.dirname(program)
    try:
        correct_driver()
    except Exception as error:
        print("khorovod: Horovod may not continue after a failure, because its driver could not be corrected:", error, file=sys.stderr, flush=True)
    runpy.run_path(program, run_name="__main__")
