//! Rules about deadlines, finished Jobs, and the permissions of the launcher.

use super::Case;
use crate::job::types::format_duration;
use crate::job::types::spec::LauncherPod;
use crate::problem::{Problem, Span, codes};

codes! {
    /// `ttlAfterFinished` in a job that a GitOps controller applies
    ///
    /// With `ttlAfterFinished` Kubernetes deletes the finished Job. Argo CD or Flux then applies the missing Job again, and
    /// the training starts from the beginning. Remove the field if a GitOps controller manages the job.
    Warning TTL_UNDER_GITOPS = "ttl-under-gitops";

    /// The deadline is not longer than the wait for workers
    ///
    /// The job would reach its deadline while it waits, and fail without the names of the missing workers. Raise
    /// `lifecycle.deadline` or lower `lifecycle.startTimeout`.
    Warning DEADLINE_BEFORE_WAIT = "deadline-before-wait";

    /// More time for a checkpoint than a pod can get
    ///
    /// `lifecycle.checkpoint.gracePeriod` is at most `1h`. While the ranks save their checkpoint, a drain of the node waits,
    /// and the GPUs are not free for a newer run. Managed node pools stop waiting after an hour or less, and spot nodes after
    /// two minutes or less. Save checkpoints regularly, so that the last one needs little time.
    Error LONG_GRACE_PERIOD = "long-grace-period";

    /// A `lifecycle.stall.timeout` that is too short
    ///
    /// `lifecycle.stall.timeout` is at least `10s`, because the launcher looks for progress every five seconds. In practice it must
    /// be longer than every pause of a healthy training: the start, the first step, a validation, and a checkpoint.
    Error SHORT_STALL = "short-stall";

    /// A metric without the port of the metrics
    ///
    /// `lifecycle.stall.metric` is read from the port in `observability.metrics`. Without the port, the launcher would see no
    /// progress in any training. Set the port on which the ranks serve metrics.
    Error METRIC_WITHOUT_PORT = "metric-without-port";

    /// Your ServiceAccount must be allowed to scale the workers
    ///
    /// If you name a ServiceAccount, khorovod renders no Role. The account needs `get` on `statefulsets`, `get` and `patch`
    /// on `statefulsets/scale`, and `get` and `patch` on `jobs` in the namespace of the job. Without the permissions on
    /// `statefulsets/scale`, the launcher fails at its start with a message. Without those on `jobs`, it cannot end its own Job
    /// after a permanent failure. A launcher that replaces an evicted one then also starts its count of attempts and its time
    /// limit again. With `get` on `endpoints`, the launcher sends no DNS query for a worker that has no address yet.
    Warning OWN_ACCOUNT = "account-permissions";
}

/// The maximum of `lifecycle.checkpoint.gracePeriod`, in seconds.
const MAX_GRACE_PERIOD: u64 = 3_600;

/// The minimum of `lifecycle.stall.timeout`, in seconds.
const MIN_STALL: u64 = 10;

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["launcher.kind", "lifecycle.startTimeout", "launcher.runsIn", "scheduling"]) {
        return;
    }
    let spec = case.spec;
    let lifecycle = case.body.lifecycle.as_ref();
    if let (Some(ttl), Some((controller, span))) =
        (lifecycle.and_then(|at| at.ttl_after_finished.as_ref()), gitops(case))
    {
        let message = format!("{controller} would run the job again after `ttlAfterFinished` has deleted it");
        let problem = Problem::new(&TTL_UNDER_GITOPS, ttl.key, message);
        problems.push(problem.and(span, format!("{controller} manages the job")).hint("remove `ttlAfterFinished`"));
    }
    if let (Some(deadline), Some(at)) = (spec.lifecycle.deadline, lifecycle.and_then(|at| at.deadline.as_ref()))
        && deadline <= spec.lifecycle.start_timeout
        && spec.target.has_pods
    {
        let message = format!(
            "the deadline ({}) is not longer than the wait for workers ({})",
            format_duration(deadline),
            format_duration(spec.lifecycle.start_timeout)
        );
        let problem = Problem::new(&DEADLINE_BEFORE_WAIT, at.span, message);
        let shorter = format!("startTimeout: {}", format_duration((deadline / 2).max(1)));
        problems.push(match field!(case.lifecycle.start_timeout) {
            None => problem.hint(format!("add `{shorter}` under `lifecycle`, or raise the deadline")),
            Some(wait) => problem.and(wait.span, "the wait").hint(format!("write `{shorter}`, or raise the deadline")),
        });
    }
    let grace_period = field!(case.lifecycle.checkpoint.grace_period);
    if let Some(at) = grace_period.filter(|at| at.0 > MAX_GRACE_PERIOD) {
        let message = format!("`gracePeriod` is {}, more than `1h`", format_duration(at.0));
        let hint = "write `gracePeriod: 1h` or less, and save checkpoints regularly";
        problems.push(Problem::new(&LONG_GRACE_PERIOD, at.span, message).hint(hint).fix(at.span, "1h"));
    }
    let timeout = field!(case.lifecycle.stall).and_then(|stall| stall.timeout.as_ref());
    if let Some(at) = timeout.filter(|at| at.0 < MIN_STALL) {
        let message = format!("`timeout` is {}, less than `10s`", format_duration(at.0));
        let hint = "write the longest pause of a healthy training, with its start and its checkpoints, such as `20m`";
        problems.push(Problem::new(&SHORT_STALL, at.span, message).hint(hint).fix(at.span, "20m"));
    }
    let metric = field!(case.lifecycle.stall).and_then(|stall| stall.metric.as_ref());
    if let Some(at) = metric.filter(|_| spec.observability.metrics.is_none() && case.could_read(&["observability"])) {
        let message = "`lifecycle.stall.metric` needs `observability.metrics`, the port of the metrics";
        let hint = "add `observability: {metrics: {port: 9400}}` with the port on which the ranks serve metrics";
        problems.push(Problem::new(&METRIC_WITHOUT_PORT, at.key, message).hint(hint));
    }
    let account = field!(case.security.service_account_name);
    let scales = spec.target.own_workloads && spec.launcher.runs_in == LauncherPod::Own && !spec.lifecycle.keep_workers;
    if let Some(at) = account.filter(|_| scales) {
        let message = format!("the ServiceAccount `{}` must be allowed to scale the workers", at.0);
        problems.push(
            Problem::new(&OWN_ACCOUNT, at.span, message).hint(
                "allow it to `get` and `patch` `statefulsets/scale` and `jobs`, and to `get` `statefulsets` and `endpoints`; or remove the field",
            ),
        );
    }
}

/// The GitOps controller that manages the job, by its labels and annotations.
fn gitops(case: &Case<'_>) -> Option<(&'static str, Span)> {
    let metadata = case.job.metadata.as_ref()?;
    let labels = metadata.labels.iter().flat_map(|at| &at.0).map(|(key, _)| key);
    let annotations = metadata.annotations.iter().flat_map(|at| &at.0).map(|(key, _)| key);
    labels.chain(annotations).find_map(|key| match key.0.split_once('/') {
        Some(("argocd.argoproj.io", _)) => Some(("Argo CD", key.span)),
        Some((domain, _)) if domain.ends_with("toolkit.fluxcd.io") => Some(("Flux", key.span)),
        _ => None,
    })
}
