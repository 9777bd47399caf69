//! Resolves placement, scheduling, lifecycle, security, observability, Slurm settings and patches.

use crate::job::declare::{self, scalars::Word};
use crate::job::read::At;
use crate::job::types::spec::{
    Controller, Gang, Lifecycle, Metrics, Observability, Patch, Placement, Profile, Scheduling, Security, Slurm, Srun,
};

use super::{Defaults, pairs, port};

pub fn scheduling(body: &declare::Body) -> Scheduling {
    let Some(raw) = body.scheduling.as_ref().map(|at| &at.value) else { return Scheduling::default() };
    let gang = raw.gang().value.0;
    let own = match gang {
        Some(Gang::Volcano) => Some("volcano"),
        Some(Gang::Coscheduling) => Some("scheduler-plugins-scheduler"),
        None => None,
    };
    Scheduling {
        gang,
        queue: text!(raw.queue),
        kueue: text!(raw.kueue),
        suspend: raw.suspend().value,
        scheduler: text!(raw.scheduler).or(own.map(str::to_owned)),
    }
}

pub fn placement(body: &declare::Body, defaults: &mut Defaults) -> Placement {
    let none = declare::Placement::default();
    let raw = body.placement.as_ref().map_or(&none, |at| &at.value);
    let pack = text!(raw.pack);
    let spread = match &pack {
        Some(_) => None,
        None => Some(defaults.take("placement.spread", raw.spread().remark(", softly")).0),
    };
    Placement {
        node_selector: pairs(raw.node_selector.as_ref().map(|at| &at.value), |key, value| {
            (key.0.clone(), value.0.clone())
        }),
        tolerations: raw.tolerations.iter().flat_map(|at| &at.value).map(|at| toleration(at)).collect(),
        affinity: raw.affinity.as_ref().map(|at| at.value.0.clone()),
        priority_class: text!(raw.priority_class),
        runtime_class: text!(raw.runtime_class),
        spread,
        pack,
        host_network: raw.host_network().value,
    }
}

fn toleration(raw: &declare::Toleration) -> serde_json::Value {
    let texts = [
        ("key", text!(raw.key)),
        ("operator", plain!(raw.operator).map(str::to_owned)),
        ("value", text!(raw.value)),
        ("effect", plain!(raw.effect).map(str::to_owned)),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into())));
    let seconds = plain!(raw.toleration_seconds).map(|seconds| ("tolerationSeconds".to_owned(), seconds.into()));
    serde_json::Value::Object(texts.chain(seconds).collect())
}

pub fn lifecycle(body: &declare::Body, controller: Controller, defaults: &mut Defaults) -> Lifecycle {
    let none = declare::Lifecycle::default();
    let raw = body.lifecycle.as_ref().map_or(&none, |at| &at.value);
    let keep = match controller {
        Controller::StatefulSet => defaults.take("lifecycle.release", raw.release()).0,
        Controller::Job => false,
    };
    Lifecycle { deadline: plain!(raw.deadline), ttl_after_finished: plain!(raw.ttl_after_finished), keep }
}

pub fn security(body: &declare::Body, defaults: &mut Defaults) -> Security {
    let none = declare::Security::default();
    let raw = body.security.as_ref().map_or(&none, |at| &at.value);
    let profile = defaults.take("security.profile", raw.profile()).0;
    let (user, group) = match profile {
        Profile::OpenShift => (plain!(raw.run_as_user), plain!(raw.fs_group)),
        _ => {
            let user = defaults.take("security.runAsUser", raw.run_as_user()).0;
            (Some(user), Some(defaults.computed("security.fsGroup", plain!(raw.fs_group), user, &user)))
        }
    };
    Security {
        profile,
        run_as_user: user,
        fs_group: group,
        network_policy: defaults.take("security.networkPolicy", raw.network_policy()),
        service_account: text!(raw.service_account),
        read_only_root_filesystem: defaults.take("security.readOnlyRootFilesystem", raw.read_only_root_filesystem()),
    }
}

pub fn observability(body: &declare::Body, defaults: &mut Defaults) -> Observability {
    let none = declare::Observability::default();
    let raw = body.observability.as_ref().map_or(&none, |at| &at.value);
    let metrics = raw
        .metrics
        .as_ref()
        .and_then(|at| Some(Metrics { port: port(at.port.as_ref()?.value), pod_monitor: at.pod_monitor().value }));
    let no_logs = declare::Logs::default();
    let logs = raw.logs.as_ref().map_or(&no_logs, |at| &at.value);
    Observability {
        tensorboard: raw.tensorboard.as_ref().and_then(|at| text!(at.logdir)),
        metrics,
        rank_prefix: defaults.take("observability.logs.rankPrefix", logs.rank_prefix()),
    }
}

pub fn slurm(body: &declare::Body) -> Slurm {
    let none = declare::Slurm::default();
    let raw = body.slurm.as_ref().map_or(&none, |at| &at.value);
    let words =
        |list: &Option<At<Vec<At<Word>>>>| list.iter().flat_map(|at| &at.value).map(|at| at.0.clone()).collect();
    Slurm {
        partition: text!(raw.partition),
        time: plain!(raw.time),
        modules: raw.modules.iter().flat_map(|at| &at.value).map(|at| at.0.clone()).collect(),
        account: text!(raw.account),
        qos: text!(raw.qos),
        constraint: text!(raw.constraint),
        nodelist: text!(raw.nodelist),
        exclude: text!(raw.exclude),
        reservation: text!(raw.reservation),
        gres: raw.gres().value.0,
        args: raw.args.iter().flat_map(|at| &at.value).map(|at| at.0.clone()).collect(),
        setup: text!(raw.setup),
        wrap: words(&raw.wrap),
        srun: raw.srun.as_ref().map(|at| Srun { mpi: text!(at.mpi), args: words(&at.args) }),
    }
}

pub fn patch(raw: &declare::Patch) -> Option<Patch> {
    let target = raw.target.as_ref();
    Some(Patch {
        kind: target.and_then(|target| plain!(target.kind)).map(str::to_owned),
        name: target.and_then(|target| text!(target.name)),
        patch: raw.patch.as_ref()?.value.0.clone(),
    })
}
