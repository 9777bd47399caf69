//! Resolves workers and their groups, the resources of pods, and the launcher.

use crate::job::declare::{self, WorkerFields};
use crate::job::read::At;
use crate::job::types::quantity::Quantity;
use crate::job::types::spec::{
    ClaimSource, Group, HealthCheck, HealthPolicy, Launcher, LauncherKind, LauncherPod, ResourceClaim, Resources,
    Scheduling,
};
use crate::job::types::target::Facts;

use super::{Defaults, elastic_workers, items, pairs, section, words};

pub fn groups(body: &declare::Body, defaults: &mut Defaults) -> Vec<Group> {
    let Some(workers) = body.workers.as_ref().map(|at| &at.value) else { return Vec::new() };
    match &workers.groups {
        Some(groups) => groups
            .iter()
            .enumerate()
            .map(|(index, at)| {
                let before = defaults.0.len();
                let shared = group(&WorkerFields::new(workers, Some(at)), defaults);
                defaults.name_group(before, index);
                Group { name: text!(at.name), replicas: plain!(at.replicas).unwrap_or(1), ..shared }
            })
            .collect(),
        None => {
            let replicas = plain!(workers.replicas).unwrap_or(1);
            vec![Group { replicas, ..group(&WorkerFields::new(workers, None), defaults) }]
        }
    }
}

/// A group of one worker without a name. The caller sets the name and the number.
fn group(fields: &WorkerFields<'_>, defaults: &mut Defaults) -> Group {
    let gpus = defaults.take("workers.gpus", fields.gpus().remark(" (CPU training)")).0;
    let gpu_resource = match gpus {
        0 => fields.gpu_resource().value,
        _ => defaults.take("workers.gpuResource", fields.gpu_resource()),
    };
    let slots = defaults.computed("workers.slotsPerWorker", plain!(fields.slots_per_worker), gpus.max(1), &gpus.max(1));
    let memory = fields.memory.map(|at| &at.value).or_else(|| memory_limit(fields));
    let shm = fields.shm.map(|at| at.value.clone());
    let default_shm = memory.map_or_else(|| Quantity::parse("8Gi").unwrap_or(Quantity::units(0)), Quantity::quarter);
    let shm = defaults.computed("workers.shm", shm, default_shm.clone(), &default_shm);
    Group {
        name: None,
        replicas: 1,
        spares: fields.spares().value.0,
        gpus,
        resources: worker_resources(fields, gpus, &gpu_resource.0),
        gpu_resource: gpu_resource.0,
        slots,
        rdma: fields.rdma.is_some(),
        claims: items(fields.resource_claims).filter_map(resource_claim).collect(),
        gpu_claim: fields.gpu_claim.map(|at| at.0.clone()),
        shm,
    }
}

fn resource_claim(given: &declare::ResourceClaim) -> Option<ResourceClaim> {
    let existing = text!(given.resource_claim_name).map(ClaimSource::Existing);
    let template = text!(given.resource_claim_template_name).map(ClaimSource::Template);
    let devices = given.devices.as_ref().map(|at| ClaimSource::Devices(at.0.clone()));
    Some(ResourceClaim { name: text!(given.name)?, source: existing.or(template).or(devices)? })
}

fn memory_limit<'a>(fields: &WorkerFields<'a>) -> Option<&'a Quantity> {
    let limits = fields.resources?.limits.as_ref()?;
    limits.value.0.iter().find(|(name, _)| name.0 == "memory").map(|(_, quantity)| &quantity.value)
}

/// Requests and limits of a worker. If the spec has `resources`, requests and limits come from this field. Otherwise
/// they are equal. Devices are in both, as Kubernetes requires.
fn worker_resources(fields: &WorkerFields<'_>, gpus: u32, gpu_resource: &str) -> Resources {
    let mut resources = match fields.resources {
        Some(full) => Resources {
            requests: pairs(full.requests.as_ref(), |name, amount| (name.0.clone(), amount.clone())),
            limits: pairs(full.limits.as_ref(), |name, amount| (name.0.clone(), amount.clone())),
        },
        None => {
            alike([("cpu", fields.cpu), ("memory", fields.memory), ("ephemeral-storage", fields.ephemeral_storage)])
        }
    };
    let rdma = fields.rdma.and_then(|at| Some((text!(at.resource)?, at.count().value.0)));
    let is_counted = gpus > 0 && fields.gpu_claim.is_none();
    let devices = is_counted.then(|| (gpu_resource.to_owned(), gpus)).into_iter().chain(rdma);
    for (name, count) in devices {
        for side in [&mut resources.requests, &mut resources.limits] {
            side.retain(|(known, _)| *known != name);
            side.push((name.clone(), Quantity::units(count)));
        }
    }
    resources
}

fn alike<const N: usize>(amounts: [(&str, Option<&At<Quantity>>); N]) -> Resources {
    let both: Vec<(String, Quantity)> =
        amounts.into_iter().filter_map(|(name, amount)| Some((name.to_owned(), amount?.value.clone()))).collect();
    Resources { requests: both.clone(), limits: both }
}

/// The number of workers that the launcher connects to, with the spares.
fn connected_workers(body: &declare::Body) -> u32 {
    let Some(workers) = body.workers.as_ref().map(|at| &at.value) else { return 1 };
    let count = |replicas: Option<u32>, group: Option<&declare::Group>| {
        replicas.unwrap_or(1).saturating_add(WorkerFields::new(workers, group).spares().value.0)
    };
    match &workers.groups {
        Some(groups) => {
            groups.iter().map(|group| count(plain!(group.replicas), Some(group))).fold(0, u32::saturating_add)
        }
        None => count(plain!(workers.replicas), None),
    }
}

/// The default memory of a launcher with more than 1,000 workers. The usual default is too small, because the launcher
/// runs an ssh client of one mebibyte for each worker, and MPI needs a little more. None for fewer workers.
fn launcher_memory(body: &declare::Body) -> Option<Quantity> {
    let workers = connected_workers(body);
    let most = elastic_workers(body).and_then(|at| plain!(at.value.max_replicas)).unwrap_or(0).max(workers);
    let gibibytes = 1 + (most.saturating_mul(3) / 2).div_ceil(1_024);
    (most > 1_000).then(|| Quantity::parse(&format!("{gibibytes}Gi")))?
}

/// The checks of the workers. Without the field, only workers with GPUs are checked.
pub fn health_check(body: &declare::Body, groups: &[Group], defaults: &mut Defaults) -> HealthCheck {
    let timeout = declare::HealthCheck::default().timeout().value.0;
    let Some(given) = body.workers.as_ref().and_then(|at| at.value.health_check.as_ref()).map(|at| &at.value) else {
        let has_gpus = groups.iter().any(|group| group.gpus > 0);
        let policy = if has_gpus { HealthPolicy::OnFailure } else { HealthPolicy::Never };
        return HealthCheck { policy, command: Vec::new(), timeout };
    };
    let command = words(given.command.as_ref());
    let timeout = match command.is_empty() {
        true => timeout,
        false => defaults.take("workers.healthCheck.timeout", given.timeout()).0,
    };
    HealthCheck { policy: defaults.take("workers.healthCheck.policy", given.policy()).0, command, timeout }
}

pub fn launcher(body: &declare::Body, target: &Facts, scheduling: &Scheduling, defaults: &mut Defaults) -> Launcher {
    let (given, none) = (section(body.launcher.as_ref()), declare::Launcher::default());
    let kind = defaults.take("launcher.kind", given.kind()).0;
    let interactive = given.interactive().value;
    let mpi = match kind {
        _ if kind.has_agents() => none.mpi().value.0,
        _ => defaults.take("launcher.mpi", given.mpi()).0,
    };
    let idle_timeout = match interactive {
        true => defaults.take("launcher.idleTimeout", given.idle_timeout()).0,
        false => none.idle_timeout().value.0,
    };
    // If an agent in each pod starts the ranks, no worker watches the launcher, so the default is not listed.
    let lost_timeout = match kind {
        _ if kind.has_agents() => none.lost_timeout().value.0,
        _ => defaults.take("launcher.lostTimeout", given.lost_timeout()).0,
    };
    let larger = launcher_memory(body);
    let (cpu, memory) = match (kind.has_agents(), larger) {
        (true, larger) => (none.cpu().value, larger.unwrap_or_else(|| none.memory().value)),
        (false, larger) => (
            defaults.take("launcher.cpu", given.cpu()),
            match larger {
                Some(larger) => {
                    let given = given.memory.as_ref().map(|at| at.value.clone());
                    defaults.computed("launcher.memory", given, larger.clone(), &larger)
                }
                None => defaults.take("launcher.memory", given.memory()),
            },
        ),
    };
    let runs_in = runs_in(body, target, kind, scheduling, defaults);
    let both = vec![("cpu".to_owned(), cpu), ("memory".to_owned(), memory)];
    Launcher {
        kind,
        mpi,
        args: items(given.args.as_ref()).map(|word| word.0.clone()).collect(),
        program: text!(given.program),
        runs_in,
        runs_ranks: given.runs_ranks().value && runs_in == LauncherPod::Own,
        interactive,
        idle_timeout,
        resources: Resources { requests: both.clone(), limits: both },
        image: text!(given.image),
        lost_timeout,
    }
}

/// The pod that the launcher runs in.
fn runs_in(
    body: &declare::Body,
    target: &Facts,
    kind: LauncherKind,
    scheduling: &Scheduling,
    defaults: &mut Defaults,
) -> LauncherPod {
    let queued = scheduling.gang.is_some() || scheduling.local_queue.is_some() || scheduling.suspend;
    // If the target has no `own_workloads`, one object describes the launcher and the workers, so a queue admits all pods
    // together.
    let queued = queued && target.own_workloads;
    let access = body.security.as_ref().is_none_or(|at| at.value.api_access().value);
    let keeps = body.lifecycle.as_ref().and_then(|at| at.value.keep_workers.as_ref()).is_some_and(|at| at.value);
    let given = body.launcher.as_ref().and_then(|at| plain!(at.runs_in));
    match (kind, queued) {
        (kind, _) if kind.has_agents() => {
            let text = format!("firstWorker ({})", kind.name());
            defaults.computed("launcher.runsIn", given, LauncherPod::FirstWorker, &text)
        }
        (_, true) => defaults.computed("launcher.runsIn", given, LauncherPod::FirstWorker, &"firstWorker (scheduling)"),
        _ if !access && !keeps && target.own_workloads => {
            defaults.computed("launcher.runsIn", given, LauncherPod::FirstWorker, &"firstWorker (security.apiAccess)")
        }
        (_, false) => defaults.computed("launcher.runsIn", given, LauncherPod::Own, &"ownPod"),
    }
}
