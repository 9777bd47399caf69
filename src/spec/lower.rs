//! What was written → what holds: defaults taken, units resolved, groups filled in.
//!
//! Lowering never fails. Where something required is missing, a problem was pushed already and
//! the result is not used.

use super::field::At;
use super::quantity::Quantity;
use super::raw;
use super::scalars::{Int, Word};
use super::valid::*;

/// Defaults as they are taken, in the spec's order.
#[derive(Default)]
struct Defaults(Vec<(&'static str, String)>);

impl Defaults {
    /// The value given, or the default, noted.
    fn take<V: Clone>(&mut self, path: &'static str, given: Option<V>, default: V, shown: &dyn ToString) -> V {
        given.unwrap_or_else(|| {
            self.0.push((path, shown.to_string()));
            default
        })
    }
}

impl Defaults {
    /// Those that the target has a use for.
    fn of(self, target: Target) -> Vec<(&'static str, String)> {
        const PODS: &[&str] = &[
            "security.",
            "ssh.",
            "placement.",
            "lifecycle.release",
            "workers.shm",
            "workers.controller",
            "workers.gpuResource",
            "launcher.waitTimeout",
            "launcher.cpu",
            "launcher.memory",
        ];
        let about_pods = |path: &str| PODS.iter().any(|pods| path.starts_with(pods));
        self.0.into_iter().filter(|(path, _)| target != Target::Slurm || !about_pods(path)).collect()
    }
}

/// The text of an optional field.
macro_rules! text {
    ($field:expr) => {
        $field.as_ref().map(|at| at.value.0.clone())
    };
}

/// The number, word or flag of an optional field.
macro_rules! plain {
    ($field:expr) => {
        $field.as_ref().map(|at| at.value.0)
    };
}

/// Takes every default.
pub fn lower(job: &raw::TrainingJob, target: Target) -> Spec {
    let mut defaults = Defaults::default();
    let none = raw::Body::default();
    let body = job.spec.as_ref().map_or(&none, |at| &at.value);
    let no_metadata = raw::Metadata::default();
    let metadata = job.metadata.as_ref().map_or(&no_metadata, |at| &at.value);

    let launcher = launcher(body, &mut defaults);
    let scheduling = scheduling(body);
    let controller = controller(body, target, &launcher, &scheduling, &mut defaults);
    if controller == Controller::Job || launcher.runs_ranks {
        // The launcher's pod is a worker.
        defaults.0.retain(|(path, _)| !["launcher.cpu", "launcher.memory"].contains(path));
    }
    let workdir = text!(body.workdir).or_else(|| body.code.as_ref().map(|code| mount_path(code)));
    Spec {
        target,
        name: text!(metadata.name).unwrap_or_default(),
        namespace: text!(metadata.namespace),
        labels: pairs(metadata.labels.as_ref().map(|at| &at.value), |key, value| (key.0.clone(), value.0.clone())),
        annotations: pairs(metadata.annotations.as_ref().map(|at| &at.value), |key, value| {
            (key.0.clone(), value.0.clone())
        }),
        image: image(body),
        rerun: text!(body.rerun),
        command: command(body),
        workdir,
        env: pairs(body.env.as_ref().map(|at| &at.value), |name, value| EnvVar {
            name: name.0.clone(),
            value: env_value(value),
        }),
        env_from: body.env_from.iter().flat_map(|at| &at.value).map(|from| env_from(from)).collect(),
        code: body.code.as_ref().map(|at| code(at)),
        groups: groups(body, &mut defaults),
        controller,
        launcher: Launcher { runs_ranks: launcher.runs_ranks && controller == Controller::StatefulSet, ..launcher },
        elastic: body.elastic.as_ref().map(|at| elastic(at, &mut defaults)),
        ssh: ssh(body, &mut defaults),
        collective: body.collective.as_ref().map(|at| collective(at)).unwrap_or_default(),
        storage: storage(body),
        placement: placement(body, &mut defaults),
        scheduling,
        lifecycle: lifecycle(body, controller, &mut defaults),
        security: security(body, &mut defaults),
        observability: observability(body, &mut defaults),
        slurm: body.slurm.as_ref().map(|at| slurm(at)).unwrap_or_default(),
        patches: body.patches.iter().flat_map(|at| &at.value).filter_map(|at| patch(at)).collect(),
        defaults: defaults.of(target),
    }
}

fn pairs<K, V, T>(table: Option<&super::scalars::Table<K, V>>, pair: impl Fn(&K, &V) -> T) -> Vec<T> {
    table.into_iter().flat_map(|table| &table.0).map(|(key, value)| pair(key, value)).collect()
}

fn image(body: &raw::Body) -> Image {
    match body.image.as_ref().map(|at| &at.value) {
        Some(raw::Image::Full(parts)) => Image {
            reference: match (text!(parts.name), text!(parts.digest)) {
                (Some(name), Some(digest)) => format!("{}@{digest}", name.split('@').next().unwrap_or_default()),
                (name, _) => name.unwrap_or_default(),
            },
            pull_policy: plain!(parts.pull_policy),
            pull_secrets: parts.pull_secrets.iter().flat_map(|at| &at.value).map(|name| name.0.clone()).collect(),
        },
        Some(raw::Image::Name(name)) => {
            Image { reference: name.0.clone(), pull_policy: None, pull_secrets: Vec::new() }
        }
        None => Image { reference: String::new(), pull_policy: None, pull_secrets: Vec::new() },
    }
}

/// The words every rank runs. Words behind a script are its `$1`, `$2`, ...
fn command(body: &raw::Body) -> Vec<String> {
    let mut words = match body.command.as_ref().map(|at| &at.value) {
        Some(raw::CommandLine::Words(words)) => words.clone(),
        Some(raw::CommandLine::Script(script)) => {
            let mut words = vec!["bash".to_owned(), "-c".to_owned(), script.clone()];
            words.extend(body.args.as_ref().filter(|args| !args.is_empty()).map(|_| "bash".to_owned()));
            words
        }
        None => Vec::new(),
    };
    words.extend(body.args.iter().flat_map(|at| &at.value).map(|word| word.0.clone()));
    words
}

fn env_value(value: &raw::EnvValue) -> EnvValue {
    match value {
        raw::EnvValue::Literal(text) => EnvValue::Text(text.clone()),
        raw::EnvValue::From(from) => {
            let key = text!(from.key).unwrap_or_default();
            match (text!(from.secret), text!(from.config_map)) {
                (Some(name), _) => EnvValue::Secret { name, key },
                (None, Some(name)) => EnvValue::ConfigMap { name, key },
                (None, None) => EnvValue::Field(text!(from.field).unwrap_or_default()),
            }
        }
    }
}

fn env_from(from: &raw::EnvFrom) -> EnvFrom {
    EnvFrom {
        prefix: text!(from.prefix),
        source: match text!(from.secret) {
            Some(name) => EnvFromSource::Secret(name),
            None => EnvFromSource::ConfigMap(text!(from.config_map).unwrap_or_default()),
        },
        optional: from.optional.as_ref().is_some_and(|at| at.value),
    }
}

fn mount_path(code: &raw::Code) -> String {
    text!(code.mount_path).unwrap_or_else(|| "/workspace".to_owned())
}

fn code(code: &raw::Code) -> Code {
    let source = match text!(code.config_map) {
        Some(name) => CodeSource::ConfigMap(name),
        None => CodeSource::Files(pairs(code.files.as_ref().map(|at| &at.value), |name, text| {
            (name.0.clone(), text.0.clone())
        })),
    };
    Code { mount_path: mount_path(code), source }
}

fn groups(body: &raw::Body, defaults: &mut Defaults) -> Vec<Group> {
    let Some(workers) = body.workers.as_ref().map(|at| &at.value) else { return Vec::new() };
    let shared = raw::Group {
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
        None => vec![group(&raw::Group { replicas: workers.replicas.clone(), ..shared }, defaults)],
    }
}

/// A group's own fields over those shared by all.
fn over(own: &raw::Group, shared: &raw::Group) -> raw::Group {
    raw::Group {
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

fn group(raw: &raw::Group, defaults: &mut Defaults) -> Group {
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

fn memory_limit(raw: &raw::Group) -> Option<Quantity> {
    let limits = raw.resources.as_ref()?.limits.as_ref()?;
    limits.0.iter().find(|(name, _)| name.0 == "memory").map(|(_, quantity)| quantity.value.clone())
}

/// Requests and limits alike, or as `resources` says; devices in both, as Kubernetes wants them.
fn worker_resources(raw: &raw::Group, gpus: u32, gpu_resource: &str) -> Resources {
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
fn launcher_memory(body: &raw::Body) -> Quantity {
    let workers = body.workers.as_ref().map(|at| &at.value);
    let workers: u32 = match workers.and_then(|workers| workers.groups.as_ref()) {
        Some(groups) => groups.value.iter().map(|group| plain!(group.value.replicas).unwrap_or(1)).sum(),
        None => workers.and_then(|workers| plain!(workers.replicas)).unwrap_or(1),
    };
    let most = body.elastic.as_ref().and_then(|at| plain!(at.value.max_workers)).unwrap_or(0).max(workers);
    let gibibytes = if most > 1_000 { 1 + (most * 3 / 2).div_ceil(1_024) } else { 2 };
    Quantity::parse(&format!("{gibibytes}Gi")).unwrap_or(Quantity::units(0))
}

fn launcher(body: &raw::Body, defaults: &mut Defaults) -> Launcher {
    let none = raw::Launcher::default();
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

fn scheduling(body: &raw::Body) -> Scheduling {
    let Some(raw) = body.scheduling.as_ref().map(|at| &at.value) else { return Scheduling::default() };
    let gang = plain!(raw.gang).flatten();
    let own = match gang {
        Some(Gang::Volcano) => Some("volcano"),
        Some(Gang::Coscheduling) => Some("scheduler-plugins-scheduler"),
        None => None,
    };
    Scheduling {
        gang,
        queue: text!(raw.queue),
        kueue: text!(raw.kueue),
        suspend: raw.suspend.as_ref().is_some_and(|at| at.value),
        scheduler: text!(raw.scheduler).or(own.map(str::to_owned)),
    }
}

fn controller(
    body: &raw::Body,
    target: Target,
    launcher: &Launcher,
    scheduling: &Scheduling,
    defaults: &mut Defaults,
) -> Controller {
    let queued = scheduling.gang.is_some() || scheduling.kueue.is_some() || scheduling.suspend;
    // Elsewhere a launcher and its workers are one workload, so a queue takes them whole.
    let queued = queued && target == Target::Plain;
    let given = body.workers.as_ref().and_then(|workers| plain!(workers.controller));
    match (launcher.kind, queued) {
        (LauncherKind::Torchrun, _) => defaults.take("workers.controller", given, Controller::Job, &"Job (torchrun)"),
        (_, true) => defaults.take("workers.controller", given, Controller::Job, &"Job (scheduling)"),
        (_, false) => defaults.take("workers.controller", given, Controller::StatefulSet, &"StatefulSet"),
    }
}

fn elastic(raw: &raw::Elastic, defaults: &mut Defaults) -> Elastic {
    let cooldown = raw.cooldown.as_ref().map(|at| &at.value);
    Elastic {
        min_workers: plain!(raw.min_workers).unwrap_or(1),
        max_workers: plain!(raw.max_workers).unwrap_or(1),
        cooldown: cooldown.and_then(|pair| match pair.as_slice() {
            [low, high] => Some((u64::from(low.0), u64::from(high.0))),
            _ => None,
        }),
        timeout: defaults.take("elastic.timeout", plain!(raw.timeout), 600, &"10m"),
        reset_limit: plain!(raw.reset_limit),
    }
}

fn ssh(body: &raw::Body, defaults: &mut Defaults) -> Ssh {
    let none = raw::Ssh::default();
    let raw = body.ssh.as_ref().map_or(&none, |at| &at.value);
    let user = "khorovod".to_owned();
    if plain!(body.launcher.as_ref().and_then(|launcher| launcher.kind.as_ref())) == Some(LauncherKind::Torchrun) {
        return Ssh { port: 2222, secret: None, user };
    }
    Ssh {
        port: defaults.take("ssh.port", port(raw.port.as_ref()), 2222, &2222),
        secret: text!(raw.secret),
        user: text!(raw.user).unwrap_or(user),
    }
}

fn port(at: Option<&At<Int<1, 65_535>>>) -> Option<u16> {
    at.and_then(|at| u16::try_from(at.value.0).ok())
}

fn collective(raw: &raw::Collective) -> Collective {
    Collective {
        debug: plain!(raw.debug),
        interface: text!(raw.interface),
        infiniband: raw.infiniband.as_ref().map(|at| at.value),
        fusion_threshold: raw.fusion_threshold.as_ref().map(|at| at.value.clone()),
        cycle_time: plain!(raw.cycle_time),
        autotune: raw.autotune.as_ref().map(|at| at.value),
        hierarchical_allreduce: raw.hierarchical_allreduce.as_ref().map(|at| at.value),
        timeline: text!(raw.timeline),
    }
}

fn storage(body: &raw::Body) -> Vec<Volume> {
    let shared = body.workers.as_ref().is_some_and(|workers| {
        workers.groups.is_some() || plain!(workers.replicas).is_some_and(|replicas| replicas > 1)
    });
    let default_modes = if shared { "ReadWriteMany" } else { "ReadWriteOnce" };
    body.storage.iter().flat_map(|at| &at.value).filter_map(|at| volume(at, default_modes)).collect()
}

fn volume(raw: &raw::Storage, default_mode: &'static str) -> Option<Volume> {
    Some(Volume {
        name: text!(raw.name).unwrap_or_default(),
        mount_path: text!(raw.mount_path).unwrap_or_default(),
        read_only: raw.read_only.as_ref().is_some_and(|at| at.value),
        sub_path: text!(raw.sub_path),
        source: volume_source(raw, default_mode)?,
    })
}

fn volume_source(raw: &raw::Storage, default_mode: &'static str) -> Option<VolumeSource> {
    if let Some(at) = &raw.claim {
        return Some(VolumeSource::Claim(claim(at, default_mode)));
    }
    if let Some(name) = text!(raw.existing_claim) {
        return Some(VolumeSource::ExistingClaim(name));
    }
    if let Some(at) = &raw.per_worker {
        return Some(VolumeSource::PerWorker(claim(at, "ReadWriteOnce")));
    }
    if let Some(at) = &raw.nfs {
        return Some(VolumeSource::Nfs { server: text!(at.server)?, path: text!(at.path)? });
    }
    if let Some(at) = &raw.persistent_volume {
        let claim = Claim {
            size: raw.size.as_ref()?.value.clone(),
            storage_class: None,
            access_modes: modes(raw.access_modes.as_ref(), "ReadWriteMany"),
        };
        return Some(VolumeSource::PersistentVolume { source: at.value.0.clone(), claim });
    }
    if let Some(at) = &raw.s3 {
        return Some(VolumeSource::S3(s3(at)?));
    }
    if let Some(path) = text!(raw.host_path) {
        return Some(VolumeSource::HostPath(path));
    }
    let empty = raw.empty_dir.as_ref()?;
    Some(VolumeSource::EmptyDir { size: empty.size.as_ref().map(|at| at.value.clone()) })
}

fn claim(raw: &raw::Claim, default_mode: &'static str) -> Claim {
    Claim {
        size: raw.size.as_ref().map_or(Quantity::units(0), |at| at.value.clone()),
        storage_class: text!(raw.storage_class),
        access_modes: modes(raw.access_modes.as_ref(), default_mode),
    }
}

fn modes(raw: Option<&At<Vec<At<raw::AccessMode>>>>, default_mode: &'static str) -> Vec<&'static str> {
    match raw {
        Some(at) if !at.is_empty() => at.iter().map(|mode| mode.0).collect(),
        _ => vec![default_mode],
    }
}

fn s3(raw: &raw::S3) -> Option<S3> {
    let (download, upload) = plain!(raw.direction).unwrap_or((true, false));
    let mut prefix = text!(raw.prefix).unwrap_or_default();
    if !prefix.is_empty() && !prefix.ends_with('/') {
        prefix.push('/');
    }
    Some(S3 {
        endpoint: text!(raw.endpoint),
        bucket: text!(raw.bucket)?,
        prefix,
        region: text!(raw.region).unwrap_or_else(|| "us-east-1".to_owned()),
        secret: text!(raw.secret),
        download,
        upload,
        size: raw.size.as_ref().map(|at| at.value.clone()),
    })
}

fn placement(body: &raw::Body, defaults: &mut Defaults) -> Placement {
    let none = raw::Placement::default();
    let raw = body.placement.as_ref().map_or(&none, |at| &at.value);
    let pack = text!(raw.pack);
    let spread = match &pack {
        Some(_) => None,
        None => {
            let host = "kubernetes.io/hostname".to_owned();
            Some(defaults.take("placement.spread", text!(raw.spread), host, &"kubernetes.io/hostname, softly"))
        }
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
        host_network: raw.host_network.as_ref().is_some_and(|at| at.value),
    }
}

fn toleration(raw: &raw::Toleration) -> serde_json::Value {
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

fn lifecycle(body: &raw::Body, controller: Controller, defaults: &mut Defaults) -> Lifecycle {
    let none = raw::Lifecycle::default();
    let raw = body.lifecycle.as_ref().map_or(&none, |at| &at.value);
    let keep = match controller {
        Controller::StatefulSet => defaults.take("lifecycle.release", plain!(raw.release), false, &"scaleDown"),
        Controller::Job => false,
    };
    Lifecycle { deadline: plain!(raw.deadline), ttl_after_finished: plain!(raw.ttl_after_finished), keep }
}

fn security(body: &raw::Body, defaults: &mut Defaults) -> Security {
    let none = raw::Security::default();
    let raw = body.security.as_ref().map_or(&none, |at| &at.value);
    let profile = defaults.take("security.profile", plain!(raw.profile), Profile::Restricted, &"restricted");
    let (user, group) = match profile {
        Profile::OpenShift => (plain!(raw.run_as_user), plain!(raw.fs_group)),
        _ => {
            let user = defaults.take("security.runAsUser", plain!(raw.run_as_user), 65_532, &65_532);
            (Some(user), Some(defaults.take("security.fsGroup", plain!(raw.fs_group), user, &user)))
        }
    };
    let flag = |at: &Option<At<bool>>| at.as_ref().map(|at| at.value);
    Security {
        profile,
        run_as_user: user,
        fs_group: group,
        network_policy: defaults.take("security.networkPolicy", flag(&raw.network_policy), true, &true),
        service_account: text!(raw.service_account),
        read_only_root_filesystem: defaults.take(
            "security.readOnlyRootFilesystem",
            flag(&raw.read_only_root_filesystem),
            true,
            &true,
        ),
    }
}

fn observability(body: &raw::Body, defaults: &mut Defaults) -> Observability {
    let none = raw::Observability::default();
    let raw = body.observability.as_ref().map_or(&none, |at| &at.value);
    let metrics = raw.metrics.as_ref().and_then(|at| {
        Some(Metrics { port: port(at.port.as_ref())?, pod_monitor: at.pod_monitor.as_ref().is_some_and(|at| at.value) })
    });
    let prefix = raw.logs.as_ref().and_then(|logs| logs.rank_prefix.as_ref()).map(|at| at.value);
    Observability {
        tensorboard: raw.tensorboard.as_ref().and_then(|at| text!(at.logdir)),
        metrics,
        rank_prefix: defaults.take("observability.logs.rankPrefix", prefix, true, &true),
    }
}

fn slurm(raw: &raw::Slurm) -> Slurm {
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
        gres: text!(raw.gres),
        args: raw.args.iter().flat_map(|at| &at.value).map(|at| at.0.clone()).collect(),
        setup: text!(raw.setup),
        wrap: words(&raw.wrap),
        srun: raw.srun.as_ref().map(|at| Srun { mpi: text!(at.mpi), args: words(&at.args) }),
    }
}

fn patch(raw: &raw::Patch) -> Option<Patch> {
    let target = raw.target.as_ref();
    Some(Patch {
        kind: target.and_then(|target| plain!(target.kind)).map(str::to_owned),
        name: target.and_then(|target| text!(target.name)),
        patch: raw.patch.as_ref()?.value.0.clone(),
    })
}
