//! Fields that a target does not support: the problem code, and the refusals that several targets share.
//!
//! A field that is not refused is supported. `docs/targets.md` describes the effect of each field per target.

use crate::job::target::Exception;
use crate::job::valid::{Gang, LauncherKind, LauncherPod};
use crate::job::{Case, field, key, spares};
use crate::problem::{Problem, Span, codes};

codes! {
    /// The target does not support a field of the spec
    ///
    /// `--target` renders a job for an operator or another scheduler. If the target has no equivalent for a field of the spec, and
    /// the training would be different without the field, khorovod refuses the field. The hint names an alternative. Fields that
    /// have no effect under Slurm are not refused but reported: see `slurm-ignores`. Plain objects, which you get without
    /// `--target`, support every field.
    Error TARGET_CANNOT = "target-cannot";
}

/// The exceptions of targets whose objects an operator of Kubernetes turns into pods.
pub const WORKER_CLAIMS: Exception = Exception::refused("storage.perWorker", "");
pub const KEEP_WORKERS: Exception = Exception::refused("lifecycle.keepWorkers", "if true");
pub const SPARES: Exception = Exception::refused("workers.spares", "if above 0");
pub const NATIVE_GANG: Exception = Exception::refused("scheduling.gang", "if `native`");
pub const GROWTH: Exception =
    Exception::refused("workers.elastic.maxReplicas", "if above `replicas`, with the launcher horovodrun");
pub const RANK_ORDER: Exception =
    Exception::refused("placement.topology.rankOrder", "with levels other than `zone` and `region`");
pub const LOST_TIMEOUT: Exception = Exception::ignored("launcher.lostTimeout");

/// The span of a refused field, if the spec sets it; the message; the hint.
pub type Refusal = (Option<Span>, String, &'static str);

/// Reports the refusals whose field the spec sets.
pub fn report(refusals: Vec<Refusal>, problems: &mut Vec<Problem>) {
    for (span, message, hint) in refusals {
        problems.extend(span.map(|span| Problem::new(&TARGET_CANNOT, span, message).hint(hint)));
    }
}

/// Refuses storage with one claim per worker, for targets that cannot create such claims.
pub fn refuse_worker_claims(case: &Case<'_>, target: &str) -> Refusal {
    let mut storage = case.storage();
    (
        storage.find_map(|entry| key(entry.per_worker.as_ref())),
        format!("{target} cannot create one claim per worker, so storage cannot be `perWorker`"),
        "use a shared `claim`, use `emptyDir` if the data need not remain, or leave `--target` out",
    )
}

/// Refuses `lifecycle.keepWorkers`, for targets that always stop the workers with the launcher.
pub fn refuse_keep_workers(case: &Case<'_>, target: &str) -> Refusal {
    let keeps = field!(case.lifecycle.keep_workers);
    (
        keeps.filter(|at| at.value).map(|at| at.span),
        format!("{target} stops its workers when the launcher ends, so `lifecycle.keepWorkers` cannot be true"),
        "remove `keepWorkers`, leave `--target` out, or render to `mpijob`",
    )
}

/// Refuses `workers.spares`, for targets whose launcher cannot replace a worker.
pub fn refuse_spares(case: &Case<'_>, target: &str) -> Refusal {
    (
        spares(case).filter(|_| case.spec.launcher.runs_in == LauncherPod::Own && case.spec.elastic.is_none()),
        format!("{target} has no workers beside those that run ranks, so `workers.spares` cannot be set"),
        "remove `spares`, or leave `--target` out",
    )
}

/// Refuses `gang: native`, for targets whose controllers do not pass on the field that puts a pod into a PodGroup of Kubernetes.
pub fn refuse_native_gang(case: &Case<'_>, target: &str) -> Refusal {
    let gang = field!(case.scheduling.gang).filter(|at| at.0 == Some(Gang::Native));
    (
        gang.map(|at| at.span),
        format!("{target} does not put pods into a PodGroup of Kubernetes, so `scheduling.gang` cannot be `native`"),
        "leave `--target` out, or write another `gang`",
    )
}

/// Refuses an elastic job with horovodrun that may grow, for targets that cannot add workers.
pub fn refuse_growth(case: &Case<'_>, target: &str) -> Refusal {
    let most = field!(case.workers.elastic.max_replicas);
    let workers: u32 = case.spec.groups.iter().map(|group| group.replicas).fold(0, u32::saturating_add);
    let is_horovod = case.spec.launcher.kind == LauncherKind::Horovodrun;
    (
        most.filter(|at| is_horovod && at.0 > workers).map(|at| at.span),
        format!(
            "{target} cannot have more than the {workers} workers that it starts with, so `workers.elastic.maxReplicas` cannot be greater"
        ),
        "set it to `workers.replicas` (lost workers are still replaced), leave `--target` out, or render to `mpijob` or \
         `volcano`",
    )
}

/// Refuses more workers than a controller can list in one ConfigMap. `bytes` returns the size of one entry; its arguments are the
/// lengths of the name of a worker pod and of the name of the Service.
pub fn refuse_too_many_workers(case: &Case<'_>, bytes: fn(usize, usize) -> usize, controller: &str) -> Refusal {
    const CONFIG_MAP_LIMIT: usize = 1 << 20;
    let stem = case.spec.name.len() + "-run123".len();
    let replicas = field!(case.workers.replicas);
    let workers: usize = case.spec.groups.iter().map(|group| group.replicas as usize).sum();
    let entry = bytes(stem + "-worker-00000".len(), stem);
    let most = CONFIG_MAP_LIMIT / entry;
    (
        replicas.filter(|_| workers > most).map(|at| at.span),
        format!(
            "{controller} lists its workers in one ConfigMap, which has space for about {most} workers of this job"
        ),
        "use fewer workers with more GPUs each, leave `--target` out, or render to `jobset`",
    )
}
