//! A resolved spec as a flat list of paths and values, with defaults, to compare two of them. Paths are below `spec`.

use serde_json::Value as Json;

use crate::job::types::format_duration;
use crate::job::valid::{
    Claim, Code, CodeSource, Controller, EnvFromSource, EnvValue, Gang, Group, LauncherKind, Mpi, Pairs, Resources,
    Spec, VolumeSource,
};
use crate::job::{self, may_be_secret};
use crate::yaml::flow::flow;

/// How far a change of a field reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The ranks can observe it: a new run.
    Run,
    /// An object changes, the ranks see nothing.
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
    /// A value not to be shown.
    pub hidden: bool,
    /// The size of a claim, which may grow.
    pub amount: Option<i128>,
}

/// Collects fields.
struct List {
    fields: Vec<Field>,
    /// Paths of fields whose change starts no new run, below `spec`.
    in_place: Vec<String>,
}

// Values are passed by value, so that each field is one line.
#[allow(clippy::needless_pass_by_value)]
impl List {
    fn add(&mut self, reach: Reach, path: impl Into<String>, value: impl ToString) {
        let (path, value) = (path.into(), value.to_string());
        self.fields.push(Field { path, value, reach, hidden: false, amount: None });
    }

    /// Adds a field with the reach that its declaration states.
    fn put(&mut self, path: impl Into<String>, value: impl ToString) {
        let path = path.into();
        let below = |parent: &String| {
            path.strip_prefix(parent.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let reach = if self.in_place.iter().any(below) { Reach::InPlace } else { Reach::Run };
        self.add(reach, path, value);
    }

    fn some(&mut self, path: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.put(path, value);
        }
    }

    fn pairs(&mut self, path: &str, pairs: &Pairs) {
        for (key, value) in pairs {
            self.put(format!("{path}.{key}"), value);
        }
    }
}

/// Every field of a spec that has a value.
pub fn fields(spec: &Spec) -> Vec<Field> {
    let below_spec = |path: String| path.strip_prefix("spec.").map(str::to_owned).unwrap_or(path);
    let in_place = job::in_place_fields().into_iter().map(below_spec).collect();
    let mut list = List { fields: Vec::new(), in_place };
    list.pairs("metadata.labels", &spec.labels);
    list.pairs("metadata.annotations", &spec.annotations);
    list.put("image", &spec.image.reference);
    list.some("image.pullPolicy", spec.image.pull_policy);
    list.put("image.pullSecrets", spec.image.pull_secrets.join(" "));
    list.some("rerun", spec.rerun.as_ref());
    list.put("command", words(&spec.command));
    list.some("workdir", spec.workdir.as_ref());
    env(&mut list, spec);
    code(&mut list, spec.code.as_ref());
    list.put("workers.controller", if spec.controller == Controller::Job { "Job" } else { "StatefulSet" });
    for one in &spec.groups {
        group(&mut list, one);
    }
    launcher(&mut list, spec);
    storage(&mut list, spec);
    settings(&mut list, spec);
    list.fields
}

fn env(list: &mut List, spec: &Spec) {
    for variable in &spec.env {
        let value = match &variable.value {
            EnvValue::Text(text) => text.clone(),
            EnvValue::Secret { name, key } => format!("key {key} of the Secret {name}"),
            EnvValue::ConfigMap { name, key } => format!("key {key} of the ConfigMap {name}"),
            EnvValue::Field(path) => format!("field {path}"),
        };
        list.put(format!("env.{}", variable.name), value);
        if let (Some(field), EnvValue::Text(text)) = (list.fields.last_mut(), &variable.value) {
            field.hidden = may_be_secret(&variable.name, text);
        }
    }
    for (index, from) in spec.env_from.iter().enumerate() {
        let source = match &from.source {
            EnvFromSource::Secret(name) => format!("Secret {name}"),
            EnvFromSource::ConfigMap(name) => format!("ConfigMap {name}"),
        };
        list.put(format!("envFrom[{index}]"), {
            let prefix = from.prefix.as_ref().map_or(String::new(), |prefix| format!(", prefix {prefix}"));
            format!("{source}{prefix}{}", if from.optional { ", optional" } else { "" })
        });
    }
}

fn code(list: &mut List, code: Option<&Code>) {
    let Some(code) = code else { return };
    list.put("code.mountPath", &code.mount_path);
    match &code.source {
        CodeSource::ConfigMap(name) => list.put("code.configMap", name),
        CodeSource::Files(files) => {
            for (name, text) in files {
                list.put(format!("code.files.{name}"), text);
                // The text of a program does not fit on one line.
                if let Some(field) = list.fields.last_mut() {
                    field.hidden = true;
                }
            }
        }
    }
}

fn group(list: &mut List, group: &Group) {
    let prefix = group.name.as_ref().map_or("workers".to_owned(), |name| format!("workers.groups.{name}"));
    list.put(format!("{prefix}.replicas"), group.replicas);
    list.put(format!("{prefix}.gpus"), group.gpus);
    list.put(format!("{prefix}.gpuResource"), &group.gpu_resource);
    list.put(format!("{prefix}.slots"), group.slots);
    resources(list, &prefix, &group.resources);
    list.put(format!("{prefix}.shm"), &group.shm);
}

fn resources(list: &mut List, prefix: &str, resources: &Resources) {
    for (what, amounts) in [("requests", &resources.requests), ("limits", &resources.limits)] {
        for (name, quantity) in amounts {
            list.put(format!("{prefix}.{what}.{name}"), quantity);
        }
    }
}

fn launcher(list: &mut List, spec: &Spec) {
    let launcher = &spec.launcher;
    let kind = match launcher.kind {
        LauncherKind::Mpirun => "mpirun",
        LauncherKind::Horovodrun => "horovodrun",
        LauncherKind::Torchrun => "torchrun",
        LauncherKind::Deepspeed => "deepspeed",
        LauncherKind::Shell => "shell",
    };
    let mpi = match launcher.mpi {
        Mpi::OpenMpi => "openmpi",
        Mpi::IntelMpi => "intelmpi",
        Mpi::Mpich => "mpich",
    };
    list.put("launcher.kind", kind);
    list.put("launcher.mpi", mpi);
    list.put("launcher.args", words(&launcher.args));
    list.put("launcher.runsRanks", launcher.runs_ranks);
    list.put("launcher.interactive", launcher.interactive);
    list.put("launcher.idleTimeout", format_duration(launcher.idle_timeout));
    list.put("launcher.retries", launcher.retries);
    list.put("launcher.waitTimeout", format_duration(launcher.wait_timeout));
    list.some("launcher.image", launcher.image.as_ref());
    resources(list, "launcher", &launcher.resources);
    if let Some(elastic) = &spec.elastic {
        list.put("elastic.minWorkers", elastic.min_workers);
        list.put("elastic.maxWorkers", elastic.max_workers);
        list.put("elastic.timeout", format_duration(elastic.timeout));
        list.some("elastic.resetLimit", elastic.reset_limit);
        list.some("elastic.cooldown", elastic.cooldown.map(|(least, most)| format!("[{least}, {most}]")));
    }
    list.put("ssh.port", spec.ssh.port);
    list.put("ssh.user", &spec.ssh.user);
    list.some("ssh.secret", spec.ssh.secret.as_ref());
}

fn storage(list: &mut List, spec: &Spec) {
    for volume in &spec.storage {
        let path = format!("storage.{}", volume.name);
        list.put(format!("{path}.mountPath"), &volume.mount_path);
        list.put(format!("{path}.readOnly"), volume.read_only);
        list.some(&format!("{path}.subPath"), volume.sub_path.as_ref());
        let path = path.as_str();
        match &volume.source {
            VolumeSource::Claim(made) => claim(list, path, "claim", made, Reach::Claim),
            // Claims of a StatefulSet: another run has another StatefulSet, with claims of its own.
            VolumeSource::PerWorker(made) => claim(list, path, "perWorker", made, Reach::Run),
            VolumeSource::PersistentVolume { source, claim: made } => {
                list.add(Reach::Claim, format!("{path}.persistentVolume"), source);
                claim(list, path, "claim", made, Reach::Claim);
            }
            VolumeSource::ExistingClaim(name) => list.put(format!("{path}.existingClaim"), name),
            VolumeSource::Nfs { server, path: export } => list.put(format!("{path}.nfs"), format!("{server}:{export}")),
            VolumeSource::HostPath(host) => list.put(format!("{path}.hostPath"), host),
            VolumeSource::EmptyDir { size } => {
                list.put(format!("{path}.emptyDir"), size.as_ref().map_or(String::new(), ToString::to_string));
            }
            VolumeSource::S3(s3) => {
                list.some(&format!("{path}.s3.endpoint"), s3.endpoint.as_ref());
                list.put(format!("{path}.s3.bucket"), &s3.bucket);
                list.put(format!("{path}.s3.prefix"), &s3.prefix);
                list.put(format!("{path}.s3.region"), &s3.region);
                list.some(&format!("{path}.s3.secret"), s3.secret.as_ref());
                let direction = match (s3.download, s3.upload) {
                    (true, true) => "both",
                    (true, false) => "in",
                    _ => "out",
                };
                list.put(format!("{path}.s3.direction"), direction);
                list.some(&format!("{path}.s3.size"), s3.size.as_ref());
            }
        }
    }
}

fn claim(list: &mut List, path: &str, kind: &str, claim: &Claim, reach: Reach) {
    let class = claim.storage_class.as_deref().unwrap_or("the cluster's default");
    list.add(reach, format!("{path}.{kind}.size"), &claim.size);
    if let Some(field) = list.fields.last_mut().filter(|_| reach == Reach::Claim) {
        field.amount = Some(claim.size.milli());
    }
    list.add(reach, format!("{path}.{kind}.storageClass"), class);
    list.add(reach, format!("{path}.{kind}.accessModes"), claim.access_modes.join(" "));
}

fn settings(list: &mut List, spec: &Spec) {
    let collective = &spec.collective;
    list.some("collective.debug", collective.debug);
    list.some("collective.interface", collective.interface.as_ref());
    list.some("collective.infiniband", collective.infiniband);
    list.some("collective.fusionThreshold", collective.fusion_threshold.as_ref());
    list.some("collective.cycleTime", collective.cycle_time);
    list.some("collective.autotune", collective.autotune);
    list.some("collective.hierarchicalAllreduce", collective.hierarchical_allreduce);
    list.some("collective.timeline", collective.timeline.as_ref());

    let placement = &spec.placement;
    list.pairs("placement.nodeSelector", &placement.node_selector);
    for (index, toleration) in placement.tolerations.iter().enumerate() {
        list.put(format!("placement.tolerations[{index}]"), toleration);
    }
    list.some("placement.affinity", placement.affinity.as_ref());
    list.some("placement.priorityClass", placement.priority_class.as_ref());
    list.some("placement.runtimeClass", placement.runtime_class.as_ref());
    list.some("placement.spread", placement.spread.as_ref());
    list.some("placement.pack", placement.pack.as_ref());
    list.put("placement.hostNetwork", placement.host_network);

    let scheduling = &spec.scheduling;
    let gang = scheduling.gang.map(|gang| if gang == Gang::Volcano { "volcano" } else { "coscheduling" });
    list.some("scheduling.gang", gang);
    list.some("scheduling.queue", scheduling.queue.as_ref());
    list.some("scheduling.kueue", scheduling.kueue.as_ref());
    list.some("scheduling.scheduler", scheduling.scheduler.as_ref());
    list.put("scheduling.suspend", scheduling.suspend);

    let lifecycle = &spec.lifecycle;
    for (path, value) in
        [("lifecycle.deadline", lifecycle.deadline), ("lifecycle.ttlAfterFinished", lifecycle.ttl_after_finished)]
    {
        if let Some(value) = value {
            list.put(path, format_duration(value));
        }
    }
    list.put("lifecycle.release", if lifecycle.keep { "keep" } else { "scaleDown" });

    let security = &spec.security;
    list.put("security.profile", format!("{:?}", security.profile).to_lowercase());
    list.some("security.runAsUser", security.run_as_user);
    list.some("security.fsGroup", security.fs_group);
    list.put("security.networkPolicy", security.network_policy);
    list.some("security.serviceAccount", security.service_account.as_ref());
    list.put("security.readOnlyRootFilesystem", security.read_only_root_filesystem);

    let observability = &spec.observability;
    list.some("observability.tensorboard.logdir", observability.tensorboard.as_ref());
    if let Some(metrics) = &observability.metrics {
        list.put("observability.metrics.port", metrics.port);
        list.put("observability.metrics.podMonitor", metrics.pod_monitor);
    }
    list.put("observability.logs.rankPrefix", observability.rank_prefix);
    for (index, patch) in spec.patches.iter().enumerate() {
        let target = format!("{} {}", patch.kind.as_deref().unwrap_or("*"), patch.name.as_deref().unwrap_or("*"));
        list.put(format!("patches[{index}]"), format!("{target}: {}", patch.patch));
    }
}

/// A command's words, in brackets where blanks would hide what is one of them.
fn words(words: &[String]) -> String {
    let plain = words.iter().all(|word| !word.is_empty() && !word.contains(char::is_whitespace));
    if plain || words.len() < 2 { words.join(" ") } else { flow(&Json::from(words)) }
}
