//! Lists the fields of a resolved spec as paths and values, including defaults. `plan --against` compares these lists,
//! and the name of the run is a hash of them. See [`fields`]. The paths are those that a user writes in the spec,
//! without the prefix `spec.`.
//!
//! Every struct of the spec is destructured without `..`, so the code does not compile until each new field is listed
//! here. Different values of a field must give different texts: if the pods of two specs differ, their lists must
//! differ, too.

use serde_json::Value as Json;

use super::{Shape, patches};
use crate::job::may_be_secret;
use crate::job::types::format_duration;
use crate::job::valid::{
    Checkpoint, Claim, ClaimSource, Code, CodeSource, Collective, Download, DownloadSource, Egress, Elastic, EnvFrom,
    EnvFromSource, EnvValue, EnvVar, Gang, Group, HealthCheck, HealthPolicy, Image, Launcher, LauncherKind,
    LauncherPod, Lifecycle, Metrics, Mpi, Observability, Pairs, Patch, Placement, Progress, RankOrder, ResourceClaim,
    Resources, S3, Scheduling, Security, Slices, Spec, Ssh, Stall, Topology, Volume, VolumeSource,
};
use crate::yaml::flow::flow;

/// The consequence of changing a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The change starts a new run, because pods observe the value or Kubernetes cannot change it in existing
    /// workloads.
    Run,
    /// Objects change in place and the run continues.
    InPlace,
    /// The field is part of a PersistentVolumeClaim, in which Kubernetes can change only the size.
    Claim,
}

/// One field that has a value.
#[derive(Debug)]
pub struct Field {
    pub path: String,
    pub value: String,
    pub reach: Reach,
    /// Whether the value must not be shown.
    pub is_hidden: bool,
    /// If the field is the size of a claim: the size in thousandths of a byte. Sizes are compared, because a claim may
    /// grow but not shrink.
    pub amount: Option<i128>,
}

/// Collects fields.
struct List(Vec<Field>);

// Arguments are passed by value so that each field needs one short line.
#[allow(clippy::needless_pass_by_value)]
impl List {
    fn add(&mut self, reach: Reach, path: impl Into<String>, value: impl ToString) {
        let (path, value) = (path.into(), value.to_string());
        self.0.push(Field { path, value, reach, is_hidden: false, amount: None });
    }

    /// Adds a field whose change starts a new run.
    fn run(&mut self, path: impl Into<String>, value: impl ToString) {
        self.add(Reach::Run, path, value);
    }

    /// Adds a field whose change starts a new run if `is_fixed` is true.
    fn run_if(&mut self, is_fixed: bool, path: impl Into<String>, value: impl ToString) {
        self.add(if is_fixed { Reach::Run } else { Reach::InPlace }, path, value);
    }

    /// Adds a field whose change starts a new run, if it has a value.
    fn optional(&mut self, path: &str, value: Option<impl ToString>) {
        self.optional_if(true, path, value);
    }

    /// Adds a field if it has a value. The change of the field starts a new run only if `is_fixed` is true.
    fn optional_if(&mut self, is_fixed: bool, path: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.run_if(is_fixed, path, value);
        }
    }

    /// Adds one field per key of a map.
    fn pairs(&mut self, reach: Reach, path: &str, pairs: &Pairs) {
        for (key, value) in pairs {
            self.add(reach, format!("{path}.{key}"), value);
        }
    }

    /// Hides the value of the field that was added last.
    fn hide_last(&mut self) {
        if let Some(field) = self.0.last_mut() {
            field.is_hidden = true;
        }
    }
}

/// The fields of a spec that have a value.
pub fn fields(spec: &Spec) -> Vec<Field> {
    let shape = Shape::of(spec);
    // Whether the target writes the field into an immutable part of an object.
    let fixed = |path: &str| spec.target.immutable_fields.contains(&path);
    let Spec {
        // The target is not a field of the spec. The hash for the name of the run includes it separately.
        target: _,
        name,
        namespace: _,
        labels,
        annotations,
        image,
        run_tag,
        command,
        working_dir,
        env,
        env_from,
        code,
        groups,
        health_check,
        compute_domain,
        launcher,
        elastic,
        ssh,
        collective,
        storage,
        placement,
        scheduling,
        lifecycle,
        security,
        observability,
        // These fields apply only to batch scripts, which are not objects that change in place.
        slurm: _,
        patches,
        // The other fields already contain the values of `defaults`.
        defaults: _,
    } = spec;
    let mut list = List(Vec::with_capacity(96));
    list.run("metadata.name", name);
    list.pairs(Reach::InPlace, "metadata.labels", labels);
    list.pairs(Reach::InPlace, "metadata.annotations", annotations);
    let Image { reference, pull_policy, pull_secrets } = image;
    list.run("image", reference);
    list.optional("image.pullPolicy", *pull_policy);
    list.run("image.pullSecrets", pull_secrets.join(" "));
    list.optional("runTag", run_tag.as_ref());
    list.run("command", arguments(command));
    list.optional("workingDir", working_dir.as_ref());
    self::env(&mut list, env);
    self::env_from(&mut list, env_from);
    self::code(&mut list, code.as_ref());
    for one in groups {
        group(&mut list, one);
    }
    let HealthCheck { policy, command, timeout } = health_check;
    let is_checked = *policy != HealthPolicy::Never;
    list.run("workers.healthCheck.policy", format!("{policy:?}"));
    let command = Some(arguments(command)).filter(|_| is_checked && !command.is_empty());
    list.optional_if(true, "workers.healthCheck.timeout", command.as_ref().map(|_| format_duration(*timeout)));
    list.optional("workers.healthCheck.command", command);
    list.optional("workers.computeDomain", *compute_domain);
    self::launcher(&mut list, launcher, shape);
    if let Some(elastic) = elastic {
        self::elastic(&mut list, elastic, launcher.kind);
    }
    let Ssh { port, secret, user } = ssh;
    list.run("ssh.port", port);
    list.run("ssh.user", user);
    list.optional_if(shape != Shape::Agents, "ssh.secretName", secret.as_ref());
    self::storage(&mut list, storage);
    self::collective(&mut list, collective);
    self::placement(&mut list, placement, launcher.kind.has_agents());
    // The version of Kubernetes changes the version of the PodGroup, but no pod.
    let Scheduling {
        gang,
        volcano_queue,
        local_queue,
        workload_priority_class,
        partial_admission,
        suspend,
        scheduler_name,
        kube_version: _,
    } = scheduling;
    let gang = gang.map(|gang| match gang {
        Gang::Volcano => "volcano",
        Gang::Coscheduling => "coscheduling",
        Gang::Native => "native",
    });
    // Pods contain the name of their PodGroup. A target whose own controller schedules all pods together has no
    // PodGroup.
    list.optional_if(!spec.target.is_gang, "scheduling.gang", gang);
    list.optional_if(fixed("scheduling.volcanoQueue"), "scheduling.volcanoQueue", volcano_queue.as_ref());
    // These are labels and annotations of the workload, not of its pods. But with a topology, the pods contain the annotations of the
    // scheduler that places them.
    list.optional_if(spec.placement.topology.is_some(), "scheduling.localQueue", local_queue.as_ref());
    list.optional_if(false, "scheduling.workloadPriorityClassName", workload_priority_class.as_ref());
    list.add(Reach::InPlace, "scheduling.partialAdmission", partial_admission);
    list.optional("scheduling.schedulerName", scheduler_name.as_ref());
    list.add(Reach::InPlace, "scheduling.suspend", suspend);
    // In an elastic job, torchrun itself counts the restarts, and its limit is a variable of the pods.
    let fixed_retries =
        fixed("lifecycle.retries") || shape == Shape::Agents && spec.target.has_pods && elastic.is_some();
    let Lifecycle {
        deadline,
        start_timeout,
        retries,
        retries_reset_after,
        retries_without_progress,
        final_exit_codes,
        ttl_after_finished,
        keep_workers,
        checkpoint,
        stall,
    } = lifecycle;
    list.add(Reach::InPlace, "lifecycle.startTimeout", format_duration(*start_timeout));
    list.run_if(fixed_retries, "lifecycle.retries", retries);
    let resets = retries_reset_after.map_or("never".to_owned(), format_duration);
    list.add(Reach::InPlace, "lifecycle.retriesResetAfter", resets);
    list.optional_if(false, "lifecycle.retriesWithoutProgress", *retries_without_progress);
    let codes = final_exit_codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    list.optional_if(false, "lifecycle.finalExitCodes", Some(codes).filter(|codes| !codes.is_empty()));
    list.optional_if(fixed("lifecycle.deadline"), "lifecycle.deadline", deadline.map(format_duration));
    list.optional_if(
        fixed("lifecycle.ttlAfterFinished"),
        "lifecycle.ttlAfterFinished",
        ttl_after_finished.map(format_duration),
    );
    // Whether the launcher may scale the workers.
    let could_scale = spec.target.own_workloads && shape == Shape::StatefulSet;
    list.run_if(could_scale, "lifecycle.keepWorkers", keep_workers);
    let Checkpoint { signal, grace_period } = checkpoint;
    list.run("lifecycle.checkpoint.signal", format!("SIG{signal}"));
    list.run("lifecycle.checkpoint.gracePeriod", format_duration((*grace_period).into()));
    if let Some(Stall { timeout, file, metric, retries, evidence }) = stall {
        list.add(Reach::InPlace, "lifecycle.stall.timeout", format_duration(*timeout));
        list.optional("lifecycle.stall.file", file.as_ref());
        list.optional("lifecycle.stall.metric", metric.as_ref());
        list.run("lifecycle.stall.action", if *retries { "retry" } else { "report" });
        list.optional("lifecycle.stall.evidence", evidence.as_ref());
    }
    self::security(&mut list, security);
    // For other targets, a controller ends the run. With `keepWorkers`, the user deletes the workers. In both cases the
    // pods need no permissions, so the field has no effect on them.
    list.run_if(spec.target.own_workloads && !lifecycle.keep_workers, "security.apiAccess", security.api_access);
    self::observability(&mut list, observability, launcher.kind);
    for (index, patch) in patches.iter().enumerate() {
        let starts = patches::starts_run(patch, spec);
        let Patch { kind, name, patch } = patch;
        list.optional_if(starts, &format!("patches[{index}].target.kind"), kind.as_ref());
        list.optional_if(starts, &format!("patches[{index}].target.name"), name.as_ref());
        list.run_if(starts, format!("patches[{index}].patch"), patch);
    }
    list.0
}

fn env(list: &mut List, env: &[EnvVar]) {
    for EnvVar { name, value } in env {
        let path = format!("env.{name}");
        match value {
            EnvValue::Text(text) => {
                list.run(path, text);
                if may_be_secret(name, text) {
                    list.hide_last();
                }
            }
            EnvValue::Secret { name, key } => {
                list.run(format!("{path}.secretKeyRef.name"), name);
                list.run(format!("{path}.secretKeyRef.key"), key);
            }
            EnvValue::ConfigMap { name, key } => {
                list.run(format!("{path}.configMapKeyRef.name"), name);
                list.run(format!("{path}.configMapKeyRef.key"), key);
            }
            EnvValue::Field(field) => list.run(format!("{path}.fieldRef.fieldPath"), field),
        }
    }
}

fn env_from(list: &mut List, all: &[EnvFrom]) {
    for (index, EnvFrom { prefix, source, optional }) in all.iter().enumerate() {
        let path = format!("envFrom[{index}]");
        let (kind, name) = match source {
            EnvFromSource::Secret(name) => ("secretRef", name),
            EnvFromSource::ConfigMap(name) => ("configMapRef", name),
        };
        list.run(format!("{path}.{kind}.name"), name);
        list.run(format!("{path}.{kind}.optional"), optional);
        list.optional(&format!("{path}.prefix"), prefix.as_ref());
    }
}

fn code(list: &mut List, code: Option<&Code>) {
    let Some(Code { mount_path, source }) = code else { return };
    list.run("code.mountPath", mount_path);
    match source {
        CodeSource::ConfigMap(name) => list.run("code.configMapName", name),
        CodeSource::Files(files) => {
            for (name, text) in files {
                list.run(format!("code.files.{name}"), text);
                // A file is too long to show on one line.
                list.hide_last();
            }
        }
    }
}

fn group(list: &mut List, group: &Group) {
    let Group { name, replicas, spares, gpus, gpu_resource, slots, resources: amounts, rdma, claims, gpu_claim, shm } =
        group;
    let prefix = name.as_ref().map_or("workers".to_owned(), |name| format!("workers.groups.{name}"));
    list.run(format!("{prefix}.replicas"), replicas);
    if *spares > 0 {
        list.run(format!("{prefix}.spares"), spares);
    }
    list.run(format!("{prefix}.gpus"), gpus);
    list.run_if(*gpus > 0, format!("{prefix}.gpuResource"), gpu_resource);
    list.run(format!("{prefix}.slotsPerWorker"), slots);
    resources(list, true, &prefix, amounts);
    if *rdma {
        list.run(format!("{prefix}.rdma"), rdma);
    }
    for ResourceClaim { name, source } in claims {
        let path = format!("{prefix}.resourceClaims.{name}");
        match source {
            ClaimSource::Existing(claim) => list.run(format!("{path}.resourceClaimName"), claim),
            ClaimSource::Template(template) => list.run(format!("{path}.resourceClaimTemplateName"), template),
            ClaimSource::Devices(devices) => list.run(format!("{path}.devices"), flow(devices)),
        }
    }
    list.optional(&format!("{prefix}.gpuClaim"), gpu_claim.as_ref());
    list.run(format!("{prefix}.shm"), shm);
}

fn resources(list: &mut List, fixed: bool, prefix: &str, resources: &Resources) {
    let Resources { requests, limits } = resources;
    for (list_name, amounts) in [("requests", requests), ("limits", limits)] {
        for (name, quantity) in amounts {
            list.run_if(fixed, format!("{prefix}.{list_name}.{name}"), quantity);
        }
    }
}

fn launcher(list: &mut List, launcher: &Launcher, shape: Shape) {
    let Launcher {
        kind,
        mpi,
        args,
        program,
        runs_in,
        runs_ranks,
        interactive,
        idle_timeout,
        resources: amounts,
        image,
        lost_timeout,
    } = launcher;
    let mpi = match mpi {
        Mpi::OpenMpi => "openmpi",
        Mpi::IntelMpi => "intelmpi",
        Mpi::Mpich => "mpich",
    };
    let own_pod = shape == Shape::StatefulSet;
    list.run("launcher.kind", kind.name());
    list.run("launcher.mpi", mpi);
    list.run_if(kind.takes_args(), "launcher.args", arguments(args));
    list.optional("launcher.program", program.as_ref());
    let runs_in = if *runs_in == LauncherPod::Own { "ownPod" } else { "firstWorker" };
    list.run_if(shape != Shape::Agents, "launcher.runsIn", runs_in);
    list.run("launcher.runsRanks", runs_ranks);
    list.add(Reach::InPlace, "launcher.interactive", interactive);
    list.add(Reach::InPlace, "launcher.idleTimeout", format_duration(*idle_timeout));
    list.add(Reach::InPlace, "launcher.lostTimeout", format_duration(*lost_timeout));
    list.optional_if(own_pod, "launcher.image", image.as_ref());
    // A launcher that runs ranks has the resources of a worker.
    resources(list, own_pod && !runs_ranks, "launcher", amounts);
}

fn elastic(list: &mut List, elastic: &Elastic, kind: LauncherKind) {
    let Elastic { min_replicas, max_replicas, cooldown, timeout, reset_limit } = elastic;
    let horovodrun = kind == LauncherKind::Horovodrun;
    list.run("workers.elastic.minReplicas", min_replicas);
    list.run("workers.elastic.maxReplicas", max_replicas);
    list.run_if(horovodrun || kind == LauncherKind::Torchrun, "workers.elastic.timeout", format_duration(*timeout));
    list.optional_if(horovodrun, "workers.elastic.resetLimit", *reset_limit);
    list.optional_if(
        horovodrun,
        "workers.elastic.cooldown",
        cooldown.map(|(min, max)| format!("{} to {}", format_duration(min), format_duration(max))),
    );
}

fn storage(list: &mut List, storage: &[Volume]) {
    for Volume { name, mount_path, read_only, sub_path, source } in storage {
        let path = format!("storage.{name}");
        list.run(format!("{path}.mountPath"), mount_path);
        list.run(format!("{path}.readOnly"), read_only);
        list.optional(&format!("{path}.subPath"), sub_path.as_ref());
        match source {
            VolumeSource::Claim(made) => claim(list, &format!("{path}.claim"), made, Reach::Claim),
            // Another run has another StatefulSet, which creates new claims from this template.
            VolumeSource::PerWorker(made) => claim(list, &format!("{path}.perWorker"), made, Reach::Run),
            VolumeSource::PersistentVolume { source, claim: made } => {
                list.add(Reach::Claim, format!("{path}.persistentVolume.source"), source);
                claim(list, &format!("{path}.claim"), made, Reach::Claim);
            }
            VolumeSource::ExistingClaim(name) => list.run(format!("{path}.existingClaim"), name),
            VolumeSource::Nfs { server, path: export } => list.run(format!("{path}.nfs"), format!("{server}:{export}")),
            VolumeSource::HostPath(host) => list.run(format!("{path}.hostPath.path"), host),
            VolumeSource::EmptyDir { size } => {
                list.run(
                    format!("{path}.emptyDir.sizeLimit"),
                    size.as_ref().map_or(String::new(), ToString::to_string),
                );
            }
            VolumeSource::S3(one) => s3(list, &format!("{path}.s3"), one),
            VolumeSource::Download(one) => download(list, &format!("{path}.download"), one),
        }
    }
}

fn s3(list: &mut List, path: &str, s3: &S3) {
    let S3 { endpoint, bucket, prefix, region, secret, download, upload, upload_interval, size } = s3;
    list.optional(&format!("{path}.endpoint"), endpoint.as_ref());
    list.run(format!("{path}.bucket"), bucket);
    list.run(format!("{path}.prefix"), prefix);
    list.run(format!("{path}.region"), region);
    list.optional(&format!("{path}.secretName"), secret.as_ref());
    let direction = match (download, upload) {
        (true, true) => "both",
        (true, false) => "in",
        _ => "out",
    };
    list.run(format!("{path}.direction"), direction);
    if *upload {
        list.run(format!("{path}.uploadInterval"), format_duration(*upload_interval));
    }
    list.optional(&format!("{path}.sizeLimit"), size.as_ref());
}

fn download(list: &mut List, path: &str, download: &Download) {
    let Download { source, secret, size } = download;
    match source {
        DownloadSource::HuggingFace { repository, revision, files } => {
            list.run(format!("{path}.huggingFace"), repository);
            list.run(format!("{path}.revision"), revision);
            for (index, pattern) in files.iter().enumerate() {
                list.run(format!("{path}.files[{index}]"), pattern);
            }
        }
        DownloadSource::Url { url, sha256, unpacks } => {
            list.run(format!("{path}.url"), url);
            list.optional(&format!("{path}.sha256"), sha256.as_ref());
            list.run(format!("{path}.unpacks"), unpacks);
        }
    }
    list.optional(&format!("{path}.secretName"), secret.as_ref());
    list.optional(&format!("{path}.sizeLimit"), size.as_ref());
}

/// The fields of a claim. A claim that is not part of a workload does not affect the run.
fn claim(list: &mut List, path: &str, claim: &Claim, reach: Reach) {
    let Claim { size, storage_class, access_modes } = claim;
    list.add(reach, format!("{path}.size"), size);
    if let Some(field) = list.0.last_mut().filter(|_| reach == Reach::Claim) {
        field.amount = Some(size.milli());
    }
    let class = storage_class.as_deref().unwrap_or("the cluster's default");
    list.add(reach, format!("{path}.storageClassName"), class);
    list.add(reach, format!("{path}.accessModes"), access_modes.join(" "));
}

fn collective(list: &mut List, collective: &Collective) {
    let Collective {
        debug,
        interface,
        infiniband,
        fusion_threshold,
        cycle_time,
        autotune,
        hierarchical_allreduce,
        timeline,
    } = collective;
    list.optional("collective.ncclDebug", *debug);
    list.optional("collective.interface", interface.as_ref());
    list.optional("collective.infiniband", *infiniband);
    list.optional("collective.fusionThreshold", fusion_threshold.as_ref());
    list.optional("collective.cycleTime", cycle_time.map(|time| format!("{time}ms")));
    list.optional("collective.autotune", *autotune);
    list.optional("collective.hierarchicalAllreduce", *hierarchical_allreduce);
    list.optional("collective.timeline", timeline.as_ref());
}

fn placement(list: &mut List, placement: &Placement, has_agents: bool) {
    let Placement {
        node_selector,
        tolerations,
        affinity,
        priority_class,
        runtime_class,
        spread,
        pack,
        topology,
        host_network,
    } = placement;
    list.pairs(Reach::Run, "placement.nodeSelector", node_selector);
    for (index, toleration) in tolerations.iter().enumerate() {
        list.run(format!("placement.tolerations[{index}]"), toleration);
    }
    list.optional("placement.affinity", affinity.as_ref());
    list.optional("placement.priorityClassName", priority_class.as_ref());
    list.optional("placement.runtimeClassName", runtime_class.as_ref());
    list.optional("placement.spread", spread.as_ref());
    list.optional("placement.pack", pack.as_ref());
    if let Some(Topology { required, preferred, slices, rank_order }) = topology {
        list.optional("placement.topology.required", required.as_ref().map(|level| &level.name));
        list.optional("placement.topology.preferred", preferred.as_ref().map(|level| &level.name));
        if let Some(Slices { size, required }) = slices {
            list.run("placement.topology.slices.size", size);
            list.run("placement.topology.slices.required", &required.name);
        }
        // Agents number their ranks by the index of the pod. Levels still add an account that may read nodes.
        let order = rank_order.as_ref().filter(|order| !has_agents || !matches!(order, RankOrder::Measured));
        let order = order.map(|order| match order {
            RankOrder::Levels(levels) => levels.iter().map(|level| level.name.as_str()).collect::<Vec<_>>().join(" "),
            // A level of this name, which is a node label, must not look the same.
            RankOrder::Measured => "measured times".to_owned(),
        });
        list.optional("placement.topology.rankOrder", order);
    }
    list.run("placement.hostNetwork", host_network);
}

fn security(list: &mut List, security: &Security) {
    let Security {
        pod_security_level,
        run_as_user,
        fs_group,
        network_policy,
        egress,
        egress_to,
        service_account,
        worker_account,
        api_access: _,
        read_only_root_filesystem,
    } = security;
    // If a user id is set, pods contain only the id, and the level has no effect on them.
    list.run_if(
        run_as_user.is_none(),
        "security.podSecurityLevel",
        format!("{pod_security_level:?}").to_ascii_lowercase(),
    );
    list.optional("security.runAsUser", *run_as_user);
    list.optional("security.fsGroup", *fs_group);
    list.add(Reach::InPlace, "security.networkPolicy", network_policy);
    let egress = match egress {
        Egress::Open => "open",
        Egress::NoMetadata => "noMetadata",
        Egress::Private => "private",
        Egress::Listed => "listed",
    };
    list.add(Reach::InPlace, "security.egress", egress);
    let peers = (!egress_to.is_empty()).then(|| flow(&Json::from(egress_to.clone())));
    list.optional_if(false, "security.egressTo", peers);
    list.optional("security.serviceAccountName", service_account.as_ref());
    list.optional("workers.serviceAccountName", worker_account.as_ref());
    list.run("security.readOnlyRootFilesystem", read_only_root_filesystem);
}

fn observability(list: &mut List, observability: &Observability, kind: LauncherKind) {
    let Observability { tensorboard_logdir, metrics, launcher_metrics, progress, events, rank_prefix } = observability;
    list.optional("observability.tensorboardLogdir", tensorboard_logdir.as_ref());
    for (metrics, path) in [
        (metrics, ["observability.metrics.port", "observability.metrics.podMonitor", "observability.metrics.from"]),
        (
            launcher_metrics,
            [
                "observability.launcherMetrics.port",
                "observability.launcherMetrics.podMonitor",
                "observability.launcherMetrics.from",
            ],
        ),
    ] {
        if let Some(Metrics { port, pod_monitor, from }) = metrics {
            list.run(path[0], port);
            list.add(Reach::InPlace, path[1], pod_monitor);
            let peers = from.as_ref().map(|peers| flow(&Json::from(peers.clone())));
            list.optional_if(false, path[2], peers);
        }
    }
    match progress {
        None => {}
        Some(Progress::Auto) => list.run("observability.progress.output", "auto"),
        Some(Progress::Pattern(pattern)) => list.run("observability.progress.pattern", pattern),
        Some(Progress::File(file)) => list.run("observability.progress.file", file),
    }
    list.optional("observability.events", events.then_some(true));
    let prefixes = matches!(kind, LauncherKind::Mpirun | LauncherKind::Deepspeed) || kind.has_agents();
    list.run_if(prefixes, "observability.logs.rankPrefix", rank_prefix);
}

/// The arguments of a command on one line. They are written as a list in brackets if one of them contains whitespace or starts
/// with a bracket.
fn arguments(words: &[String]) -> String {
    let is_plain = |word: &String| !word.is_empty() && !word.contains(char::is_whitespace) && !word.starts_with('[');
    if words.iter().all(is_plain) { words.join(" ") } else { flow(&Json::from(words)) }
}
