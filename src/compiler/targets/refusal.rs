//! Fields that a target does not support: the problem code, and the refusals that several targets share.
//!
//! A field that is not refused is supported; `docs/targets.md` says what each target makes of it.

use crate::job::valid::LauncherKind;
use crate::job::{Case, key};
use crate::problem::{Problem, Span, codes};

codes! {
    /// The target does not support a field of the spec
    ///
    /// `--target` renders a job for an operator or another scheduler. If that has no equivalent for a field of the spec,
    /// khorovod refuses the field instead of dropping it. The hint names an alternative. Plain objects, which you get
    /// without `--target`, support every field.
    Error TARGET_CANNOT = "target-cannot";
}

/// The span of a refused field, if the spec sets it; the message; the hint.
pub type Refusal = (Option<Span>, String, &'static str);

/// Reports the refusals whose field the spec sets.
pub fn report(refusals: Vec<Refusal>, problems: &mut Vec<Problem>) {
    for (span, message, hint) in refusals {
        problems.extend(span.map(|span| Problem::new(&TARGET_CANNOT, span, message).hint(hint)));
    }
}

pub fn per_worker(case: &Case<'_>, target: &str) -> Refusal {
    let mut storage = case.body.storage.iter().flat_map(|at| &at.value);
    (
        storage.find_map(|entry| key(entry.per_worker.as_ref())),
        format!("{target} has no claim for each worker, so storage cannot be `perWorker`"),
        "use a shared `claim`, or `emptyDir` for what need not stay; or leave `--target` out",
    )
}

pub fn keep(case: &Case<'_>, target: &str) -> Refusal {
    let release = case.body.lifecycle.as_ref().and_then(|at| at.release.as_ref());
    (
        release.filter(|at| at.0).map(|at| at.span),
        format!("{target} ends its workers with the launcher, so `lifecycle.release` cannot be `keep`"),
        "remove `release`, leave `--target` out, or render to `mpijob`",
    )
}

/// torchrun counts with no more workers than there are anyway.
pub fn grows(case: &Case<'_>, target: &str) -> Refusal {
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
pub fn too_many(case: &Case<'_>, bytes: fn(usize, usize) -> usize, controller: &str) -> Refusal {
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
