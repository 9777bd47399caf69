//! Tables of fields that exclude each other, and of fields that have no effect without another field.
//!
//! Each row names the field to report, the other field, and what the user should do. To add a conflict, add a row.

use super::{Case, key};
use crate::job::types::spec::{Egress, Gang, HealthPolicy, LauncherKind, LauncherPod, PodSecurityLevel, Topology};
use crate::problem::{Code, Fix, Problem, Span, codes};
use crate::yaml;

codes! {
    /// Both a gang scheduler and Kueue
    ///
    /// Each would wait for the other: Kueue admits the pods only when the gang scheduler runs them, and the gang
    /// scheduler waits for all pods. Use one of them.
    Error TWO_QUEUES = "two-queues";

    /// Two of `spread`, `pack` and `topology`
    ///
    /// `spread` places the workers on different nodes; `pack` and `topology` place them close together. Use one of them.
    Error SPREAD_AND_PACK = "spread-and-pack";

    /// A user or group id under the Pod Security level `openshift`
    ///
    /// OpenShift assigns each namespace a range of ids and refuses all others. Remove the id, or use the level
    /// `restricted`.
    Error OPENSHIFT_IDS = "openshift-ids";

    /// An ssh or MPI setting for torchrun, JAX or TensorFlow
    ///
    /// The agents of these launchers connect over TCP and use neither ssh nor MPI. Remove the setting, or use another
    /// launcher.
    Error TORCHRUN_SSH = "torchrun-ssh";

    /// A program in place of torchrun, in a job that does not support it
    ///
    /// A program such as `ft_launcher` replaces torchrun, finds the other hosts by the rendezvous `c10d`, and restarts the ranks of all
    /// hosts by itself. Only an elastic job of torchrun works in this way. If the number of workers must not change, write it as both
    /// `minReplicas` and `maxReplicas`.
    Error LAUNCHER_PROGRAM = "launcher-program";

    /// An interactive launcher that is not a shell
    ///
    /// `interactive: true` keeps the launcher pod open for `kubectl exec`. Only `kind: shell` supports that.
    Error INTERACTIVE_KIND = "interactive-kind";

    /// Elastic training with a launcher that does not support it
    ///
    /// Only horovodrun and torchrun can lose and gain workers during training. MPI, the coordinator of JAX and `TF_CONFIG`
    /// have a fixed number of ranks. With them, a lost worker starts a new attempt with the same number.
    Error ELASTIC_LAUNCHER = "elastic-launcher";

    /// Elastic training with worker groups, spares, or ranks in the launcher pod
    ///
    /// Elastic workers come and go, so they must all be equal, and the launcher must not be one of them. An elastic job
    /// continues with the workers that are left, at least `minReplicas`, so it needs no spares.
    Error ELASTIC_WORKERS = "elastic-workers";

    /// A setting of `collective` that a variable in `env` overrides
    ///
    /// `env` takes precedence. Keep one of the two.
    Warning KNOB_TWICE = "overridden-by-env";

    /// A setting without effect
    ///
    /// The message names what the setting needs. Add that, or remove the setting.
    Warning NO_EFFECT = "no-effect";

    /// The pod of the launcher does not support what the spec asks for
    ///
    /// Worker groups, `spares`, `perWorker` storage, elastic Horovod and `keepWorkers: true` need `launcher.runsIn: ownPod`,
    /// in which a StatefulSet runs the workers. A gang, Kueue, `suspend`, torchrun, JAX and TensorFlow need `launcher.runsIn:
    /// firstWorker`, in which one Indexed Job runs all pods: a launcher that scales a StatefulSet would wait for pods that the queue never
    /// admits. `gang: native` has `firstWorker` by default, and also supports `ownPod`, except with `launcher.runsRanks`: the launcher
    /// starts before the gang, and would hold devices while the gang waits. With `security.apiAccess: false` the launcher cannot scale a
    /// StatefulSet.
    Error WRONG_LAUNCHER_POD = "wrong-launcher-pod";
}

/// The paths of the parts of the spec that a table depends on, and the function that returns the table's problems. The
/// table is skipped if one of the parts could not be read.
type Table = (&'static [&'static str], fn(&Case<'_>) -> Vec<Option<Problem>>);

const TABLES: &[Table] = &[
    (&[], excluding),
    (&["launcher.kind"], elastic),
    (&["launcher.kind", "workers"], program),
    (&["launcher.kind", "launcher.interactive"], interactive),
    (&[], overridden),
    (&["lifecycle"], stall_check),
    (&["launcher.kind", "launcher.interactive", "scheduling", "workers"], without_effect),
    (&["launcher.runsIn", "launcher.kind", "scheduling"], launcher_pod),
];

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    for (parts, table) in TABLES {
        if case.could_read(parts) {
            problems.extend(table(case).into_iter().flatten());
        }
    }
}

/// Reports a field that conflicts with another field. `at` is the place of the field, if the spec has it; otherwise
/// nothing is reported. `other` is the place of the other field, if the spec has it, and the label at that place.
fn conflict(
    code: &'static Code,
    at: Option<Span>,
    message: impl Into<String>,
    other: (Option<Span>, &str),
    hint: impl Into<String>,
) -> Option<Problem> {
    let problem = Problem::new(code, at?, message).hint(hint);
    Some(match other {
        (Some(span), label) => problem.and(span, label),
        (None, _) => problem,
    })
}

const NO_OTHER: (Option<Span>, &str) = (None, "");

/// Reports pairs of fields that exclude each other in every job.
fn excluding(case: &Case<'_>) -> Vec<Option<Problem>> {
    let spec = case.spec;
    let gang = key(field!(case.scheduling.gang)).filter(|_| spec.scheduling.gang.is_some());
    let kueue = key(field!(case.scheduling.local_queue));
    let near =
        key(field!(case.placement.topology)).filter(|_| spec.placement.topology.as_ref().is_some_and(Topology::places));
    let both = |code, at: Option<Span>, message, other: Option<Span>, label, hint| {
        conflict(code, at.filter(|_| other.is_some()), message, (other, label), hint)
    };
    let openshift = |at: Option<Span>, message, hint| {
        let excludes = spec.security.pod_security_level == PodSecurityLevel::OpenShift && spec.target.has_pods;
        conflict(&OPENSHIFT_IDS, at.filter(|_| excludes), message, NO_OTHER, hint)
    };
    // The pods that pass on downloads use one of the keys of ssh.
    let only_secret =
        spec.has_downloads() && case.body.ssh.as_ref().is_some_and(|ssh| ssh.port.is_none() && ssh.user.is_none());
    let agents = |at: Option<Span>, what, hint| {
        let given = field!(case.launcher.kind).map_or(case.top, |at| at.span);
        let kind = spec.launcher.kind;
        let label = format!("{} is chosen here", kind.name());
        let message = format!("{} does not use `{what}`", kind.name());
        conflict(&TORCHRUN_SSH, at.filter(|_| kind.has_agents()), message, (Some(given), &label), hint)
    };
    vec![
        both(
            &SPREAD_AND_PACK,
            key(field!(case.placement.pack)),
            "`pack` and `spread` exclude each other",
            key(field!(case.placement.spread)),
            "spread",
            "keep one of the two",
        ),
        both(
            &SPREAD_AND_PACK,
            near,
            "`topology` and `spread` exclude each other",
            key(field!(case.placement.spread)),
            "spread",
            "keep one of the two",
        ),
        both(
            &SPREAD_AND_PACK,
            near,
            "`topology` and `pack` exclude each other",
            key(field!(case.placement.pack)),
            "pack",
            "keep `topology`: its `preferred` is the same",
        ),
        both(
            &TWO_QUEUES,
            kueue,
            "`localQueue` and `gang` would wait for each other",
            gang,
            "the gang scheduler",
            "keep one of the two: Kueue also admits all pods or none",
        ),
        both(
            &TWO_QUEUES,
            field!(case.scheduling.suspend).filter(|at| !at.value).map(|at| at.span),
            "`localQueue` needs the job to start suspended",
            kueue,
            "Kueue",
            "remove `suspend`",
        ),
        openshift(
            key(field!(case.security.run_as_user)),
            "OpenShift assigns `runAsUser`",
            "remove `runAsUser`, or write `podSecurityLevel: restricted`",
        ),
        openshift(
            key(field!(case.security.fs_group)),
            "OpenShift assigns `fsGroup`",
            "remove `fsGroup`, or write `podSecurityLevel: restricted`",
        ),
        agents(key(field!(case.ssh)).filter(|_| !only_secret), "ssh", "remove `ssh`"),
        agents(key(field!(case.launcher.mpi)), "launcher.mpi", "remove `launcher.mpi`"),
    ]
}

/// Reports fields that elastic training excludes.
fn elastic(case: &Case<'_>) -> Vec<Option<Problem>> {
    let Some(elastic) = key(field!(case.workers.elastic)) else { return Vec::new() };
    let supported = matches!(case.spec.launcher.kind, LauncherKind::Horovodrun | LauncherKind::Torchrun);
    let kind = field!(case.launcher.kind).map(|at| at.span);
    let together = |at, what: &str, hint: &str| {
        let message = format!("{what} and `elastic` exclude each other");
        let other = (Some(elastic), "elastic training is requested here");
        conflict(&ELASTIC_WORKERS, at, message, other, hint)
    };
    vec![
        conflict(
            &ELASTIC_LAUNCHER,
            Some(elastic).filter(|_| !supported),
            "`elastic` needs `launcher: horovodrun` or `torchrun`",
            (kind, "this launcher is not elastic"),
            match case.spec.launcher.kind.starts_processes() {
                true => "remove `elastic`: a lost worker starts a new attempt with the same number of workers",
                false => "write `launcher: horovodrun`, or remove `elastic`",
            },
        ),
        together(key(field!(case.workers.groups)), "`workers.groups`", "remove one of the two"),
        together(
            key(field!(case.launcher.runs_ranks).filter(|at| at.value)),
            "`launcher.runsRanks`",
            "remove one of the two",
        ),
        together(spares(case), "`workers.spares`", "remove `spares`, and raise `maxReplicas`"),
    ]
}

/// The place of the first field that asks for spares.
pub fn spares(case: &Case<'_>) -> Option<Span> {
    let workers = case.body.workers.as_ref()?;
    let groups = workers.groups.iter().flat_map(|at| &at.value).map(|group| group.spares.as_ref());
    [workers.spares.as_ref()].into_iter().chain(groups).flatten().find(|at| at.0 > 0).map(|at| at.key)
}

/// Reports a program in place of torchrun, in a job that does not support it.
fn program(case: &Case<'_>) -> Vec<Option<Problem>> {
    let spec = case.spec;
    let kind = spec.launcher.kind;
    let (message, hint) = match (kind, &spec.elastic) {
        (LauncherKind::Torchrun, Some(_)) => return Vec::new(),
        (LauncherKind::Torchrun, None) => {
            let workers: u32 = spec.groups.iter().map(|group| group.replicas).sum();
            (
                "`launcher.program` needs `workers.elastic`, in which the program restarts the ranks".to_owned(),
                format!("add `elastic: {{minReplicas: {workers}, maxReplicas: {workers}}}` to `workers`"),
            )
        }
        _ => (
            format!("`launcher.program` replaces torchrun, and the launcher is `{}`", kind.name()),
            "write `kind: torchrun`, or remove `program`".to_owned(),
        ),
    };
    vec![conflict(&LAUNCHER_PROGRAM, key(field!(case.launcher.program)), message, NO_OTHER, hint)]
}

/// Reports an interactive launcher that is not a shell.
fn interactive(case: &Case<'_>) -> Vec<Option<Problem>> {
    let launcher = &case.spec.launcher;
    let given = field!(case.launcher.interactive).map_or(case.top, |at| at.span);
    let is_shell = launcher.kind == LauncherKind::Shell;
    let command = key(case.body.command.as_ref());
    vec![
        conflict(
            &INTERACTIVE_KIND,
            Some(given).filter(|_| launcher.interactive && !is_shell),
            "`launcher.interactive` needs the launcher `shell`",
            NO_OTHER,
            "write `kind: shell`, or remove `interactive`",
        ),
        conflict(
            &NO_EFFECT,
            Some(given).filter(|_| launcher.interactive && is_shell && command.is_some()),
            "`launcher.interactive` has no effect with a `command`: the launcher runs the command and ends",
            (command, "the command"),
            "remove one of the two",
        )
        .map(|problem| Problem {
            fix: key(field!(case.launcher.interactive)).and_then(|at| removed(case, at)),
            other_fix: command.and_then(|at| removed(case, at)),
            ..problem.by_choice()
        }),
    ]
}

/// Reports settings of `collective` that variables of `env` override.
fn overridden(case: &Case<'_>) -> Vec<Option<Problem>> {
    let Some(collective) = &case.body.collective else { return Vec::new() };
    let pairs = [
        ("ncclDebug", key(collective.nccl_debug.as_ref()), "NCCL_DEBUG"),
        ("interface", key(collective.interface.as_ref()), "NCCL_SOCKET_IFNAME"),
        ("infiniband", key(collective.infiniband.as_ref()), "NCCL_IB_DISABLE"),
        ("fusionThreshold", key(collective.fusion_threshold.as_ref()), "HOROVOD_FUSION_THRESHOLD"),
        ("cycleTime", key(collective.cycle_time.as_ref()), "HOROVOD_CYCLE_TIME"),
        ("autotune", key(collective.autotune.as_ref()), "HOROVOD_AUTOTUNE"),
        ("hierarchicalAllreduce", key(collective.hierarchical_allreduce.as_ref()), "HOROVOD_HIERARCHICAL_ALLREDUCE"),
        ("timeline", key(collective.timeline.as_ref()), "HOROVOD_TIMELINE"),
    ];
    let row = |(field, at, variable): (&str, Option<Span>, &str)| {
        let (name, _) = case.env().find(|(name, _)| name.0 == variable)?;
        let message = format!("`env.{variable}` overrides `collective.{field}`");
        conflict(&KNOB_TWICE, at, message, (Some(name.span), "takes precedence"), "keep one of the two")
    };
    pairs.into_iter().map(row).collect()
}

/// Reports limits of Horovod's own check for stalls in a job for which khorovod disables this check.
fn stall_check(case: &Case<'_>) -> Vec<Option<Problem>> {
    let Some(stall) = field!(case.lifecycle.stall).filter(|_| case.spec.disables_stall_check()) else {
        return Vec::new();
    };
    let value = |name: &str| case.env().find(|(own, _)| own.0 == name).map(|(own, _)| own.span);
    if value("HOROVOD_STALL_CHECK_DISABLE").is_some() {
        return Vec::new();
    }
    let row = |name: &str| {
        let problem = Problem::new(&NO_EFFECT, value(name)?, format!("`{name}` has no effect with `lifecycle.stall`"));
        let problem = problem.and(stall.key, "khorovod sets `HOROVOD_STALL_CHECK_DISABLE=1` because of this");
        Some(problem.hint(format!(
            "remove `{name}`, or set `lifecycle.stall.file` or `metric`: then khorovod leaves the check on"
        )))
    };
    ["HOROVOD_STALL_CHECK_TIME_SECONDS", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"].into_iter().map(row).collect()
}

/// The edit that removes the field of `spec` whose key is at `key`, and the map that contains only this field.
fn removed(case: &Case<'_>, key: Span) -> Option<Fix> {
    let text = case.texts.around(key);
    let (mut here, mut span) = (case.document.get("spec")?, None);
    loop {
        let entries = here.entries();
        let index = entries.iter().position(|entry| entry.key_span == key || key.within(entry.value.span))?;
        // An overlay may set other fields of the map.
        let is_own = entries.iter().all(|entry| entry.key_span.source == key.source);
        if entries.len() > 1 {
            span = yaml::removal(text, 0, entries, index);
        }
        span = span.filter(|_| is_own);
        if entries[index].key_span == key {
            return span.map(|span| Fix { span, text: String::new() });
        }
        here = &entries[index].value;
    }
}

/// Reports fields that have no effect without another field.
fn without_effect(case: &Case<'_>) -> Vec<Option<Problem>> {
    let spec = case.spec;
    let kind = spec.launcher.kind;
    let has_gpus = spec.groups.iter().any(|group| group.gpus > 0);
    let is_separate = spec.launcher.runs_in == LauncherPod::Own;
    let own_pod = "a launcher pod, which a job with `launcher.runsIn: firstWorker` does not have";
    let has_resources = is_separate && !spec.launcher.runs_ranks;
    let own_resources = match is_separate {
        true => "a launcher pod without ranks: a launcher pod with ranks has the resources of a worker",
        false => own_pod,
    };
    // Whether the pods may change the Job of their run. `Plan::own_job` has the same condition.
    let may_end = spec.target.own_workloads && spec.security.api_access && !spec.lifecycle.keep_workers;
    // Whether the workers run `guard.sh`, which releases them if no launcher runs.
    let watches = may_end && !kind.has_agents() && spec.security.worker_account.is_none();
    let is_queued = spec.scheduling.local_queue.is_some() || !spec.target.has_pods;
    let has_queue = spec.scheduling.gang == Some(Gang::Volcano) || spec.target.is_gang;
    let prefixes = !matches!(kind, LauncherKind::Horovodrun | LauncherKind::Shell);
    let has_policy = spec.security.network_policy || !spec.target.has_pods;
    let has_command = case.body.command.is_some() || !case.could_read(&["command"]);
    let row = |at: Option<Span>, path: &str, has_effect: bool, needs: &str| {
        let at = at.filter(|_| !has_effect)?;
        let hint = format!("remove `{}`", path.rsplit('.').next().unwrap_or(path));
        let problem = Problem::new(&NO_EFFECT, at, format!("`{path}` has no effect without {needs}")).hint(hint);
        // The other field may be what is missing, so a person must choose to remove this one.
        Some(Problem { fix: removed(case, at), ..problem.by_choice() })
    };
    let horovod = |at: Option<Span>, field: &str| {
        let needs = "Horovod, which torchrun, jax and tensorflow do not start";
        row(at, &format!("collective.{field}"), !kind.has_agents(), needs)
    };
    vec![
        row(
            key(field!(case.lifecycle.retries_without_progress)),
            "lifecycle.retriesWithoutProgress",
            spec.observability.progress.is_some() || !spec.target.has_pods,
            "`observability.progress`, which finds the step of the training",
        ),
        row(
            key(field!(case.launcher.idle_timeout)),
            "launcher.idleTimeout",
            spec.launcher.interactive,
            "`launcher.interactive: true`",
        ),
        row(
            key(field!(case.launcher.args)),
            "launcher.args",
            kind.takes_args(),
            "mpirun, horovodrun, torchrun or deepspeed: no other launcher has options",
        ),
        row(
            key(field!(case.launcher.lost_timeout)),
            "launcher.lostTimeout",
            watches || !spec.target.has_pods,
            "workers that can release their GPUs: this needs ssh, `security.apiAccess`, and neither `lifecycle.keepWorkers` \
             nor `workers.serviceAccountName`",
        ),
        row(
            key(field!(case.lifecycle.final_exit_codes)),
            "lifecycle.finalExitCodes",
            !kind.has_agents(),
            "mpirun, horovodrun, deepspeed or shell: the agents of the others do not pass on the exit codes of their ranks",
        ),
        row(key(field!(case.launcher.image)), "launcher.image", is_separate, own_pod),
        row(key(field!(case.launcher.cpu)), "launcher.cpu", has_resources, own_resources),
        row(key(field!(case.launcher.memory)), "launcher.memory", has_resources, own_resources),
        row(
            key(field!(case.placement.topology.rank_order)),
            "placement.topology.rankOrder",
            !kind.has_agents() && spec.elastic.is_none() || !spec.target.has_pods,
            "ssh and a fixed number of workers: with torchrun, jax and tensorflow the index of a pod decides its ranks, and in an \
             elastic job of Horovod the order in which the workers join",
        ),
        row(
            key(field!(case.scheduling.volcano_queue)),
            "scheduling.volcanoQueue",
            has_queue,
            "`scheduling.gang: volcano`; for Kueue use `localQueue`",
        ),
        row(
            key(field!(case.scheduling.workload_priority_class_name)),
            "scheduling.workloadPriorityClassName",
            is_queued,
            "Kueue: add `scheduling.localQueue`, or write `placement.priorityClassName` for the priority of pods",
        ),
        row(
            key(field!(case.scheduling.partial_admission).filter(|at| at.value)),
            "scheduling.partialAdmission",
            is_queued && spec.admits_part() || !spec.target.has_pods,
            "a job that Kueue may make smaller: it needs `scheduling.localQueue`, `workers.elastic` with `minReplicas` below `replicas`, and \
             the target `plain`, because Kueue reduces only the Jobs of Kubernetes",
        ),
        row(key(field!(case.workers.gpu_resource)), "workers.gpuResource", has_gpus, "`gpus`"),
        row(
            key(field!(case.workers.health_check.command)),
            "workers.healthCheck.command",
            spec.health_check.policy != HealthPolicy::Never,
            "`policy: Always` or `policy: OnFailure`",
        ),
        row(
            key(field!(case.workers.health_check.timeout)),
            "workers.healthCheck.timeout",
            field!(case.workers.health_check.command).is_some(),
            "a `command`",
        ),
        row(
            key(field!(case.workers.elastic.cooldown)),
            "workers.elastic.cooldown",
            kind != LauncherKind::Torchrun,
            "horovodrun: torchrun excludes no hosts",
        ),
        row(
            key(field!(case.workers.elastic.reset_limit)),
            "workers.elastic.resetLimit",
            kind != LauncherKind::Torchrun,
            "horovodrun: torchrun does not count how often workers come and go",
        ),
        row(
            key(field!(case.collective.infiniband)),
            "collective.infiniband",
            has_gpus,
            "GPUs: it is a setting of NCCL",
        ),
        horovod(key(field!(case.collective.fusion_threshold)), "fusionThreshold"),
        horovod(key(field!(case.collective.cycle_time)), "cycleTime"),
        horovod(key(field!(case.collective.autotune)), "autotune"),
        horovod(key(field!(case.collective.hierarchical_allreduce)), "hierarchicalAllreduce"),
        horovod(key(field!(case.collective.timeline)), "timeline"),
        row(
            key(field!(case.observability.logs.rank_prefix).filter(|at| !at.value)),
            "observability.logs.rankPrefix",
            prefixes,
            "mpirun, torchrun, deepspeed, jax or tensorflow",
        ),
        row(key(field!(case.security.egress)), "security.egress", has_policy, "`security.networkPolicy: true`"),
        row(
            key(field!(case.security.egress_to)),
            "security.egressTo",
            has_policy && matches!(spec.security.egress, Egress::Private | Egress::Listed) || !spec.target.has_pods,
            "`egress: listed` or `egress: private`",
        ),
        row(
            key(field!(case.observability.metrics.from)),
            "observability.metrics.from",
            has_policy,
            "`security.networkPolicy: true`",
        ),
        row(key(field!(case.args)), "args", has_command, "a `command`"),
        row(
            key(field!(case.lifecycle.stall)),
            "lifecycle.stall",
            !spec.launcher.interactive,
            "a training that the launcher starts: in an interactive launcher, you start it yourself",
        ),
        row(
            key(field!(case.lifecycle.stall)),
            "lifecycle.stall",
            match (&spec.lifecycle.stall, spec.lifecycle.deadline) {
                (Some(stall), Some(deadline)) => stall.timeout < deadline,
                _ => true,
            },
            "a `deadline` that is longer than its `timeout`: the deadline ends the run first",
        ),
        row(
            key(field!(case.observability.progress)),
            "observability.progress",
            !spec.launcher.interactive,
            "a training that the launcher starts: in an interactive launcher, you start it yourself",
        ),
        row(
            key(field!(case.observability.progress)).filter(|_| !spec.launcher.interactive),
            "observability.progress",
            may_end || spec.observability.launcher_metrics.is_some() || !spec.target.has_pods,
            "a place for the progress: set `observability.launcherMetrics`, or let the launcher write it to its Job, with \
             `security.apiAccess: true`, without `lifecycle.keepWorkers`, and for the target `plain`",
        ),
        row(
            key(field!(case.observability.events).filter(|at| at.value)),
            "observability.events",
            may_end || !spec.target.has_pods,
            "a launcher that may use the API server: with `security.apiAccess: true`, without `lifecycle.keepWorkers`, \
             and for the target `plain`",
        ),
        row(
            key(field!(case.observability.launcher_metrics.from)),
            "observability.launcherMetrics.from",
            has_policy,
            "`security.networkPolicy: true`",
        ),
    ]
}

/// Reports fields that conflict with the pod in which the launcher runs.
fn launcher_pod(case: &Case<'_>) -> Vec<Option<Problem>> {
    let spec = case.spec;
    let Some(workers) = &case.body.workers else { return Vec::new() };
    let has_agents = spec.launcher.kind.has_agents();
    let given = field!(case.launcher.runs_in).map(|at| at.span);
    let queued = [
        ("scheduling.gang", spec.scheduling.gang.and(key(field!(case.scheduling.gang)))),
        ("scheduling.localQueue", key(field!(case.scheduling.local_queue))),
        ("scheduling.suspend", key(field!(case.scheduling.suspend).filter(|_| spec.scheduling.suspend))),
    ];
    let is_native = spec.scheduling.gang == Some(Gang::Native);
    if spec.launcher.runs_in == LauncherPod::Own {
        let wrong = |at, message: &str, other| {
            conflict(&WRONG_LAUNCHER_POD, at, message, other, "write `runsIn: firstWorker`, or leave it out")
        };
        // Some targets describe the launcher and the workers in one object. A queue then admits all pods together.
        // A gang of Kubernetes contains only the workers, so the launcher starts and scales them.
        let queued = queued.into_iter().filter(|(what, _)| !(is_native && *what == "scheduling.gang"));
        let queued = queued.filter(|_| spec.target.own_workloads).map(|(what, span)| {
            let message = format!(
                "`{what}` needs `launcher.runsIn: firstWorker`: a launcher that scales StatefulSets would wait for the queue without end"
            );
            wrong(span.map(|span| given.unwrap_or(span)), &message, (span, "requested here"))
        });
        let at = has_agents.then_some(given.unwrap_or(workers.key));
        let message = format!("{} needs `launcher.runsIn: firstWorker`", spec.launcher.kind.name());
        let agents = wrong(at, &message, NO_OTHER);
        let access = field!(case.security.api_access).filter(|at| !at.value);
        let access = conflict(
            &WRONG_LAUNCHER_POD,
            key(access.filter(|_| spec.target.own_workloads && !spec.lifecycle.keep_workers)),
            "`security.apiAccess: false` needs `launcher.runsIn: firstWorker`: the launcher may not scale a StatefulSet",
            (given, "`ownPod` is requested here"),
            "write `runsIn: firstWorker`, or leave it out; or set `lifecycle.keepWorkers: true`, and delete the workers yourself",
        );
        let ranks = conflict(
            &WRONG_LAUNCHER_POD,
            key(field!(case.launcher.runs_ranks).filter(|at| at.value && is_native)),
            "`launcher.runsRanks` does not go with `scheduling.gang: native`: the launcher starts before the gang, and would hold \
             the devices of its ranks while the gang waits",
            (key(field!(case.scheduling.gang)), "the gang"),
            "remove `runsRanks`, or write `runsIn: firstWorker` instead",
        );
        return queued.chain([agents, access, ranks]).collect();
    }
    let kind = field!(case.launcher.kind).map(|at| at.span);
    let why = given.or_else(|| queued.iter().find_map(|(_, span)| *span)).or(kind);
    let per_worker = case.storage().find_map(|at| at.per_worker.as_ref());
    let no_spares = match spec.launcher.kind {
        LauncherKind::Torchrun => {
            "Kubernetes replaces a lost worker about 80 seconds after its node has failed; with `workers.elastic`, torchrun \
             starts the ranks again on the others when it notices the loss"
        }
        _ => "Kubernetes replaces a lost worker about 80 seconds after its node has failed, and the others wait for it",
    };
    let rows = [
        ("`workers.groups` needs", key(workers.groups.as_ref()), "the workers of an Indexed Job are all equal"),
        (
            "`workers.spares` needs",
            spares(case).filter(|_| workers.groups.is_none() && workers.elastic.is_none()),
            no_spares,
        ),
        ("storage with `perWorker` needs", key(per_worker), "an Indexed Job creates no claims"),
        (
            "`workers.elastic` with Horovod needs",
            key(field!(case.workers.elastic).filter(|_| !has_agents)),
            "the launcher ends with the first worker",
        ),
        (
            "`workers.serviceAccountName` needs",
            key(workers.service_account_name.as_ref()),
            "all pods have one template, and the account of the launcher: `security.serviceAccountName`",
        ),
        (
            "`lifecycle.keepWorkers` needs",
            key(field!(case.lifecycle.keep_workers).filter(|at| at.value)),
            "Kubernetes ends all pods when the first worker ends",
        ),
        (
            "`launcher.runsRanks` is only for",
            key(field!(case.launcher.runs_ranks).filter(|at| at.value)),
            "the launcher already runs in a worker",
        ),
    ];
    let row = |(what, at, reason): (&str, Option<Span>, &str)| {
        let follows_from_gang =
            is_native && given.is_none() && !spec.scheduling.suspend && spec.scheduling.local_queue.is_none();
        let way_out = if has_agents {
            "remove it, or use mpirun, horovodrun, deepspeed or shell"
        } else if follows_from_gang && what != "`launcher.runsRanks` is only for" {
            "write `runsIn: ownPod` in `launcher`"
        } else {
            "remove one of the two"
        };
        conflict(
            &WRONG_LAUNCHER_POD,
            at,
            format!("{what} `launcher.runsIn: ownPod`, and this job has `firstWorker`"),
            (why, "`firstWorker` follows from this"),
            format!("{way_out}: with `firstWorker`, {reason}"),
        )
    };
    rows.into_iter().map(row).collect()
}
