//! Resolves placement, scheduling, lifecycle, security, observability, Slurm settings and patches.

use crate::job::declare::{
    self,
    scalars::{LabelKey, LabelValue, Table, Word},
};
use crate::job::read::At;
use crate::job::types::KubeVersion;
use crate::job::types::spec::{
    Checkpoint, Gang, LauncherPod, Level, Lifecycle, Metrics, Observability, Pairs, Patch, Placement, PodSecurityLevel,
    Progress, RankOrder, Scheduling, Security, Slices, Slurm, Srun, Stall, Topology,
};
use crate::job::types::target::Facts;

use super::{Defaults, items, pairs, port, section};

pub fn scheduling(body: &declare::Body, kube_version: KubeVersion) -> Scheduling {
    let given = section(body.scheduling.as_ref());
    let gang = given.gang().value.0;
    let own = match gang {
        Some(Gang::Volcano) => Some("volcano"),
        Some(Gang::Coscheduling) => Some("scheduler-plugins-scheduler"),
        Some(Gang::Native) | None => None,
    };
    Scheduling {
        gang,
        volcano_queue: text!(given.volcano_queue),
        local_queue: text!(given.local_queue),
        workload_priority_class: text!(given.workload_priority_class_name),
        partial_admission: given.partial_admission().value,
        suspend: given.suspend().value,
        scheduler_name: text!(given.scheduler_name).or(own.map(str::to_owned)),
        kube_version,
    }
}

/// The labels of a selector.
fn labels_of(labels: Option<&At<Table<LabelKey, LabelValue>>>) -> Pairs {
    pairs(labels, |key, value| (key.0.clone(), value.0.clone()))
}

pub fn placement(body: &declare::Body, defaults: &mut Defaults) -> Placement {
    let given = section(body.placement.as_ref());
    let pack = text!(given.pack);
    let topology = given.topology.as_ref().map(|at| topology(at));
    let spread = match (&pack, &topology) {
        (Some(_), _) => None,
        (_, Some(topology)) if topology.places() => None,
        _ => Some(defaults.take("placement.spread", given.spread().remark(", softly")).0),
    };
    Placement {
        node_selector: labels_of(given.node_selector.as_ref()),
        tolerations: items(given.tolerations.as_ref()).map(toleration).collect(),
        affinity: given.affinity.as_ref().map(|at| at.value.0.clone()),
        priority_class: text!(given.priority_class_name),
        runtime_class: text!(given.runtime_class_name),
        spread,
        pack,
        topology,
        host_network: given.host_network().value,
    }
}

fn topology(given: &declare::Topology) -> Topology {
    let level = |at: &At<LabelKey>| Level::new(&at.0);
    Topology {
        required: given.required.as_ref().map(level),
        preferred: given.preferred.as_ref().map(level),
        slices: given
            .slices
            .as_ref()
            .and_then(|at| Some(Slices { size: plain!(at.size)?, required: at.required.as_ref().map(level)? })),
        rank_order: given.rank_order.as_ref().and_then(|at| match &at.value {
            declare::RankOrder::Levels(levels) if levels.is_empty() => None,
            declare::RankOrder::Levels(levels) => {
                Some(RankOrder::Levels(levels.iter().map(|level| Level::new(&level.0)).collect()))
            }
            declare::RankOrder::Measured => Some(RankOrder::Measured),
        }),
    }
}

fn toleration(given: &declare::Toleration) -> serde_json::Value {
    let texts = [
        ("key", text!(given.key)),
        ("operator", plain!(given.operator).map(str::to_owned)),
        ("value", text!(given.value)),
        ("effect", plain!(given.effect).map(str::to_owned)),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into())));
    let seconds = plain!(given.toleration_seconds).map(|seconds| ("tolerationSeconds".to_owned(), seconds.into()));
    serde_json::Value::Object(texts.chain(seconds).collect())
}

pub fn lifecycle(body: &declare::Body, runs_in: LauncherPod, defaults: &mut Defaults) -> Lifecycle {
    let given = section(body.lifecycle.as_ref());
    let keep_workers = match runs_in {
        LauncherPod::Own => defaults.take("lifecycle.keepWorkers", given.keep_workers()),
        LauncherPod::FirstWorker => false,
    };
    let final_exit_codes = given.final_exit_codes.iter().flat_map(|at| &at.value);
    let no_checkpoint = declare::Checkpoint::default();
    let checkpoint = given.checkpoint.as_ref().map_or(&no_checkpoint, |at| &at.value);
    let grace_period = defaults.take("lifecycle.checkpoint.gracePeriod", checkpoint.grace_period()).0;
    Lifecycle {
        deadline: plain!(given.deadline),
        start_timeout: defaults.take("lifecycle.startTimeout", given.start_timeout()).0,
        retries: defaults.take("lifecycle.retries", given.retries()).0,
        retries_reset_after: defaults.take("lifecycle.retriesResetAfter", given.retries_reset_after()).0,
        retries_without_progress: section(body.observability.as_ref())
            .progress
            .is_some()
            .then(|| defaults.take("lifecycle.retriesWithoutProgress", given.retries_without_progress()).0),
        final_exit_codes: final_exit_codes.filter_map(|at| u8::try_from(at.0).ok()).collect(),
        ttl_after_finished: plain!(given.ttl_after_finished),
        keep_workers,
        checkpoint: Checkpoint {
            signal: defaults.take("lifecycle.checkpoint.signal", checkpoint.signal()).0,
            grace_period: u32::try_from(grace_period).unwrap_or(u32::MAX),
        },
        stall: given.stall.as_ref().and_then(|at| {
            Some(Stall {
                timeout: plain!(at.timeout)?,
                file: text!(at.file),
                metric: text!(at.metric),
                retries: defaults.take("lifecycle.stall.action", at.action()).0,
                evidence: text!(at.evidence),
            })
        }),
    }
}

pub fn security(body: &declare::Body, target: &'static Facts, defaults: &mut Defaults) -> Security {
    let given = section(body.security.as_ref());
    let level = defaults.take("security.podSecurityLevel", given.pod_security_level()).0;
    let (user, group) = match level {
        PodSecurityLevel::OpenShift => (plain!(given.run_as_user), plain!(given.fs_group)),
        _ => {
            let user = defaults.take("security.runAsUser", given.run_as_user()).0;
            (Some(user), Some(defaults.computed("security.fsGroup", plain!(given.fs_group), user, &user)))
        }
    };
    Security {
        pod_security_level: level,
        run_as_user: user,
        fs_group: group,
        network_policy: defaults.take("security.networkPolicy", given.network_policy()),
        egress: defaults.take("security.egress", given.egress()).0,
        egress_to: items(given.egress_to.as_ref()).map(|peer| peer.0.clone()).collect(),
        service_account: text!(given.service_account_name),
        worker_account: body.workers.as_ref().and_then(|at| text!(at.service_account_name)),
        // With a target whose controller creates the pods, they never get access, so the default has no effect.
        api_access: match target.own_workloads {
            true => defaults.take("security.apiAccess", given.api_access()),
            false => given.api_access().value,
        },
        read_only_root_filesystem: defaults.take("security.readOnlyRootFilesystem", given.read_only_root_filesystem()),
    }
}

pub fn observability(body: &declare::Body, calls_api: bool, defaults: &mut Defaults) -> Observability {
    let given = section(body.observability.as_ref());
    let metrics = |at: &declare::Metrics| {
        let from = at.from.as_ref().map(|peers| peers.iter().map(|peer| peer.0.clone()).collect());
        Some(Metrics { port: port(at.port.as_ref()?.value), pod_monitor: at.pod_monitor().value, from })
    };
    let progress = given.progress.as_ref().and_then(|at| match (&at.output, &at.pattern, &at.file) {
        (Some(_), ..) => Some(Progress::Auto),
        (_, Some(pattern), _) => Some(Progress::Pattern(pattern.0.clone())),
        (.., file) => file.as_ref().map(|file| Progress::File(file.0.clone())),
    });
    let logs = section(given.logs.as_ref());
    Observability {
        tensorboard_logdir: text!(given.tensorboard_logdir),
        metrics: given.metrics.as_ref().and_then(|at| metrics(at)),
        launcher_metrics: given.launcher_metrics.as_ref().and_then(|at| metrics(at)),
        progress,
        // If the pods may not call the API server, the field has no effect. So a change of the field must not start another
        // run.
        events: calls_api && given.events().value,
        rank_prefix: defaults.take("observability.logs.rankPrefix", logs.rank_prefix()),
    }
}

pub fn slurm(body: &declare::Body) -> Slurm {
    let given = section(body.slurm.as_ref());
    let words = |list| items::<Word>(list).map(|word| word.0.clone()).collect();
    Slurm {
        partition: text!(given.partition),
        time: plain!(given.time),
        modules: items(given.modules.as_ref()).map(|module| module.0.clone()).collect(),
        account: text!(given.account),
        qos: text!(given.qos),
        constraint: text!(given.constraint),
        nodelist: text!(given.nodelist),
        exclude: text!(given.exclude),
        reservation: text!(given.reservation),
        gres: given.gres().value.0,
        args: items(given.args.as_ref()).map(|option| option.0.clone()).collect(),
        setup: text!(given.setup),
        wrap: words(given.wrap.as_ref()),
        srun: given.srun.as_ref().map(|at| Srun { mpi: text!(at.mpi), args: words(at.args.as_ref()) }),
    }
}

pub fn patch(given: &declare::Patch) -> Option<Patch> {
    let target = given.target.as_ref();
    Some(Patch {
        kind: target.and_then(|target| plain!(target.kind)).map(str::to_owned),
        name: target.and_then(|target| text!(target.name)),
        patch: given.patch.as_ref()?.value.0.clone(),
    })
}
