//! Builds a [`Report`] from a [`Plan`] and the [`Description`] of its target.

use std::fmt::Write as _;

use super::commands::commands;
use super::{
    Amount, Cost, Default, Description, Domain, Gang, Head, Link, Object, Peer, PodSecurity, Report, Storage, Workers,
    purpose,
};
use crate::job::declare;
use crate::job::limits::AGENTS_PORT;
use crate::job::quantity::Quantity;
use crate::job::types::format_duration;
use crate::job::valid::{
    Checkpoint, Claim, ClaimSource, DownloadSource, Egress, Gang as GangKind, Group, LauncherKind, Level, Mpi, Placer,
    RankOrder, ResourceClaim, Resources, Slices, Spec, Topology, Volume, VolumeSource,
};
use crate::plan::{Plan, RENDEZVOUS_PORT, Shape, Team};
use crate::pods;
use crate::problem::count;

impl Report {
    /// The report of a plan. `objects` are the objects that the job becomes.
    pub(crate) fn new(plan: &Plan, description: &Description, mut objects: Vec<Object>) -> Self {
        let spec = &plan.spec;
        let batch = description.batch.as_ref();
        let storage: Vec<Storage> = spec.storage.iter().map(|volume| storage(&spec.name, volume)).collect();
        for object in &mut objects {
            purpose::describe(plan, description, &storage, object);
        }
        let launcher_pod = plan.shape == Shape::StatefulSet && (spec.target.has_pods || spec.launcher.runs_ranks);
        let pod_count = plan.workers + plan.spares + u32::from(launcher_pod);
        Self {
            job: spec.name.clone(),
            namespace: spec.namespace.clone(),
            run: plan.run.clone(),
            image: spec.image.reference.clone(),
            shape: description.shape,
            launcher: batch.and_then(|batch| batch.launcher.clone()).unwrap_or_else(|| launcher(plan)),
            launch: batch.map_or_else(|| pods::launch(plan), |batch| batch.launch.clone()),
            workers: worker_groups(plan, description),
            ranks: plan.np,
            pods: pod_count,
            requests: total_requests(plan, launcher_pod),
            cost: cost(plan, description),
            head: Head {
                host: plan.launcher_host(),
                own_pod: launcher_pod,
                ranks: if spec.launcher.runs_ranks { plan.teams.first().map_or(0, |team| team.slots) } else { 0 },
                requests: if launcher_pod { amounts(&requests_of(launcher_resources(plan))) } else { Vec::new() },
            },
            links: links(plan),
            guarded: spec.security.network_policy && !spec.placement.host_network,
            nodes: placement(plan),
            apart: spec.placement.spread.as_deref() == Some("kubernetes.io/hostname"),
            domains: domains(spec),
            nvlink: spec.compute_domain.is_some(),
            gang: gang(plan, description),
            elastic: spec.elastic.as_ref().map(|elastic| (elastic.min_replicas, elastic.max_replicas)),
            storage,
            pod_security: PodSecurity { level: plan.level.name, reasons: plan.level.reasons.clone() },
            release: release(plan, description),
            notes: notes(plan, description, &objects, pod_count),
            commands: commands(plan, description, &objects, pod_count),
            objects,
            defaults: spec
                .defaults
                .iter()
                .map(|(path, value)| Default { path: path.clone(), value: value.clone() })
                .collect(),
        }
    }
}

/// The variables by which torchrun and JAX get the number of ranks and their rendezvous.
fn launch_variables(plan: &Plan) -> Option<String> {
    let (start, of_pod) = match plan.spec.launcher.kind {
        LauncherKind::Torchrun => ("PET_", "PET_NODE_RANK, the index of the pod"),
        LauncherKind::Jax => ("JAX_", "JAX_PROCESS_ID, the rank"),
        _ => return None,
    };
    let own = plan.env.iter().filter(|(name, _)| name.starts_with(start));
    let own: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
    Some(format!("variables of the launcher: {}, and {of_pod}", own.join(", ")))
}

/// The program that starts the ranks, as a phrase.
fn launcher(plan: &Plan) -> String {
    let launcher = &plan.spec.launcher;
    let mpi = match launcher.mpi {
        Mpi::OpenMpi => "Open MPI",
        Mpi::IntelMpi => "Intel MPI",
        Mpi::Mpich => "MPICH",
    };
    match launcher.kind {
        LauncherKind::Mpirun if plan.spec.defaults.iter().any(|(path, _)| path == "launcher.kind") => {
            format!("mpirun ({mpi}), default; for PyTorch: `launcher: torchrun`")
        }
        LauncherKind::Mpirun => format!("mpirun ({mpi})"),
        LauncherKind::Horovodrun => "horovodrun".to_owned(),
        LauncherKind::Torchrun => match &launcher.program {
            Some(program) => format!("{program}, in place of torchrun"),
            None => "torchrun".to_owned(),
        },
        LauncherKind::Deepspeed => "deepspeed".to_owned(),
        LauncherKind::Jax => "khorovod, with the variables of jax.distributed.initialize()".to_owned(),
        LauncherKind::Tensorflow => "khorovod, with TF_CONFIG for MultiWorkerMirroredStrategy".to_owned(),
        LauncherKind::Shell if launcher.interactive => {
            format!(
                "none: you start commands with kubectl exec; the session ends after {} without use",
                format_duration(launcher.idle_timeout)
            )
        }
        LauncherKind::Shell => "the command itself, which can use the hostfile and ssh".to_owned(),
    }
}

/// The groups of workers, with their first ranks.
fn worker_groups(plan: &Plan, description: &Description) -> Vec<Workers> {
    let ranks = plan.first_ranks();
    let first_rank = |index: usize| ranks.as_ref()?.get(index).copied();
    plan.teams.iter().enumerate().map(|(index, team)| workers(plan, description, team, first_rank(index))).collect()
}

/// One group of workers.
fn workers(plan: &Plan, description: &Description, team: &Team, first_rank: Option<u32>) -> Workers {
    let group = &plan.spec.groups[team.group];
    let host = |index| match &description.batch {
        Some(batch) => batch.hosts.to_owned(),
        None => team.host(index, &plan.service()),
    };
    Workers {
        group: group.name.clone(),
        origin: team.origin(plan).into_owned(),
        workload: team.workload.clone(),
        first_rank,
        replicas: team.replicas,
        spares: team.spares,
        slots: team.slots,
        gpus: group.gpus,
        hosts: (host(0), host(team.replicas.saturating_sub(1))),
        requests: amounts(&requests_of(&group.resources)),
        shm: group.shm.to_string(),
    }
}

/// The GPUs and the bound on GPU hours.
fn cost(plan: &Plan, description: &Description) -> Cost {
    let gpus_per_worker = plan.spec.groups.first().map_or(0, Group::requested_gpus);
    let bounds = match &plan.spec.elastic {
        Some(elastic) => {
            (elastic.min_replicas.saturating_mul(gpus_per_worker), elastic.max_replicas.saturating_mul(gpus_per_worker))
        }
        None => (plan.gpus, plan.gpus),
    };
    let hours = |seconds: u64| seconds.saturating_mul(u64::from(bounds.1)).div_ceil(3_600);
    let most_seconds = description.batch.as_ref().map_or(plan.spec.lifecycle.deadline, |batch| batch.most_seconds);
    let most_hours = most_seconds.filter(|_| plan.gpus > 0).map(hours);
    Cost { gpus: plan.gpus, bounds, most_hours }
}

/// The network connections of the job.
fn links(plan: &Plan) -> Vec<Link> {
    let spec = &plan.spec;
    let link = |from, to, over: String| Link { from, to, over };
    let mut links = Vec::new();
    if plan.shape == Shape::Agents {
        let over = match spec.launcher.kind {
            LauncherKind::Jax => format!("coordinator of JAX, port {RENDEZVOUS_PORT}"),
            LauncherKind::Tensorflow => format!("agents, port {AGENTS_PORT}"),
            _ => format!("rendezvous, port {RENDEZVOUS_PORT}"),
        };
        links.push(link(Peer::Workers, Peer::Head, over));
    } else {
        links.push(link(Peer::Head, Peer::Workers, format!("ssh, port {}", spec.ssh.port)));
    }
    let interface = spec.collective.interface.as_ref().map_or(String::new(), |name| format!(" over {name}"));
    links.push(link(Peer::Workers, Peer::Workers, format!("gradients{interface}")));
    if plan.scales() {
        links.push(link(Peer::Head, Peer::Api, "scales the workers".to_owned()));
    }
    if spec.placement.host_network {
        links.push(link(Peer::Others, Peer::Workers, "any port that the nodes allow".to_owned()));
    } else if !spec.security.network_policy {
        links.push(link(Peer::Others, Peer::Workers, "any port: there is no NetworkPolicy".to_owned()));
    } else if let Some(metrics) = &spec.observability.metrics {
        let clients = if metrics.from.is_some() { ", from observability.metrics.from" } else { "" };
        links.push(link(Peer::Others, Peer::Workers, format!("metrics, port {} only{clients}", metrics.port)));
    } else if let Some(metrics) = &spec.observability.launcher_metrics {
        let clients = if metrics.from.is_some() { ", from observability.launcherMetrics.from" } else { "" };
        links.push(link(Peer::Others, Peer::Head, format!("metrics, port {} only{clients}", metrics.port)));
    }
    links
}

/// The placement of the pods, as a phrase.
fn placement(plan: &Plan) -> String {
    let placement = &plan.spec.placement;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(placement.spread.as_ref().map(|key| format!("spread over {key} (preferred)")));
    parts.extend(placement.pack.as_ref().map(|key| format!("packed within one {key} (preferred)")));
    if let Some(Topology { required, preferred, slices, rank_order }) = &placement.topology {
        let by = match plan.spec.placer() {
            Placer::Kueue => "by Kueue",
            Placer::VolcanoJob | Placer::VolcanoGroup => "by Volcano",
            Placer::Native => "by the PodGroup",
            Placer::Affinity => "by affinity",
        };
        parts.extend(required.as_ref().map(|level| format!("all workers in one {} (required, {by})", level.label)));
        parts.extend(preferred.as_ref().map(|level| format!("all workers in one {} (preferred, {by})", level.label)));
        parts.extend(slices.as_ref().map(|Slices { size, required }| {
            format!("each {size} workers in one {} (required, {by})", required.label)
        }));
        parts.extend(rank_order.as_ref().map(|order| match order {
            RankOrder::Levels(levels) => {
                let levels: Vec<&str> = levels.iter().map(|level| level.label.as_str()).collect();
                format!("ranks in the order of {}", levels.join(", then "))
            }
            RankOrder::Measured => "ranks in the order of measured round-trip times".to_owned(),
        }));
    }
    parts.extend(placement.node_selector.iter().map(|(key, value)| format!("only nodes with {key}={value}")));
    if placement.affinity.is_some() {
        parts.push("by placement.affinity".to_owned());
    }
    if parts.is_empty() { "any node with free resources".to_owned() } else { parts.join("; ") }
}

/// The domains of the network in which workers run together.
fn domains(spec: &Spec) -> Vec<Domain> {
    let Some(Topology { required, preferred, slices, .. }) = &spec.placement.topology else { return Vec::new() };
    let all = |level: &Option<Level>, required| {
        level.as_ref().map(|level| Domain { level: level.name.clone(), required, workers: None })
    };
    let sliced = slices.as_ref().map(|Slices { size, required }| Domain {
        level: required.name.clone(),
        required: true,
        workers: Some(*size),
    });
    all(required, true).into_iter().chain(all(preferred, false)).chain(sliced).collect()
}

/// Which pods a scheduler starts together or not at all.
fn gang(plan: &Plan, description: &Description) -> Option<Gang> {
    let by = match plan.spec.scheduling.gang {
        Some(GangKind::Volcano) => "Volcano",
        Some(GangKind::Coscheduling) => "coscheduling",
        Some(GangKind::Native) => "Kubernetes",
        None if plan.spec.target.is_gang => description.controller,
        None => return None,
    };
    Some(Gang { by, pods: plan.min_members() })
}

/// The requests of a container. As in Kubernetes, a limit without a request is also the request.
fn requests_of(resources: &Resources) -> Vec<(String, i128)> {
    let requested = resources.requests.iter();
    let limited =
        resources.limits.iter().filter(|(name, _)| !resources.requests.iter().any(|(other, _)| other == name));
    requested.chain(limited).map(|(name, quantity)| (name.clone(), quantity.milli())).collect()
}

/// The resources of the launcher pod.
fn launcher_resources(plan: &Plan) -> &Resources {
    match plan.spec.groups.first().filter(|_| plan.spec.launcher.runs_ranks) {
        Some(group) => &group.resources,
        None => &plan.spec.launcher.resources,
    }
}

/// The sum of the requests of all pods. The resources are in the order in which they first occur.
fn total_requests(plan: &Plan, launcher_pod: bool) -> Vec<Amount> {
    let mut sums: Vec<(String, i128)> = Vec::new();
    let groups = plan.teams.iter().map(|team| (&plan.spec.groups[team.group], i128::from(team.pods())));
    let pods = groups.map(|(group, count): (&Group, _)| (&group.resources, count));
    let launcher = launcher_pod.then_some((launcher_resources(plan), 1));
    for (resources, count) in pods.chain(launcher) {
        for (name, milli) in requests_of(resources) {
            match sums.iter_mut().find(|(other, _)| *other == name) {
                Some((_, sum)) => *sum += milli * count,
                None => sums.push((name, milli * count)),
            }
        }
    }
    amounts(&sums)
}

/// Formats sums as quantities.
fn amounts(sums: &[(String, i128)]) -> Vec<Amount> {
    let is_in_bytes = |name: &str| name == "memory" || name.ends_with("storage") || name.starts_with("hugepages-");
    sums.iter()
        .map(|(name, milli)| Amount { resource: name.clone(), quantity: quantity(*milli, is_in_bytes(name)) })
        .collect()
}

/// Formats a sum with the largest unit that divides it: `1536Gi`, `2500m`. `milli` is in thousandths. If `is_in_bytes` is
/// true, the result has a binary unit and fractions of a byte are rounded up.
pub fn quantity(milli: i128, is_in_bytes: bool) -> String {
    if is_in_bytes {
        let bytes = (milli + 999) / 1_000;
        let unit = [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")]
            .into_iter()
            .find(|(shift, _)| bytes > 0 && bytes % (1_i128 << shift) == 0);
        return unit.map_or(bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift));
    }
    if milli % 1_000 == 0 { (milli / 1_000).to_string() } else { format!("{milli}m") }
}

/// The description of a volume of the job.
fn storage(job: &str, volume: &Volume) -> Storage {
    let size = |size: Option<&Quantity>| size.map_or(String::new(), |size| format!(", up to {size}"));
    let claim = |claim: &Claim| {
        let class = claim.storage_class.as_deref().map_or("default class".to_owned(), |class| format!("class {class}"));
        format!("{}, {class}, {}", claim.size, claim.access_modes.join(" and "))
    };
    let (source, outlives_job) = match &volume.source {
        VolumeSource::Claim(made) => (format!("claim {job}-{}: {}", volume.name, claim(made)), true),
        VolumeSource::ExistingClaim(name) => (format!("existing claim {name}"), true),
        VolumeSource::PerWorker(made) => (format!("one claim per worker: {}", claim(made)), true),
        VolumeSource::Nfs { server, path } => (format!("NFS {server}:{path}"), true),
        VolumeSource::PersistentVolume { claim: made, .. } => {
            (format!("volume and claim {job}-{}: {}", volume.name, claim(made)), true)
        }
        VolumeSource::S3(s3) => {
            let transfers = match (s3.download, s3.upload) {
                (true, true) => "downloaded before training, uploaded while it runs and after it",
                (true, false) => "downloaded once before training and passed on",
                _ => "uploaded during and after training",
            };
            (format!("s3://{}/{}, {transfers}{}", s3.bucket, s3.prefix, size(s3.size.as_ref())), s3.upload)
        }
        VolumeSource::Download(download) => {
            let source = match &download.source {
                DownloadSource::HuggingFace { repository, revision, .. } => {
                    format!("{repository} at {}, from the Hugging Face Hub", &revision[..revision.len().min(7)])
                }
                DownloadSource::Url { url, unpacks, .. } => {
                    format!("{}{}", url.split('?').next().unwrap_or(url), if *unpacks { ", unpacked" } else { "" })
                }
            };
            (format!("{source}, downloaded once and passed on{}", size(download.size.as_ref())), false)
        }
        VolumeSource::HostPath(path) => (format!("{path} of the node"), true),
        VolumeSource::EmptyDir { size: limit } => (format!("emptyDir{}", size(limit.as_ref())), false),
    };
    let source = if volume.read_only { format!("{source}, read-only") } else { source };
    let source = volume.sub_path.as_ref().map_or(source.clone(), |path| format!("{source}, folder {path}"));
    Storage { name: volume.name.clone(), mount_path: volume.mount_path.clone(), source, outlives_job }
}

/// Which credentials the S3 volumes without a Secret use.
fn s3_identity(spec: &Spec) -> Option<String> {
    let is_keyless = |source: &VolumeSource| matches!(source, VolumeSource::S3(s3) if s3.secret.is_none());
    let volumes: Vec<_> =
        spec.storage.iter().filter(|at| is_keyless(&at.source)).map(|at| at.mount_path.as_str()).collect();
    if volumes.is_empty() {
        return None;
    }
    let credentials = match spec.security.worker_account.as_ref().or(spec.security.service_account.as_ref()) {
        Some(account) => {
            format!("the role that AWS gives to the ServiceAccount {account}, which it must have before the pods start")
        }
        None => "no credentials, as for a public bucket".to_owned(),
    };
    let verb = if volumes.len() == 1 { "uses" } else { "use" };
    Some(format!("S3: {} {verb} {credentials}", volumes.join(" and ")))
}

/// Which files are uploaded to S3, if there are several workers.
fn uploads(plan: &Plan) -> Option<String> {
    let paths: Vec<_> = plan.uploads().into_iter().map(|(volume, _)| volume.mount_path.as_str()).collect();
    (!paths.is_empty() && plan.workers > 1)
        .then(|| format!("S3: only the files of the first worker are uploaded from {}", paths.join(" and ")))
}

/// When the GPUs are released, as a sentence.
fn release(plan: &Plan, description: &Description) -> String {
    let released = if plan.gpus > 0 { "GPUs" } else { "workers" };
    let deadline = plan.spec.lifecycle.deadline;
    let deadline =
        deadline.map_or(String::new(), |seconds| format!(", or {} after the start", format_duration(seconds)));
    if let Some(batch) = &description.batch {
        return format!("{}{deadline}", batch.release);
    }
    match plan.shape {
        Shape::StatefulSet if !plan.spec.target.own_workloads && !plan.spec.lifecycle.keep_workers => {
            let controller = description.controller;
            format!("{controller} stops the workers when the launcher ends{deadline}; this releases the {released}")
        }
        Shape::StatefulSet if plan.spec.lifecycle.keep_workers => {
            format!(
                "only when you delete the job, because lifecycle.keepWorkers is true: until then the {released} stay allocated"
            )
        }
        Shape::StatefulSet => {
            let end = if plan.spec.launcher.interactive {
                format!("after {} without use", format_duration(plan.spec.launcher.idle_timeout))
            } else {
                "when training succeeds or fails".to_owned()
            };
            format!("the launcher scales the workers to 0 {end}{deadline}; this releases the {released}")
        }
        Shape::IndexedJob | Shape::Agents => {
            format!(
                "all pods end when the pod with index 0 ends successfully or the run fails{deadline}; this releases the {released}"
            )
        }
    }
}

/// How many failed attempts are retried, and what else counts as a failed attempt, in addition to a program that fails.
fn failures(plan: &Plan) -> Vec<String> {
    let spec = &plan.spec;
    let retries = match spec.lifecycle.retries {
        // See `launcher.sh` and `agent.sh`: such an attempt does not count.
        0 if spec.target.own_workloads => {
            "the first failed attempt ends the run, unless a worker was lost after more than a minute".to_owned()
        }
        0 => "the first failed attempt ends the run".to_owned(),
        retries => {
            let in_a_row = spec.lifecycle.retries_reset_after.map_or("", |_| " in a row");
            format!("the run ends after {}{in_a_row}", count(u64::from(retries) + 1, "failed attempt"))
        }
    };
    let mut lines = vec![format!("failures: {retries}")];
    let Checkpoint { signal, grace_period } = &spec.lifecycle.checkpoint;
    let usual = declare::Checkpoint::default();
    let uploads = !plan.uploads().is_empty();
    if uploads || (*signal, u64::from(*grace_period)) != (usual.signal().value.0, usual.grace_period().value.0) {
        let time = format_duration(u64::from(*grace_period));
        let again = if uploads { ", and as long again to upload".to_owned() } else { String::new() };
        lines.push(format!("checkpoint: before the ranks are ended, they get SIG{signal} and {time} to save{again}"));
    }
    if let Some(stall) = &spec.lifecycle.stall {
        let signs = match (&stall.file, &stall.metric) {
            (None, None) => "output of any rank".to_owned(),
            (Some(file), None) => format!("a change of {file}"),
            (None, Some(metric)) => format!("a change of the metric {metric}"),
            (Some(file), Some(metric)) => format!("a change of {file} or of the metric {metric}"),
        };
        let effect = match stall.retries {
            true => "the attempt ends and counts as failed",
            false => "the launcher logs what the ranks do, and the training continues",
        };
        lines.push(format!("stall: after {} without {signs}, {effect}", format_duration(stall.timeout)));
    }
    lines
}

/// Other facts that matter for a review.
fn notes(plan: &Plan, description: &Description, objects: &[Object], pods: u32) -> Vec<String> {
    let spec = &plan.spec;
    let mut notes = Vec::new();
    if let Some(batch) = &description.batch {
        return batch.notes.clone();
    }
    if spec.namespace.is_none() {
        let may_change_job = spec.target.own_workloads && spec.security.api_access && !spec.lifecycle.keep_workers;
        let permission = if plan.scales() {
            "; the launcher may scale its workers only in `default`: for another namespace, set -n or metadata.namespace"
        } else if may_change_job {
            "; the pods may change their Job only in `default`: for another namespace, set -n or metadata.namespace"
        } else {
            ""
        };
        notes.push(format!(
            "no namespace is set: kubectl creates the objects in the current namespace of its context{permission}"
        ));
    }
    let has_no_request = |name: &str| {
        spec.groups.iter().any(|group| !requests_of(&group.resources).iter().any(|(known, _)| known == name))
    };
    let missing: Vec<&str> = ["cpu", "memory"].into_iter().filter(|name| has_no_request(name)).collect();
    if !missing.is_empty() {
        notes.push(format!(
            "workers request no {}: a ResourceQuota may reject their pods, and a node under pressure may evict them",
            missing.join(" and no ")
        ));
    }
    if spec.storage.is_empty() && !spec.launcher.interactive {
        notes.push("no storage: what the ranks write is lost with their pods".to_owned());
    }
    notes.extend(s3_identity(spec));
    notes.extend(uploads(plan));
    if let Some(account) = &spec.security.worker_account {
        let held = if plan.scales() {
            "; if no launcher can start any more, the workers keep their GPUs until you delete the run"
        } else {
            ""
        };
        notes.push(format!("workers: the ServiceAccount {account}, without a token for the API server{held}"));
    }
    if !spec.launcher.interactive {
        notes.push(match (&spec.elastic, spec.launcher.kind) {
            (Some(_), LauncherKind::Horovodrun) => {
                "lost node: training continues without its ranks, from the last commit".to_owned()
            }
            (Some(_), _) => "lost node: the ranks start again on the workers that are left; the program must load its newest checkpoint".to_owned(),
            _ => "lost node: all ranks start again; the program must load its newest checkpoint".to_owned(),
        });
        notes.extend(failures(plan));
    }
    notes.extend(launch_variables(plan));
    notes.extend(spec.groups.iter().flat_map(|group| &group.claims).map(
        |ResourceClaim { name, source }| match source {
            ClaimSource::Existing(claim) => format!("DRA: all workers share the ResourceClaim {claim} ({name})"),
            ClaimSource::Template(template) => {
                format!("DRA: each worker gets {name}, from the ResourceClaimTemplate {template}")
            }
            ClaimSource::Devices(_) => format!("DRA: each worker gets the devices of {name}"),
        },
    ));
    if spec.compute_domain.is_some() {
        notes.push("NVLink: all workers join a ComputeDomain of NVIDIA's DRA driver".to_owned());
    }
    let slurm = &spec.slurm;
    if slurm.partition.is_some() || slurm.time.is_some() || slurm.setup.is_some() || !slurm.modules.is_empty() {
        notes.push("slurm: these settings have an effect only with --target slurm".to_owned());
    }
    if spec.launcher.runs_ranks {
        notes.push(format!("the launcher pod also runs ranks: rank 0 runs on {}", plan.first_host()));
    }
    notes.extend(description.caveat.map(str::to_owned));
    if spec.placement.host_network {
        notes.push("hostNetwork: the pods share their node's network; NetworkPolicies do not apply to them".to_owned());
    }
    if spec.security.network_policy && !spec.placement.host_network {
        match spec.security.egress {
            Egress::Open => {}
            Egress::NoMetadata => {
                notes.push("egress: the NetworkPolicy closes the metadata service of the cloud".to_owned());
            }
            Egress::Listed => {
                notes.push(
                    "egress: the NetworkPolicy allows only pods of the job, DNS, and security.egressTo".to_owned(),
                );
            }
            Egress::Private => {
                let has_buckets = spec.storage.iter().any(|volume| matches!(volume.source, VolumeSource::S3(_)));
                let has_servers = spec.storage.iter().any(|volume| matches!(volume.source, VolumeSource::Download(_)));
                let servers = match (has_buckets, !has_servers) {
                    (false, true) => "API server has",
                    (true, true) => "API server and the S3 servers have",
                    (false, false) => "API server and the servers of the downloads have",
                    (true, false) => "API server, the S3 servers and the servers of the downloads have",
                };
                notes.push(format!(
                    "egress: the NetworkPolicy allows only private addresses; check that the {servers} one"
                ));
            }
        }
    }
    notes.extend(topology(plan));
    if let Some(topology) = spec.placement.topology.as_ref().filter(|topology| topology.rank_order.is_some()) {
        notes.push("rank order: the launcher sorts the workers when it has found them, so this plan cannot name the hosts of ranks".to_owned());
        if topology.reads_nodes() && spec.security.service_account.is_none() {
            notes.push(
                "rank order: a ClusterRole lets the pods read nodes; you need the permission to create it".to_owned(),
            );
        }
    }
    if let Some(gang) = gang(plan, description) {
        let (pods, what) = match plan.waits_for_gang() {
            true => (pods - 1, "workers"),
            false => (pods, "pods"),
        };
        let mut members = if gang.pods < pods {
            format!("{} of the {pods} {what} together or none, and the others when there is room", gang.pods)
        } else {
            format!("all {what} together or none")
        };
        if plan.waits_for_gang() {
            members += "; the launcher starts before them, and waits at most lifecycle.startTimeout";
        }
        let mut note = format!("gang: {} schedules {members}", gang.by);
        if spec.scheduling.gang == Some(GangKind::Native) {
            let (version, gates) = spec.scheduling.native_gang();
            let topology = match spec.placer() {
                Placer::Native => ",TopologyAwareWorkloadScheduling=true",
                _ => "",
            };
            let _ = write!(
                note,
                "; its API server needs --runtime-config={version}=true, and its API server and scheduler --feature-gates={gates}{topology}"
            );
        }
        notes.push(note);
    }
    if let Some(queue) = &spec.scheduling.local_queue {
        let class = scheduling_class(spec);
        notes.push(format!("Kueue: the job waits in the LocalQueue {queue}{class}"));
        notes.extend(changes_size(plan));
    } else if spec.scheduling.suspend {
        let (kind, field) = description.suspended;
        notes.push(format!("suspended: nothing starts until {field} of the {kind} is false"));
    }
    if plan.brings_keys() || plan.shape != Shape::Agents {
        let what = if plan.uses_ssh() { "ssh keys" } else { "the key of the pods that pass on downloads" };
        notes.push(match &spec.ssh.secret {
            None if !plan.brings_keys() => format!("ssh keys: one pair, created by {}", description.controller),
            Some(secret) => format!("{what}: the existing Secret {secret}"),
            None if objects.iter().any(|object| object.kind == "Secret") => {
                format!("{what}: the Secret {}-ssh, created with the run", plan.stem())
            }
            None => format!(
                "{what}: the Secret {}-ssh is not rendered: create it with khorovod keygen; for a fixed name set ssh.secretName",
                plan.stem()
            ),
        });
    }
    if plan.hostfile.is_none() && plan.shape != Shape::Agents {
        notes.push("the hostfile is too large for a ConfigMap: the launcher generates it".to_owned());
    }
    if !spec.patches.is_empty() {
        notes.push(format!("spec.patches: this plan does not show what the {} patches change", spec.patches.len()));
    }
    notes
}

/// How close together the workers run, and the component that places them.
fn topology(plan: &Plan) -> Vec<String> {
    let Some(Topology { required, preferred, slices, .. }) = &plan.spec.placement.topology else { return Vec::new() };
    let by = match plan.spec.placer() {
        Placer::Kueue => "Kueue places them, by annotations of the pods",
        Placer::VolcanoJob => "Volcano places them, by fields of its Job",
        Placer::VolcanoGroup => "Volcano places them, by the networkTopology of the PodGroup",
        Placer::Native => "the scheduler of Kubernetes places them, by the PodGroup",
        Placer::Affinity => "an affinity of the pods places them",
    };
    let level = |level: &Level| match level.name == level.label {
        true => format!("nodes with the same label {}", level.name),
        false => format!("one {} (nodes with the same label {})", level.name, level.label),
    };
    let required = required.as_ref().map(|one| format!("all workers run in {}, or do not start", level(one)));
    let preferred = preferred.as_ref().map(|one| match plan.spec.placer() {
        Placer::VolcanoJob | Placer::VolcanoGroup => {
            format!("all workers run as close together as possible, whatever level is named ({})", one.name)
        }
        _ => format!("all workers run in {}, if possible", level(one)),
    });
    let slices = slices
        .as_ref()
        .map(|Slices { size, required }| format!("each {size} workers run in {}, or do not start", level(required)));
    required.into_iter().chain(preferred).chain(slices).map(|text| format!("topology: {text}; {by}")).collect()
}

/// The priority class of a job in Kueue, as the end of a sentence.
fn scheduling_class(spec: &Spec) -> String {
    let class = spec.scheduling.workload_priority_class.as_ref();
    class.map_or_else(String::new, |class| format!(", with the WorkloadPriorityClass {class}"))
}

/// How Kueue changes the number of workers of an elastic job.
fn changes_size(plan: &Plan) -> Option<String> {
    let (least, most) = (plan.min_members(), plan.workers);
    if plan.spec.admits_part() {
        return Some(format!("Kueue starts {least} to {most} workers, as many as fit into the quota"));
    }
    plan.spec.is_elastic_in_kueue().then(|| {
        "Kueue: you can change the number of workers during the run; this needs Kueue 0.18, or 0.13 with the feature gate ElasticJobsViaWorkloadSlices".to_owned()
    })
}
