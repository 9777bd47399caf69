//! A resolved spec as a flat list of paths and values, defaults included: what `plan --against` compares, and what the
//! run's name is made of. Paths are those a person writes, below `spec`.
//!
//! Every struct of the spec is taken apart without `..`, so a new field does not compile until it is listed here. Two
//! specs that differ in what a pod sees have lists that differ: a value here is never two values of the spec.

use serde_json::Value as Json;

use super::{Shape, patches};
use crate::job::may_be_secret;
use crate::job::types::format_duration;
use crate::job::valid::{
    Claim, Code, CodeSource, Collective, Controller, Elastic, EnvFrom, EnvFromSource, EnvValue, EnvVar, Gang, Group,
    Image, Launcher, LauncherKind, Lifecycle, Metrics, Mpi, Observability, Pairs, Patch, Placement, Resources, S3,
    Scheduling, Security, Spec, Ssh, Volume, VolumeSource,
};
use crate::yaml::flow::flow;

/// How far a change of a field reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A new run: pods see the value, or Kubernetes does not change it in the workloads.
    Run,
    /// Objects change, and the run goes on.
    InPlace,
    /// A claim was made with it; Kubernetes does not change it.
    Claim,
}

/// One field.
#[derive(Debug)]
pub struct Field {
    pub path: String,
    pub value: String,
    pub reach: Reach,
    /// Whether the value must not be shown.
    pub hidden: bool,
    /// What to compare by size: a claim may grow.
    pub amount: Option<i128>,
}

/// Collects fields.
struct List(Vec<Field>);

// Values by value: one field stays on one line.
#[allow(clippy::needless_pass_by_value)]
impl List {
    fn add(&mut self, reach: Reach, path: impl Into<String>, value: impl ToString) {
        let (path, value) = (path.into(), value.to_string());
        self.0.push(Field { path, value, reach, hidden: false, amount: None });
    }

    /// A field that starts a new run.
    fn run(&mut self, path: impl Into<String>, value: impl ToString) {
        self.add(Reach::Run, path, value);
    }

    /// A field that starts a new run where `fixed` holds.
    fn run_if(&mut self, fixed: bool, path: impl Into<String>, value: impl ToString) {
        self.add(if fixed { Reach::Run } else { Reach::InPlace }, path, value);
    }

    fn some(&mut self, path: &str, value: Option<impl ToString>) {
        self.some_if(true, path, value);
    }

    fn some_if(&mut self, fixed: bool, path: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.run_if(fixed, path, value);
        }
    }

    fn pairs(&mut self, reach: Reach, path: &str, pairs: &Pairs) {
        for (key, value) in pairs {
            self.add(reach, format!("{path}.{key}"), value);
        }
    }

    fn hide_last(&mut self) {
        if let Some(field) = self.0.last_mut() {
            field.hidden = true;
        }
    }
}

/// Every field of a spec that has a value.
pub fn fields(spec: &Spec) -> Vec<Field> {
    let shape = Shape::of(spec);
    // Whether the target writes a field where it cannot change.
    let fixed = |path: &str| spec.target.immutable_fields.contains(&path);
    let Spec {
        // Not a field: the run's name holds it beside the fields.
        target: _,
        name,
        namespace: _,
        labels,
        annotations,
        image,
        rerun,
        command,
        workdir,
        env,
        env_from,
        code,
        groups,
        controller,
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
        // A batch script is no object that anyone could change: there is no run to keep.
        slurm: _,
        patches,
        // Their values are in the fields.
        defaults: _,
    } = spec;
    let mut list = List(Vec::with_capacity(96));
    list.run("metadata.name", name);
    list.pairs(Reach::InPlace, "metadata.labels", labels);
    list.pairs(Reach::InPlace, "metadata.annotations", annotations);
    let Image { reference, pull_policy, pull_secrets } = image;
    list.run("image", reference);
    list.some("image.pullPolicy", *pull_policy);
    list.run("image.pullSecrets", pull_secrets.join(" "));
    list.some("rerun", rerun.as_ref());
    list.run("command", words(command));
    list.some("workdir", workdir.as_ref());
    self::env(&mut list, env);
    self::env_from(&mut list, env_from);
    self::code(&mut list, code.as_ref());
    let controller = if *controller == Controller::Job { "Job" } else { "StatefulSet" };
    list.run_if(shape != Shape::Torchrun, "workers.controller", controller);
    for one in groups {
        group(&mut list, one);
    }
    // torchrun restarts its agents itself, as often as a variable of the pods says.
    let fixed_retries = fixed("launcher.retries") || shape == Shape::Torchrun && spec.target.has_pods;
    self::launcher(&mut list, launcher, shape, fixed_retries);
    if let Some(elastic) = elastic {
        self::elastic(&mut list, elastic, launcher.kind);
    }
    let Ssh { port, secret, user } = ssh;
    list.run("ssh.port", port);
    list.run("ssh.user", user);
    list.some_if(shape != Shape::Torchrun, "ssh.secret", secret.as_ref());
    self::storage(&mut list, storage);
    self::collective(&mut list, collective);
    self::placement(&mut list, placement);
    let Scheduling { gang, queue, kueue, suspend, scheduler } = scheduling;
    let gang = gang.map(|gang| if gang == Gang::Volcano { "volcano" } else { "coscheduling" });
    // Pods name their PodGroup, and a target that is a gang itself has none.
    list.some_if(!spec.target.is_gang, "scheduling.gang", gang);
    list.some_if(fixed("scheduling.queue"), "scheduling.queue", queue.as_ref());
    // A label of the workload, not of its pods.
    list.some_if(false, "scheduling.kueue", kueue.as_ref());
    list.some("scheduling.scheduler", scheduler.as_ref());
    list.add(Reach::InPlace, "scheduling.suspend", suspend);
    let Lifecycle { deadline, ttl_after_finished, keep } = lifecycle;
    list.some_if(fixed("lifecycle.deadline"), "lifecycle.deadline", deadline.map(format_duration));
    list.some_if(
        fixed("lifecycle.ttlAfterFinished"),
        "lifecycle.ttlAfterFinished",
        ttl_after_finished.map(format_duration),
    );
    // Whether the launcher may scale the workers.
    let could_scale = spec.target.own_workloads && shape == Shape::StatefulSet;
    list.run_if(could_scale, "lifecycle.release", if *keep { "keep" } else { "scaleDown" });
    self::security(&mut list, security);
    self::observability(&mut list, observability, launcher.kind);
    for (index, patch) in patches.iter().enumerate() {
        let starts = patches::starts_run(patch, spec);
        let Patch { kind, name, patch } = patch;
        list.some_if(starts, &format!("patches[{index}].target.kind"), kind.as_ref());
        list.some_if(starts, &format!("patches[{index}].target.name"), name.as_ref());
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
                list.run(format!("{path}.secret"), name);
                list.run(format!("{path}.key"), key);
            }
            EnvValue::ConfigMap { name, key } => {
                list.run(format!("{path}.configMap"), name);
                list.run(format!("{path}.key"), key);
            }
            EnvValue::Field(field) => list.run(format!("{path}.field"), field),
        }
    }
}

fn env_from(list: &mut List, all: &[EnvFrom]) {
    for (index, EnvFrom { prefix, source, optional }) in all.iter().enumerate() {
        let path = format!("envFrom[{index}]");
        match source {
            EnvFromSource::Secret(name) => list.run(format!("{path}.secret"), name),
            EnvFromSource::ConfigMap(name) => list.run(format!("{path}.configMap"), name),
        }
        list.some(&format!("{path}.prefix"), prefix.as_ref());
        list.run(format!("{path}.optional"), optional);
    }
}

fn code(list: &mut List, code: Option<&Code>) {
    let Some(Code { mount_path, source }) = code else { return };
    list.run("code.mountPath", mount_path);
    match source {
        CodeSource::ConfigMap(name) => list.run("code.configMap", name),
        CodeSource::Files(files) => {
            for (name, text) in files {
                list.run(format!("code.files.{name}"), text);
                // A whole program does not fit a line.
                list.hide_last();
            }
        }
    }
}

fn group(list: &mut List, group: &Group) {
    let Group { name, replicas, gpus, gpu_resource, slots, resources: amounts, rdma, shm } = group;
    let prefix = name.as_ref().map_or("workers".to_owned(), |name| format!("workers.groups.{name}"));
    list.run(format!("{prefix}.replicas"), replicas);
    list.run(format!("{prefix}.gpus"), gpus);
    list.run_if(*gpus > 0, format!("{prefix}.gpuResource"), gpu_resource);
    list.run(format!("{prefix}.slots"), slots);
    resources(list, true, &prefix, amounts);
    if *rdma {
        list.run(format!("{prefix}.rdma"), rdma);
    }
    list.run(format!("{prefix}.shm"), shm);
}

fn resources(list: &mut List, fixed: bool, prefix: &str, resources: &Resources) {
    let Resources { requests, limits } = resources;
    for (what, amounts) in [("requests", requests), ("limits", limits)] {
        for (name, quantity) in amounts {
            list.run_if(fixed, format!("{prefix}.{what}.{name}"), quantity);
        }
    }
}

fn launcher(list: &mut List, launcher: &Launcher, shape: Shape, fixed_retries: bool) {
    let Launcher {
        kind,
        mpi,
        args,
        runs_ranks,
        interactive,
        idle_timeout,
        resources: amounts,
        image,
        retries,
        wait_timeout,
    } = launcher;
    let mpi = match mpi {
        Mpi::OpenMpi => "openmpi",
        Mpi::IntelMpi => "intelmpi",
        Mpi::Mpich => "mpich",
    };
    let name = match kind {
        LauncherKind::Mpirun => "mpirun",
        LauncherKind::Horovodrun => "horovodrun",
        LauncherKind::Torchrun => "torchrun",
        LauncherKind::Deepspeed => "deepspeed",
        LauncherKind::Shell => "shell",
    };
    let own_pod = shape == Shape::StatefulSet;
    list.run("launcher.kind", name);
    list.run("launcher.mpi", mpi);
    list.run_if(*kind != LauncherKind::Shell, "launcher.args", words(args));
    list.run("launcher.runsRanks", runs_ranks);
    list.add(Reach::InPlace, "launcher.interactive", interactive);
    list.add(Reach::InPlace, "launcher.idleTimeout", format_duration(*idle_timeout));
    list.run_if(fixed_retries, "launcher.retries", retries);
    list.add(Reach::InPlace, "launcher.waitTimeout", format_duration(*wait_timeout));
    list.some_if(own_pod, "launcher.image", image.as_ref());
    // One that runs ranks has the workers' resources.
    resources(list, own_pod && !runs_ranks, "launcher", amounts);
}

fn elastic(list: &mut List, elastic: &Elastic, kind: LauncherKind) {
    let Elastic { min_workers, max_workers, cooldown, timeout, reset_limit } = elastic;
    let horovodrun = kind == LauncherKind::Horovodrun;
    list.run("elastic.minWorkers", min_workers);
    list.run("elastic.maxWorkers", max_workers);
    list.run_if(horovodrun || kind == LauncherKind::Torchrun, "elastic.timeout", format_duration(*timeout));
    list.some_if(horovodrun, "elastic.resetLimit", *reset_limit);
    list.some_if(horovodrun, "elastic.cooldown", cooldown.map(|(least, most)| format!("[{least}, {most}]")));
}

fn storage(list: &mut List, storage: &[Volume]) {
    for Volume { name, mount_path, read_only, sub_path, source } in storage {
        let path = format!("storage.{name}");
        list.run(format!("{path}.mountPath"), mount_path);
        list.run(format!("{path}.readOnly"), read_only);
        list.some(&format!("{path}.subPath"), sub_path.as_ref());
        match source {
            VolumeSource::Claim(made) => claim(list, &format!("{path}.claim"), made, Reach::Claim),
            // Claims of a StatefulSet: another run has another StatefulSet, with claims of its own.
            VolumeSource::PerWorker(made) => claim(list, &format!("{path}.perWorker"), made, Reach::Run),
            VolumeSource::PersistentVolume { source, claim: made } => {
                list.add(Reach::Claim, format!("{path}.persistentVolume"), source);
                claim(list, &format!("{path}.claim"), made, Reach::Claim);
            }
            VolumeSource::ExistingClaim(name) => list.run(format!("{path}.existingClaim"), name),
            VolumeSource::Nfs { server, path: export } => list.run(format!("{path}.nfs"), format!("{server}:{export}")),
            VolumeSource::HostPath(host) => list.run(format!("{path}.hostPath"), host),
            VolumeSource::EmptyDir { size } => {
                list.run(format!("{path}.emptyDir"), size.as_ref().map_or(String::new(), ToString::to_string));
            }
            VolumeSource::S3(one) => s3(list, &format!("{path}.s3"), one),
        }
    }
}

fn s3(list: &mut List, path: &str, s3: &S3) {
    let S3 { endpoint, bucket, prefix, region, secret, download, upload, size } = s3;
    list.some(&format!("{path}.endpoint"), endpoint.as_ref());
    list.run(format!("{path}.bucket"), bucket);
    list.run(format!("{path}.prefix"), prefix);
    list.run(format!("{path}.region"), region);
    list.some(&format!("{path}.secret"), secret.as_ref());
    let direction = match (download, upload) {
        (true, true) => "both",
        (true, false) => "in",
        _ => "out",
    };
    list.run(format!("{path}.direction"), direction);
    list.some(&format!("{path}.size"), size.as_ref());
}

/// The fields of a claim. Of a claim that stands in no workload, the object alone changes.
fn claim(list: &mut List, path: &str, claim: &Claim, reach: Reach) {
    let Claim { size, storage_class, access_modes } = claim;
    list.add(reach, format!("{path}.size"), size);
    if let Some(field) = list.0.last_mut().filter(|_| reach == Reach::Claim) {
        field.amount = Some(size.milli());
    }
    let class = storage_class.as_deref().unwrap_or("the cluster's default");
    list.add(reach, format!("{path}.storageClass"), class);
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
    list.some("collective.debug", *debug);
    list.some("collective.interface", interface.as_ref());
    list.some("collective.infiniband", *infiniband);
    list.some("collective.fusionThreshold", fusion_threshold.as_ref());
    list.some("collective.cycleTime", *cycle_time);
    list.some("collective.autotune", *autotune);
    list.some("collective.hierarchicalAllreduce", *hierarchical_allreduce);
    list.some("collective.timeline", timeline.as_ref());
}

fn placement(list: &mut List, placement: &Placement) {
    let Placement { node_selector, tolerations, affinity, priority_class, runtime_class, spread, pack, host_network } =
        placement;
    list.pairs(Reach::Run, "placement.nodeSelector", node_selector);
    for (index, toleration) in tolerations.iter().enumerate() {
        list.run(format!("placement.tolerations[{index}]"), toleration);
    }
    list.some("placement.affinity", affinity.as_ref());
    list.some("placement.priorityClass", priority_class.as_ref());
    list.some("placement.runtimeClass", runtime_class.as_ref());
    list.some("placement.spread", spread.as_ref());
    list.some("placement.pack", pack.as_ref());
    list.run("placement.hostNetwork", host_network);
}

fn security(list: &mut List, security: &Security) {
    let Security { profile, run_as_user, fs_group, network_policy, service_account, read_only_root_filesystem } =
        security;
    // With a user id, pods differ by the id and not by the profile.
    list.run_if(run_as_user.is_none(), "security.profile", format!("{profile:?}").to_lowercase());
    list.some("security.runAsUser", *run_as_user);
    list.some("security.fsGroup", *fs_group);
    list.add(Reach::InPlace, "security.networkPolicy", network_policy);
    list.some("security.serviceAccount", service_account.as_ref());
    list.run("security.readOnlyRootFilesystem", read_only_root_filesystem);
}

fn observability(list: &mut List, observability: &Observability, kind: LauncherKind) {
    let Observability { tensorboard, metrics, rank_prefix } = observability;
    list.some("observability.tensorboard.logdir", tensorboard.as_ref());
    if let Some(Metrics { port, pod_monitor }) = metrics {
        list.run("observability.metrics.port", port);
        list.add(Reach::InPlace, "observability.metrics.podMonitor", pod_monitor);
    }
    let prefixes = matches!(kind, LauncherKind::Mpirun | LauncherKind::Deepspeed | LauncherKind::Torchrun);
    list.run_if(prefixes, "observability.logs.rankPrefix", rank_prefix);
}

/// A command's words, as a list in brackets where blanks between them would not tell them apart.
fn words(words: &[String]) -> String {
    let is_plain = |word: &String| !word.is_empty() && !word.contains(char::is_whitespace) && !word.starts_with('[');
    if words.iter().all(is_plain) { words.join(" ") } else { flow(&Json::from(words)) }
}
