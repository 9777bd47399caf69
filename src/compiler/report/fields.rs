//! A valid spec as a flat list of paths and values, defaults included, so that two can be
//! compared. Paths are those a person writes, below `spec`.

use serde_json::Value as Json;

use crate::job::valid::{
    Claim, Code, CodeSource, Controller, EnvFromSource, EnvValue, Gang, Group, LauncherKind, Mpi, Pairs, Resources,
    Spec, VolumeSource,
};
use crate::job::wording::flow;

/// How far a change of a field reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The ranks can observe it.
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
    /// What to compare by size: a claim may grow.
    pub amount: Option<i128>,
}

/// Collects fields under a prefix.
struct List(Vec<Field>);

// Values by value: a line a field stays a line.
#[allow(clippy::needless_pass_by_value)]
impl List {
    fn add(&mut self, reach: Reach, path: impl Into<String>, value: impl ToString) {
        let (path, value) = (path.into(), value.to_string());
        self.0.push(Field { path, value, reach, hidden: false, amount: None });
    }

    fn run(&mut self, path: impl Into<String>, value: impl ToString) {
        self.add(Reach::Run, path, value);
    }

    fn some(&mut self, path: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.run(path, value);
        }
    }

    fn pairs(&mut self, reach: Reach, path: &str, pairs: &Pairs) {
        for (key, value) in pairs {
            self.add(reach, format!("{path}.{key}"), value);
        }
    }
}

/// Every field of a spec that has a value.
pub fn fields(spec: &Spec) -> Vec<Field> {
    let mut list = List(Vec::new());
    list.pairs(Reach::InPlace, "metadata.labels", &spec.labels);
    list.pairs(Reach::InPlace, "metadata.annotations", &spec.annotations);
    list.run("image", &spec.image.reference);
    list.some("image.pullPolicy", spec.image.pull_policy);
    list.run("image.pullSecrets", spec.image.pull_secrets.join(" "));
    list.some("rerun", spec.rerun.as_ref());
    list.run("command", words(&spec.command));
    list.some("workdir", spec.workdir.as_ref());
    env(&mut list, spec);
    code(&mut list, spec.code.as_ref());
    list.run("workers.controller", if spec.controller == Controller::Job { "Job" } else { "StatefulSet" });
    for one in &spec.groups {
        group(&mut list, one);
    }
    launcher(&mut list, spec);
    storage(&mut list, spec);
    settings(&mut list, spec);
    list.0
}

fn env(list: &mut List, spec: &Spec) {
    for variable in &spec.env {
        let value = match &variable.value {
            EnvValue::Text(text) => text.clone(),
            EnvValue::Secret { name, key } => format!("key {key} of the Secret {name}"),
            EnvValue::ConfigMap { name, key } => format!("key {key} of the ConfigMap {name}"),
            EnvValue::Field(path) => format!("field {path}"),
        };
        list.run(format!("env.{}", variable.name), value);
        if let (Some(field), EnvValue::Text(_)) = (list.0.last_mut(), &variable.value) {
            let name = variable.name.to_ascii_uppercase();
            field.hidden = ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"].iter().any(|word| name.contains(word));
        }
    }
    for (index, from) in spec.env_from.iter().enumerate() {
        let source = match &from.source {
            EnvFromSource::Secret(name) => format!("Secret {name}"),
            EnvFromSource::ConfigMap(name) => format!("ConfigMap {name}"),
        };
        list.run(format!("envFrom[{index}]"), {
            let prefix = from.prefix.as_ref().map_or(String::new(), |prefix| format!(", prefix {prefix}"));
            format!("{source}{prefix}{}", if from.optional { ", optional" } else { "" })
        });
    }
}

fn code(list: &mut List, code: Option<&Code>) {
    let Some(code) = code else { return };
    list.run("code.mountPath", &code.mount_path);
    match &code.source {
        CodeSource::ConfigMap(name) => list.run("code.configMap", name),
        CodeSource::Files(files) => {
            for (name, text) in files {
                list.run(format!("code.files.{name}"), text);
                // A whole program says nothing in a line.
                if let Some(field) = list.0.last_mut() {
                    field.hidden = true;
                }
            }
        }
    }
}

fn group(list: &mut List, group: &Group) {
    let prefix = group.name.as_ref().map_or("workers".to_owned(), |name| format!("workers.groups.{name}"));
    list.run(format!("{prefix}.replicas"), group.replicas);
    list.run(format!("{prefix}.gpus"), group.gpus);
    list.run(format!("{prefix}.gpuResource"), &group.gpu_resource);
    list.run(format!("{prefix}.slots"), group.slots);
    resources(list, &prefix, &group.resources);
    list.run(format!("{prefix}.shm"), &group.shm);
}

fn resources(list: &mut List, prefix: &str, resources: &Resources) {
    for (what, amounts) in [("requests", &resources.requests), ("limits", &resources.limits)] {
        for (name, quantity) in amounts {
            list.run(format!("{prefix}.{what}.{name}"), quantity);
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
    list.run("launcher.kind", kind);
    list.run("launcher.mpi", mpi);
    list.run("launcher.args", words(&launcher.args));
    list.run("launcher.runsRanks", launcher.runs_ranks);
    list.run("launcher.interactive", launcher.interactive);
    list.run("launcher.idleTimeout", seconds(launcher.idle_timeout));
    list.run("launcher.retries", launcher.retries);
    list.run("launcher.waitTimeout", seconds(launcher.wait_timeout));
    list.some("launcher.image", launcher.image.as_ref());
    resources(list, "launcher", &launcher.resources);
    if let Some(elastic) = &spec.elastic {
        list.run("elastic.minWorkers", elastic.min_workers);
        list.run("elastic.maxWorkers", elastic.max_workers);
        list.run("elastic.timeout", seconds(elastic.timeout));
        list.some("elastic.resetLimit", elastic.reset_limit);
        list.some("elastic.cooldown", elastic.cooldown.map(|(least, most)| format!("[{least}, {most}]")));
    }
    list.run("ssh.port", spec.ssh.port);
    list.run("ssh.user", &spec.ssh.user);
    list.some("ssh.secret", spec.ssh.secret.as_ref());
}

fn storage(list: &mut List, spec: &Spec) {
    for volume in &spec.storage {
        let path = format!("storage.{}", volume.name);
        list.run(format!("{path}.mountPath"), &volume.mount_path);
        list.run(format!("{path}.readOnly"), volume.read_only);
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
            VolumeSource::ExistingClaim(name) => list.run(format!("{path}.existingClaim"), name),
            VolumeSource::Nfs { server, path: export } => list.run(format!("{path}.nfs"), format!("{server}:{export}")),
            VolumeSource::HostPath(host) => list.run(format!("{path}.hostPath"), host),
            VolumeSource::EmptyDir { size } => {
                list.run(format!("{path}.emptyDir"), size.as_ref().map_or(String::new(), ToString::to_string));
            }
            VolumeSource::S3(s3) => {
                list.some(&format!("{path}.s3.endpoint"), s3.endpoint.as_ref());
                list.run(format!("{path}.s3.bucket"), &s3.bucket);
                list.run(format!("{path}.s3.prefix"), &s3.prefix);
                list.run(format!("{path}.s3.region"), &s3.region);
                list.some(&format!("{path}.s3.secret"), s3.secret.as_ref());
                let direction = match (s3.download, s3.upload) {
                    (true, true) => "both",
                    (true, false) => "in",
                    _ => "out",
                };
                list.run(format!("{path}.s3.direction"), direction);
                list.some(&format!("{path}.s3.size"), s3.size.as_ref());
            }
        }
    }
}

fn claim(list: &mut List, path: &str, kind: &str, claim: &Claim, reach: Reach) {
    let class = claim.storage_class.as_deref().unwrap_or("the cluster's default");
    list.add(reach, format!("{path}.{kind}.size"), &claim.size);
    if let Some(field) = list.0.last_mut().filter(|_| reach == Reach::Claim) {
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
    list.pairs(Reach::Run, "placement.nodeSelector", &placement.node_selector);
    for (index, toleration) in placement.tolerations.iter().enumerate() {
        list.run(format!("placement.tolerations[{index}]"), toleration);
    }
    list.some("placement.affinity", placement.affinity.as_ref());
    list.some("placement.priorityClass", placement.priority_class.as_ref());
    list.some("placement.runtimeClass", placement.runtime_class.as_ref());
    list.some("placement.spread", placement.spread.as_ref());
    list.some("placement.pack", placement.pack.as_ref());
    list.run("placement.hostNetwork", placement.host_network);

    let scheduling = &spec.scheduling;
    let gang = scheduling.gang.map(|gang| if gang == Gang::Volcano { "volcano" } else { "coscheduling" });
    list.some("scheduling.gang", gang);
    list.some("scheduling.queue", scheduling.queue.as_ref());
    list.some("scheduling.kueue", scheduling.kueue.as_ref());
    list.some("scheduling.scheduler", scheduling.scheduler.as_ref());
    list.add(Reach::InPlace, "scheduling.suspend", scheduling.suspend);

    let lifecycle = &spec.lifecycle;
    for (path, value) in
        [("lifecycle.deadline", lifecycle.deadline), ("lifecycle.ttlAfterFinished", lifecycle.ttl_after_finished)]
    {
        if let Some(value) = value {
            list.add(Reach::InPlace, path, seconds(value));
        }
    }
    list.run("lifecycle.release", if lifecycle.keep { "keep" } else { "scaleDown" });

    let security = &spec.security;
    list.run("security.profile", format!("{:?}", security.profile).to_lowercase());
    list.some("security.runAsUser", security.run_as_user);
    list.some("security.fsGroup", security.fs_group);
    list.add(Reach::InPlace, "security.networkPolicy", security.network_policy);
    list.some("security.serviceAccount", security.service_account.as_ref());
    list.run("security.readOnlyRootFilesystem", security.read_only_root_filesystem);

    let observability = &spec.observability;
    list.some("observability.tensorboard.logdir", observability.tensorboard.as_ref());
    if let Some(metrics) = &observability.metrics {
        list.run("observability.metrics.port", metrics.port);
        list.add(Reach::InPlace, "observability.metrics.podMonitor", metrics.pod_monitor);
    }
    list.run("observability.logs.rankPrefix", observability.rank_prefix);
    for (index, patch) in spec.patches.iter().enumerate() {
        let target = format!("{} {}", patch.kind.as_deref().unwrap_or("*"), patch.name.as_deref().unwrap_or("*"));
        list.run(format!("patches[{index}]"), format!("{target}: {}", patch.patch));
    }
}

fn seconds(seconds: u64) -> String {
    super::made::duration(seconds)
}

/// A command's words, in brackets where blanks would hide what is one of them.
fn words(words: &[String]) -> String {
    let plain = words.iter().all(|word| !word.is_empty() && !word.contains(char::is_whitespace));
    if plain || words.len() < 2 { words.join(" ") } else { flow(&Json::from(words)) }
}
