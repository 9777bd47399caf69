//! The pods: workers and their groups, what they ask for, the launcher.

use super::*;
use crate::job::target::Facts;

pub fn groups(body: &declare::Body, defaults: &mut Defaults) -> Vec<Group> {
    let Some(workers) = body.workers.as_ref().map(|at| &at.value) else { return Vec::new() };
    let shared = declare::Group {
        name: None,
        replicas: None,
        gpus: workers.gpus.clone(),
        gpu_resource: workers.gpu_resource.clone(),
        slots: workers.slots.clone(),
        cpu: workers.cpu.clone(),
        memory: workers.memory.clone(),
        shm: workers.shm.clone(),
        ephemeral_storage: workers.ephemeral_storage.clone(),
        rdma: workers.rdma.clone(),
        resources: workers.resources.clone(),
    };
    match &workers.groups {
        Some(groups) => groups.iter().map(|at| group(&over(&at.value, &shared), defaults)).collect(),
        None => vec![group(&declare::Group { replicas: workers.replicas.clone(), ..shared }, defaults)],
    }
}

/// A group's own fields over those shared by all.
fn over(own: &declare::Group, shared: &declare::Group) -> declare::Group {
    declare::Group {
        name: own.name.clone(),
        replicas: own.replicas.clone(),
        gpus: own.gpus.clone().or_else(|| shared.gpus.clone()),
        gpu_resource: own.gpu_resource.clone().or_else(|| shared.gpu_resource.clone()),
        slots: own.slots.clone().or_else(|| shared.slots.clone()),
        cpu: own.cpu.clone().or_else(|| shared.cpu.clone()),
        memory: own.memory.clone().or_else(|| shared.memory.clone()),
        shm: own.shm.clone().or_else(|| shared.shm.clone()),
        ephemeral_storage: own.ephemeral_storage.clone().or_else(|| shared.ephemeral_storage.clone()),
        rdma: own.rdma.clone().or_else(|| shared.rdma.clone()),
        resources: own.resources.clone().or_else(|| shared.resources.clone()),
    }
}

fn group(raw: &declare::Group, defaults: &mut Defaults) -> Group {
    let gpus = defaults.take("workers.gpus", plain!(raw.gpus), 0, &"0 (CPU training)");
    let gpu_resource = match gpus {
        0 => text!(raw.gpu_resource).unwrap_or_else(|| "nvidia.com/gpu".to_owned()),
        _ => defaults.take(
            "workers.gpuResource",
            text!(raw.gpu_resource),
            "nvidia.com/gpu".to_owned(),
            &"nvidia.com/gpu",
        ),
    };
    let slots = defaults.take("workers.slots", plain!(raw.slots), gpus.max(1), &gpus.max(1));
    let memory = raw.memory.as_ref().map(|at| at.value.clone()).or_else(|| memory_limit(raw));
    let shm = raw.shm.as_ref().map(|at| at.value.clone());
    let default_shm =
        memory.map_or_else(|| Quantity::parse("8Gi").unwrap_or(Quantity::units(0)), |memory| memory.quarter());
    let shm = defaults.take("workers.shm", shm, default_shm.clone(), &default_shm);
    Group {
        name: text!(raw.name),
        replicas: plain!(raw.replicas).unwrap_or(1),
        gpus,
        resources: worker_resources(raw, gpus, &gpu_resource),
        gpu_resource,
        slots,
        rdma: raw.rdma.is_some(),
        shm,
    }
}

fn memory_limit(raw: &declare::Group) -> Option<Quantity> {
    let limits = raw.resources.as_ref()?.limits.as_ref()?;
    limits.0.iter().find(|(name, _)| name.0 == "memory").map(|(_, quantity)| quantity.value.clone())
}

/// Requests and limits alike, or as `resources` says; devices in both, as Kubernetes wants them.
fn worker_resources(raw: &declare::Group, gpus: u32, gpu_resource: &str) -> Resources {
    let mut resources = match &raw.resources {
        Some(full) => Resources {
            requests: pairs(full.requests.as_ref().map(|at| &at.value), |name, amount| {
                (name.0.clone(), amount.clone())
            }),
            limits: pairs(full.limits.as_ref().map(|at| &at.value), |name, amount| (name.0.clone(), amount.clone())),
        },
        None => alike([("cpu", &raw.cpu), ("memory", &raw.memory), ("ephemeral-storage", &raw.ephemeral_storage)]),
    };
    let rdma = raw.rdma.as_ref().map(|at| (text!(at.resource).unwrap_or_default(), plain!(at.count).unwrap_or(1)));
    let devices = (gpus > 0).then(|| (gpu_resource.to_owned(), gpus)).into_iter().chain(rdma);
    for (name, count) in devices {
        for side in [&mut resources.requests, &mut resources.limits] {
            side.retain(|(known, _)| *known != name);
            side.push((name.clone(), Quantity::units(count)));
        }
    }
    resources
}

fn alike<const N: usize>(amounts: [(&str, &Option<At<Quantity>>); N]) -> Resources {
    let both: Vec<(String, Quantity)> = amounts
        .into_iter()
        .filter_map(|(name, amount)| Some((name.to_owned(), amount.as_ref()?.value.clone())))
        .collect();
    Resources { requests: both.clone(), limits: both }
}

/// Each worker's ssh client takes a mebibyte there, and MPI a little.
fn launcher_memory(body: &declare::Body) -> Quantity {
    let workers = body.workers.as_ref().map(|at| &at.value);
    let workers: u32 = match workers.and_then(|workers| workers.groups.as_ref()) {
        Some(groups) => groups.value.iter().map(|group| plain!(group.value.replicas).unwrap_or(1)).sum(),
        None => workers.and_then(|workers| plain!(workers.replicas)).unwrap_or(1),
    };
    let most = body.elastic.as_ref().and_then(|at| plain!(at.value.max_workers)).unwrap_or(0).max(workers);
    let gibibytes = if most > 1_000 { 1 + (most * 3 / 2).div_ceil(1_024) } else { 2 };
    Quantity::parse(&format!("{gibibytes}Gi")).unwrap_or(Quantity::units(0))
}

pub fn launcher(body: &declare::Body, defaults: &mut Defaults) -> Launcher {
    let none = declare::Launcher::default();
    let raw = body.launcher.as_ref().map_or(&none, |at| &at.value);
    let kind = defaults.take("launcher.kind", plain!(raw.kind), LauncherKind::Mpirun, &"mpirun");
    let interactive = raw.interactive.as_ref().is_some_and(|at| at.value);
    let mpi = match kind {
        LauncherKind::Torchrun => Mpi::OpenMpi,
        _ => defaults.take("launcher.mpi", plain!(raw.mpi), Mpi::OpenMpi, &"openmpi"),
    };
    let idle_timeout = match interactive {
        true => defaults.take("launcher.idleTimeout", plain!(raw.idle_timeout), 7_200, &"2h"),
        false => 7_200,
    };
    let quantity = |at: &Option<At<Quantity>>| at.as_ref().map(|at| at.value.clone());
    let (one, two) = (Quantity::units(1), launcher_memory(body));
    let (retries, wait_timeout) = (
        defaults.take("launcher.retries", plain!(raw.retries), 3, &3),
        defaults.take("launcher.waitTimeout", plain!(raw.wait_timeout), 1_800, &"30m"),
    );
    let (cpu, memory) = match kind {
        LauncherKind::Torchrun => (one, two),
        _ => (
            defaults.take("launcher.cpu", quantity(&raw.cpu), one, &"1"),
            defaults.take("launcher.memory", quantity(&raw.memory), two.clone(), &two),
        ),
    };
    let both = vec![("cpu".to_owned(), cpu), ("memory".to_owned(), memory)];
    Launcher {
        kind,
        mpi,
        args: raw.args.iter().flat_map(|at| &at.value).map(|word| word.0.clone()).collect(),
        runs_ranks: raw.runs_ranks.as_ref().is_some_and(|at| at.value),
        interactive,
        idle_timeout,
        resources: Resources { requests: both.clone(), limits: both },
        image: text!(raw.image),
        retries,
        wait_timeout,
    }
}

pub fn controller(
    body: &declare::Body,
    target: &Facts,
    launcher: &Launcher,
    scheduling: &Scheduling,
    defaults: &mut Defaults,
) -> Controller {
    let queued = scheduling.gang.is_some() || scheduling.kueue.is_some() || scheduling.suspend;
    // Elsewhere a launcher and its workers are one workload, so a queue takes them whole.
    let queued = queued && target.own_workloads;
    let given = body.workers.as_ref().and_then(|workers| plain!(workers.controller));
    match (launcher.kind, queued) {
        (LauncherKind::Torchrun, _) => defaults.take("workers.controller", given, Controller::Job, &"Job (torchrun)"),
        (_, true) => defaults.take("workers.controller", given, Controller::Job, &"Job (scheduling)"),
        (_, false) => defaults.take("workers.controller", given, Controller::StatefulSet, &"StatefulSet"),
    }
}
