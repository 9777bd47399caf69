//! What the target that is asked for cannot say.
//!
//! A field that is not refused here is carried: what each target makes of it stands in `docs/targets.md`.

use super::{Case, key};
use crate::job::valid::{Controller, Gang, LauncherKind, Target};
use crate::problem::{Problem, Span, codes};

codes! {
    /// The target cannot say what the spec asks for
    ///
    /// `--target` renders a job to what an operator or another scheduler takes. Where that has no word for a
    /// field of the spec, the field is refused rather than dropped. The hint says the way out; plain objects,
    /// without `--target`, can say everything.
    Error TARGET_CANNOT = "target-cannot";
}

/// A field that is given, what the target says of it, and the way out.
type Refusal = (Option<Span>, String, &'static str);

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let refusals = match case.spec.target {
        Target::Plain => return,
        Target::Slurm => return super::slurm::check(case, problems),
        Target::MpiJob => mpi_job(case),
        Target::JobSet => job_set(case),
        Target::TrainJob => train_job(case),
        Target::Volcano => volcano(case),
    };
    for (span, message, hint) in refusals {
        problems.extend(span.map(|span| Problem::new(&TARGET_CANNOT, span, message).hint(hint)));
    }
}

const ELSEWHERE: &str = "leave `--target` out, or render to `jobset`, `trainjob` or `volcano`";

fn mpi_job(case: &Case<'_>) -> Vec<Refusal> {
    let (body, spec) = (case.body, case.spec);
    let launcher = body.launcher.as_ref().and_then(|at| at.kind.as_ref());
    let workers = body.workers.as_ref();
    let controller = workers.and_then(|at| at.controller.as_ref()).filter(|at| at.0 == Controller::Job);
    let torchrun = spec.launcher.kind == LauncherKind::Torchrun;
    let secret = body.ssh.as_ref().and_then(|at| at.secret.as_ref());
    vec![
        (
            launcher.filter(|_| torchrun).map(|at| at.span),
            "an MPIJob starts ranks by MPI, not by torchrun".to_owned(),
            ELSEWHERE,
        ),
        (
            workers.and_then(|at| key(at.groups.as_ref())),
            "an MPIJob has workers of one kind, so no `workers.groups`".to_owned(),
            "give `replicas` and the fields of one group, leave `--target` out, or render to `jobset`, `trainjob` or `volcano`",
        ),
        (
            controller.filter(|_| !torchrun).map(|at| at.span),
            "an MPIJob always has a launcher beside its workers, so `workers.controller` cannot be `Job`".to_owned(),
            "remove `controller`",
        ),
        (
            key(secret),
            "the MPI Operator makes the ssh keys itself, so `ssh.secret` reaches nothing".to_owned(),
            "remove `secret`",
        ),
        per_worker(case, "an MPIJob"),
        // It lists every worker twice in one ConfigMap, by its full name.
        too_many(case, |host, name| 2 * (host + name + 40), "the MPI Operator"),
    ]
}

fn job_set(case: &Case<'_>) -> Vec<Refusal> {
    vec![per_worker(case, "a JobSet"), keep(case, "a JobSet"), grows(case, "a JobSet")]
}

fn train_job(case: &Case<'_>) -> Vec<Refusal> {
    let ttl = case.body.lifecycle.as_ref().and_then(|at| at.ttl_after_finished.as_ref());
    let stays = (
        key(ttl),
        "a TrainJob stays until somebody deletes it, so there is no `lifecycle.ttlAfterFinished`".to_owned(),
        "remove it, or render to `jobset`",
    );
    vec![per_worker(case, "a TrainJob"), keep(case, "a TrainJob"), grows(case, "a TrainJob"), stays]
}

fn volcano(case: &Case<'_>) -> Vec<Refusal> {
    let scheduling = case.body.scheduling.as_ref();
    let gang = scheduling.and_then(|at| at.gang.as_ref()).filter(|at| at.0 == Some(Gang::Coscheduling));
    let suspend = scheduling.and_then(|at| at.suspend.as_ref()).filter(|at| at.value);
    vec![
        per_worker(case, "a Volcano Job"),
        keep(case, "a Volcano Job"),
        (
            gang.map(|at| at.span),
            "a Volcano Job is a gang of Volcano's own scheduler, not of coscheduling".to_owned(),
            "remove `gang`: all pods of a Volcano Job start or none",
        ),
        (
            scheduling.and_then(|at| key(at.kueue.as_ref())),
            "Kueue does not know Volcano Jobs".to_owned(),
            "remove `kueue` and give Volcano's `queue`, leave `--target` out, or render to `jobset`",
        ),
        (
            key(suspend),
            "a Volcano Job cannot start suspended".to_owned(),
            "remove `suspend`, leave `--target` out, or render to `jobset`",
        ),
        // It lists every worker once in one ConfigMap.
        too_many(case, |host, name| host + name, "Volcano"),
    ]
}

fn per_worker(case: &Case<'_>, target: &str) -> Refusal {
    let mut storage = case.body.storage.iter().flat_map(|at| &at.value);
    (
        storage.find_map(|entry| key(entry.per_worker.as_ref())),
        format!("{target} has no claim for each worker, so storage cannot be `perWorker`"),
        "use a shared `claim`, or `emptyDir` for what need not stay; or leave `--target` out",
    )
}

fn keep(case: &Case<'_>, target: &str) -> Refusal {
    let release = case.body.lifecycle.as_ref().and_then(|at| at.release.as_ref());
    (
        release.filter(|at| at.0).map(|at| at.span),
        format!("{target} ends its workers with the launcher, so `lifecycle.release` cannot be `keep`"),
        "remove `release`, leave `--target` out, or render to `mpijob`",
    )
}

/// torchrun counts with no more workers than there are anyway.
fn grows(case: &Case<'_>, target: &str) -> Refusal {
    let most = case.body.elastic.as_ref().and_then(|at| at.max_workers.as_ref());
    let workers: u32 = case.spec.groups.iter().map(|group| group.replicas).fold(0, u32::saturating_add);
    let horovod = case.spec.launcher.kind == LauncherKind::Horovodrun;
    (
        most.filter(|at| horovod && at.0 > workers).map(|at| at.span),
        format!("{target} keeps the number of workers it starts with, {workers}; `elastic.maxWorkers` is above it"),
        "write the number of `workers.replicas`: workers that are lost still come back; or leave `--target` out, or \
         render to `mpijob` or `volcano`",
    )
}

/// A controller that lists all hosts in a ConfigMap, with so many bytes each, made of a pod's name and the Service's.
fn too_many(case: &Case<'_>, bytes: fn(usize, usize) -> usize, controller: &str) -> Refusal {
    const CONFIG_MAP: usize = 1 << 20;
    let stem = case.spec.name.len() + "-run123".len();
    let replicas = case.body.workers.as_ref().and_then(|at| at.replicas.as_ref());
    let workers: usize = case.spec.groups.iter().map(|group| group.replicas as usize).sum();
    let each = bytes(stem + "-worker-00000".len(), stem);
    let most = CONFIG_MAP / each;
    (
        replicas.filter(|_| workers > most).map(|at| at.span),
        format!("{controller} lists its workers in one ConfigMap, which has room for about {most} of this job"),
        "give fewer workers with more GPUs each, leave `--target` out, or render to `jobset`",
    )
}
