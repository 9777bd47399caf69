//! Fields that exclude each other, or have no effect without another, as tables.
//!
//! A row names the field to report, the field that excludes it, and what to do. A new conflict is one more row.

use std::borrow::Cow;

use super::{Case, key};
use crate::job::declare::{Elastic, Launcher, Observability, Placement, Scheduling, Security};
use crate::job::types::spec::{Controller, Gang, LauncherKind, Profile};
use crate::problem::{Code, Problem, Span, codes};

codes! {
    /// Both a gang scheduler and Kueue
    ///
    /// Each would wait for the other: Kueue admits the pods only when the gang scheduler runs them, and the gang
    /// scheduler waits for all pods. Use one of them.
    Error TWO_QUEUES = "two-queues";

    /// Both `spread` and `pack`
    ///
    /// `spread` places the workers on different nodes, `pack` places them close together. Use one of them.
    Error SPREAD_AND_PACK = "spread-and-pack";

    /// A user or group id under the profile `openshift`
    ///
    /// OpenShift assigns each namespace a range of ids and refuses all others. Remove the id, or use the profile
    /// `restricted`.
    Error OPENSHIFT_IDS = "openshift-ids";

    /// An ssh or MPI setting for torchrun
    ///
    /// The agents of torchrun connect over TCP and use neither ssh nor MPI. Remove the setting, or use another launcher.
    Error TORCHRUN_SSH = "torchrun-ssh";

    /// An interactive launcher that is not a shell
    ///
    /// `interactive: true` keeps the launcher pod open for `kubectl exec`. Only `kind: shell` supports that.
    Error INTERACTIVE_KIND = "interactive-kind";

    /// Elastic training with a launcher that does not support it
    ///
    /// Only horovodrun and torchrun can lose and gain workers during training.
    Error ELASTIC_LAUNCHER = "elastic-launcher";

    /// Elastic training with worker groups, spares, or ranks in the launcher pod
    ///
    /// Elastic workers come and go, so they must all be equal, and the launcher must not be one of them. An elastic job
    /// continues with fewer workers, up to `maxWorkers`, so it needs no spares.
    Error ELASTIC_WORKERS = "elastic-workers";

    /// A setting of `collective` that a variable in `env` overrides
    ///
    /// `env` takes precedence. Keep one of the two.
    Warning KNOB_TWICE = "knob-twice";

    /// A setting without effect
    ///
    /// The message names what the setting needs. Add that, or remove the setting.
    Warning NO_EFFECT = "no-effect";

    /// The controller of the workers does not support what the spec asks for
    ///
    /// Worker groups, `spares`, `perWorker` storage, elastic Horovod and `release: keep` need StatefulSets. A gang, Kueue,
    /// `suspend` and torchrun need the Job shape: the launcher scales a StatefulSet, and would wait for pods that the
    /// queue never admits. Without `security.apiAccess` it cannot scale one.
    Error WRONG_CONTROLLER = "wrong-controller";
}

/// A field that conflicts with another.
struct Conflict {
    code: &'static Code,
    /// The place of the field; none if the spec does not have it, or if there is no conflict.
    at: Option<Span>,
    message: Cow<'static, str>,
    /// The place of the other field, if the spec has it, and the label there.
    other: (Option<Span>, &'static str),
    hint: Cow<'static, str>,
}

/// A table, and the parts of the spec without which it cannot be judged.
type Table = (&'static [&'static str], fn(&Case<'_>) -> Vec<Conflict>);

const TABLES: &[Table] = &[
    (&[], excluding),
    (&["launcher.kind"], elastic),
    (&["launcher.kind", "launcher.interactive"], interactive),
    (&[], overridden),
    (&["launcher.kind", "launcher.interactive", "scheduling", "workers"], without_effect),
    (&["workers.controller", "launcher.kind", "scheduling"], controller),
];

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    for (parts, table) in TABLES {
        if !case.could_read(parts) {
            continue;
        }
        for row in table(case) {
            let Some(at) = row.at else { continue };
            let problem = Problem::new(row.code, at, row.message).hint(row.hint);
            problems.push(match row.other {
                (Some(other), label) => problem.and(other, label),
                (None, _) => problem,
            });
        }
    }
}

/// Two fields that exclude each other in every job.
fn excluding(case: &Case<'_>) -> Vec<Conflict> {
    let (body, spec) = (case.body, case.spec);
    let (no_placement, no_scheduling, no_security) = (Placement::default(), Scheduling::default(), Security::default());
    let placement = body.placement.as_ref().map_or(&no_placement, |at| &at.value);
    let scheduling = body.scheduling.as_ref().map_or(&no_scheduling, |at| &at.value);
    let security = body.security.as_ref().map_or(&no_security, |at| &at.value);
    let launcher = body.launcher.as_ref();
    let gang = key(scheduling.gang.as_ref()).filter(|_| spec.scheduling.gang.is_some());
    let kueue = key(scheduling.kueue.as_ref());
    let openshift = spec.security.profile == Profile::OpenShift && spec.target.has_pods;
    let torchrun = spec.launcher.kind == LauncherKind::Torchrun;
    let kind = launcher.and_then(|at| at.kind.as_ref()).map_or(case.top, |at| at.span);
    let both = |code, at: Option<Span>, message, other: Option<Span>, label, hint| Conflict {
        code,
        at: at.filter(|_| other.is_some()),
        message: Cow::Borrowed(message),
        other: (other, label),
        hint: Cow::Borrowed(hint),
    };
    let under = |code, is: bool, at: Option<Span>, message, other: (Option<Span>, &'static str), hint| Conflict {
        code,
        at: at.filter(|_| is),
        message: Cow::Borrowed(message),
        other,
        hint: Cow::Borrowed(hint),
    };
    vec![
        both(
            &SPREAD_AND_PACK,
            key(placement.pack.as_ref()),
            "`pack` and `spread` exclude each other",
            key(placement.spread.as_ref()),
            "spread",
            "keep one of the two",
        ),
        both(
            &TWO_QUEUES,
            kueue,
            "`kueue` and `gang` would wait for each other",
            gang,
            "the gang scheduler",
            "keep one of the two: Kueue also admits all pods or none",
        ),
        both(
            &TWO_QUEUES,
            scheduling.suspend.as_ref().filter(|at| !at.value).map(|at| at.span),
            "`kueue` needs the job to start suspended",
            kueue,
            "Kueue",
            "remove `suspend`",
        ),
        under(
            &OPENSHIFT_IDS,
            openshift,
            key(security.run_as_user.as_ref()),
            "OpenShift assigns `runAsUser`",
            (None, ""),
            "remove `runAsUser`, or write `profile: restricted`",
        ),
        under(
            &OPENSHIFT_IDS,
            openshift,
            key(security.fs_group.as_ref()),
            "OpenShift assigns `fsGroup`",
            (None, ""),
            "remove `fsGroup`, or write `profile: restricted`",
        ),
        under(
            &TORCHRUN_SSH,
            torchrun,
            key(body.ssh.as_ref()),
            "torchrun does not use `ssh`",
            (Some(kind), "torchrun is chosen here"),
            "remove `ssh`",
        ),
        under(
            &TORCHRUN_SSH,
            torchrun,
            launcher.and_then(|at| key(at.mpi.as_ref())),
            "torchrun does not use `launcher.mpi`",
            (Some(kind), "torchrun is chosen here"),
            "remove `launcher.mpi`",
        ),
    ]
}

/// The fields that elastic training excludes.
fn elastic(case: &Case<'_>) -> Vec<Conflict> {
    let Some(elastic) = &case.body.elastic else { return Vec::new() };
    let launcher = case.body.launcher.as_ref();
    let supported = matches!(case.spec.launcher.kind, LauncherKind::Horovodrun | LauncherKind::Torchrun);
    let groups = case.body.workers.as_ref().and_then(|at| key(at.groups.as_ref()));
    let ranks = launcher.and_then(|at| at.runs_ranks.as_ref()).filter(|at| at.value).map(|at| at.key);
    let together = |at, what: &str| Conflict {
        code: &ELASTIC_WORKERS,
        at,
        message: format!("{what} and `elastic` exclude each other").into(),
        other: (Some(elastic.key), "elastic training is requested here"),
        hint: "remove one of the two".into(),
    };
    vec![
        Conflict {
            code: &ELASTIC_LAUNCHER,
            at: Some(elastic.key).filter(|_| !supported),
            message: "`elastic` needs `launcher.kind: horovodrun` or `torchrun`".into(),
            other: (launcher.and_then(|at| at.kind.as_ref()).map(|at| at.span), "this launcher is not elastic"),
            hint: "write `launcher: {kind: horovodrun}`, or remove `elastic`".into(),
        },
        together(groups, "`workers.groups`"),
        together(ranks, "`launcher.runsRanks`"),
        Conflict {
            hint: "remove `spares`, and raise `maxWorkers`".into(),
            ..together(spares(case), "`workers.spares`")
        },
    ]
}

/// The place of the first field that asks for spares.
pub fn spares(case: &Case<'_>) -> Option<Span> {
    let workers = case.body.workers.as_ref()?;
    let groups = workers.groups.iter().flat_map(|at| &at.value).map(|group| group.spares.as_ref());
    [workers.spares.as_ref()].into_iter().chain(groups).flatten().find(|at| at.0 > 0).map(|at| at.key)
}

/// An interactive launcher that is not a shell.
fn interactive(case: &Case<'_>) -> Vec<Conflict> {
    let launcher = &case.spec.launcher;
    let given = case.body.launcher.as_ref().and_then(|at| at.interactive.as_ref()).map_or(case.top, |at| at.span);
    vec![Conflict {
        code: &INTERACTIVE_KIND,
        at: Some(given).filter(|_| launcher.interactive && launcher.kind != LauncherKind::Shell),
        message: "`launcher.interactive` needs `launcher.kind: shell`".into(),
        other: (None, ""),
        hint: "write `kind: shell`, or remove `interactive`".into(),
    }]
}

/// Settings that variables override.
fn overridden(case: &Case<'_>) -> Vec<Conflict> {
    let Some(collective) = &case.body.collective else { return Vec::new() };
    let pairs = [
        ("debug", key(collective.debug.as_ref()), "NCCL_DEBUG"),
        ("interface", key(collective.interface.as_ref()), "NCCL_SOCKET_IFNAME"),
        ("infiniband", key(collective.infiniband.as_ref()), "NCCL_IB_DISABLE"),
        ("fusionThreshold", key(collective.fusion_threshold.as_ref()), "HOROVOD_FUSION_THRESHOLD"),
        ("cycleTime", key(collective.cycle_time.as_ref()), "HOROVOD_CYCLE_TIME"),
        ("autotune", key(collective.autotune.as_ref()), "HOROVOD_AUTOTUNE"),
        ("hierarchicalAllreduce", key(collective.hierarchical_allreduce.as_ref()), "HOROVOD_HIERARCHICAL_ALLREDUCE"),
        ("timeline", key(collective.timeline.as_ref()), "HOROVOD_TIMELINE"),
    ];
    let row = |(field, at, variable): (&str, Option<Span>, &str)| {
        let env = case.body.env.iter().flat_map(|at| &at.0).find(|(name, _)| name.0 == variable);
        Conflict {
            code: &KNOB_TWICE,
            at: at.filter(|_| env.is_some()),
            message: format!("`env.{variable}` overrides `collective.{field}`").into(),
            other: (env.map(|(name, _)| name.span), "takes precedence"),
            hint: "keep one of the two".into(),
        }
    };
    pairs.into_iter().map(row).collect()
}

/// Fields that need another one to have an effect.
fn without_effect(case: &Case<'_>) -> Vec<Conflict> {
    let (body, spec) = (case.body, case.spec);
    let (no_launcher, no_elastic, no_observability) =
        (Launcher::default(), Elastic::default(), Observability::default());
    let launcher = body.launcher.as_ref().map_or(&no_launcher, |at| &at.value);
    let elastic = body.elastic.as_ref().map_or(&no_elastic, |at| &at.value);
    let observability = body.observability.as_ref().map_or(&no_observability, |at| &at.value);
    let kind = spec.launcher.kind;
    let has_gpus = spec.groups.iter().any(|group| group.gpus > 0);
    let prefix = observability.logs.as_ref().and_then(|at| at.rank_prefix.as_ref()).filter(|at| !at.value);
    let is_separate = spec.controller == Controller::StatefulSet;
    let own_pod = "a launcher pod of its own, which the Job shape does not have";
    let own_resources = match is_separate {
        true => "a launcher pod that runs no ranks: one that does has the resources of a worker",
        false => own_pod,
    };
    // The field, its path, whether it has an effect, and what it needs.
    let rows = [
        (
            key(launcher.idle_timeout.as_ref()),
            "launcher.idleTimeout",
            spec.launcher.interactive,
            "`launcher.interactive: true`",
        ),
        (key(launcher.args.as_ref()), "launcher.args", kind != LauncherKind::Shell, "a launcher other than `shell`"),
        (
            key(launcher.lost_timeout.as_ref()),
            "launcher.lostTimeout",
            is_separate && spec.target.own_workloads && !spec.lifecycle.keep || !spec.target.has_pods,
            "a launcher that scales the workers",
        ),
        (
            key(launcher.retries_reset_after.as_ref()),
            "launcher.retriesResetAfter",
            kind != LauncherKind::Torchrun,
            "a launcher other than `torchrun`, whose agents start the training again themselves",
        ),
        (
            key(launcher.final_exit_codes.as_ref()),
            "launcher.finalExitCodes",
            kind != LauncherKind::Torchrun,
            "a launcher other than `torchrun`, whose agents start the training again themselves",
        ),
        (key(launcher.image.as_ref()), "launcher.image", is_separate, own_pod),
        (key(launcher.cpu.as_ref()), "launcher.cpu", is_separate && !spec.launcher.runs_ranks, own_resources),
        (key(launcher.memory.as_ref()), "launcher.memory", is_separate && !spec.launcher.runs_ranks, own_resources),
        (
            body.scheduling.as_ref().and_then(|at| key(at.queue.as_ref())),
            "scheduling.queue",
            spec.scheduling.gang == Some(Gang::Volcano) || spec.target.is_gang,
            "`scheduling.gang: volcano`; for Kueue use `kueue`",
        ),
        (body.workers.as_ref().and_then(|at| key(at.gpu_resource.as_ref())), "workers.gpuResource", has_gpus, "`gpus`"),
        (
            key(elastic.cooldown.as_ref()),
            "elastic.cooldown",
            kind != LauncherKind::Torchrun,
            "horovodrun: torchrun excludes no hosts",
        ),
        (
            body.collective.as_ref().and_then(|at| key(at.infiniband.as_ref())),
            "collective.infiniband",
            has_gpus,
            "GPUs: it is a setting of NCCL",
        ),
        (
            key(prefix),
            "observability.logs.rankPrefix",
            !matches!(kind, LauncherKind::Horovodrun | LauncherKind::Shell),
            "mpirun, torchrun or deepspeed",
        ),
        (
            body.security.as_ref().and_then(|at| key(at.egress.as_ref())),
            "security.egress",
            spec.security.network_policy || !spec.target.has_pods,
            "`security.networkPolicy: true`",
        ),
        (
            observability.metrics.as_ref().and_then(|at| key(at.from.as_ref())),
            "observability.metrics.from",
            spec.security.network_policy || !spec.target.has_pods,
            "`security.networkPolicy: true`",
        ),
        (key(body.args.as_ref()), "args", body.command.is_some() || !case.could_read(&["command"]), "a `command`"),
    ];
    let row = |(at, path, has_effect, needs): (Option<Span>, &str, bool, &str)| Conflict {
        code: &NO_EFFECT,
        at: at.filter(|_| !has_effect),
        message: format!("`{path}` has no effect without {needs}").into(),
        other: (None, ""),
        hint: format!("remove `{}`", path.rsplit('.').next().unwrap_or(path)).into(),
    };
    rows.into_iter().map(row).collect()
}

/// The fields that the controller of the workers excludes.
fn controller(case: &Case<'_>) -> Vec<Conflict> {
    let (body, spec) = (case.body, case.spec);
    let Some(workers) = &body.workers else { return Vec::new() };
    let torchrun = spec.launcher.kind == LauncherKind::Torchrun;
    let given = workers.controller.as_ref().map(|at| at.span);
    let scheduling = body.scheduling.as_ref();
    let queued = [
        ("scheduling.gang", spec.scheduling.gang.and(scheduling.and_then(|at| key(at.gang.as_ref())))),
        ("scheduling.kueue", scheduling.and_then(|at| key(at.kueue.as_ref()))),
        ("scheduling.suspend", scheduling.filter(|_| spec.scheduling.suspend).and_then(|at| key(at.suspend.as_ref()))),
    ];
    if spec.controller == Controller::StatefulSet {
        let hint = "write `controller: Job`, or leave it out";
        // If one object describes the whole workload, a queue admits all of it.
        let queued = queued.into_iter().filter(|_| spec.target.own_workloads).map(|(what, span)| Conflict {
            code: &WRONG_CONTROLLER,
            at: span.map(|span| given.unwrap_or(span)),
            message: format!(
                "`{what}` needs `workers.controller: Job`: a launcher that scales StatefulSets would wait for the queue without end"
            )
            .into(),
            other: (span, "requested here"),
            hint: hint.into(),
        });
        let torchrun = Conflict {
            code: &WRONG_CONTROLLER,
            at: torchrun.then_some(given.unwrap_or(workers.key)),
            message: "torchrun needs `workers.controller: Job`".into(),
            other: (None, ""),
            hint: hint.into(),
        };
        let access = body.security.as_ref().and_then(|at| at.api_access.as_ref()).filter(|at| !at.value);
        let access = Conflict {
            code: &WRONG_CONTROLLER,
            at: key(access.filter(|_| spec.target.own_workloads && !spec.lifecycle.keep)),
            message: "`security.apiAccess: false` needs the Job shape: the launcher may not scale a StatefulSet".into(),
            other: (given, "the StatefulSet shape is requested here"),
            hint: "write `controller: Job`, or leave it out; or set `lifecycle.release: keep`, and delete the workers yourself".into(),
        };
        return queued.chain([torchrun, access]).collect();
    }
    let launcher = body.launcher.as_ref();
    let kind = launcher.and_then(|at| at.kind.as_ref()).map(|at| at.span);
    let why = given.or_else(|| queued.iter().find_map(|(_, span)| *span)).or(kind);
    let per_worker = body.storage.iter().flat_map(|at| &at.value).find_map(|at| at.per_worker.as_ref());
    let keep = body.lifecycle.as_ref().and_then(|at| at.release.as_ref()).filter(|at| at.0);
    let runs_ranks = launcher.and_then(|at| at.runs_ranks.as_ref()).filter(|at| at.value);
    let rows = [
        ("`workers.groups` needs", key(workers.groups.as_ref())),
        ("`workers.spares` needs", spares(case).filter(|_| workers.groups.is_none() && body.elastic.is_none())),
        ("storage with `perWorker` needs", key(per_worker)),
        ("`elastic` with Horovod needs", key(body.elastic.as_ref().filter(|_| !torchrun))),
        ("`lifecycle.release: keep` needs", key(keep)),
        ("`launcher.runsRanks` is only for", key(runs_ranks)),
    ];
    let row = |(what, at): (&str, Option<Span>)| Conflict {
        code: &WRONG_CONTROLLER,
        at,
        message: format!("{what} the StatefulSet shape, and this job takes the Job shape").into(),
        other: (why, "the Job shape follows from this"),
        hint: "remove one of the two: in the Job shape one Indexed Job runs workers that are all equal".into(),
    };
    rows.into_iter().map(row).collect()
}
