//! An MPIJob that khorovod itself rendered, with the objects around it → the spec it came from.
//!
//! What is read here is checked at once: the new spec is rendered, and each field of the old objects is kept exactly where
//! that says the same. So whatever somebody changed in them, or a patch did, is found and said.

mod again;
mod storage;

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use super::desk::{Desk, items, text};
use super::mpi_job::{BESIDE, LONG};
use super::words::words;
use super::{BAD_VALUE, container, pod};
use crate::problem::Problem;
use crate::source::Node;
use crate::spec::Target;
use crate::{Inputs, Keys, Text, compile};

/// Stands for the program while the launch is taken apart.
const PROGRAM: &str = "khorovod-import";

/// Whether it is our launcher.
pub fn is(launcher: &Node) -> bool {
    let words = launcher.get("command").map_or(&[][..], items);
    words.iter().any(|word| text(word).as_deref() == Some("/etc/khorovod/scripts/launcher.sh"))
}

/// What our objects say, as trees without places.
struct Parts {
    job: Json,
    launcher: Json,
    worker: Json,
    pod: Json,
    /// The other objects by `Kind/name`.
    beside: Map<String, Json>,
    /// Of `job.sh`, each with its words.
    settings: HashMap<String, Vec<String>>,
}

impl Parts {
    fn beside(&self, kind: &str) -> impl Iterator<Item = &Json> {
        let head = format!("{kind}/");
        self.beside.iter().filter(move |(key, _)| key.starts_with(&head)).map(|(_, object)| object)
    }

    /// Data of the ConfigMap that has this key.
    fn data(&self, key: &str) -> Option<&Map<String, Json>> {
        self.beside("ConfigMap").filter_map(|object| object["data"].as_object()).find(|data| data.contains_key(key))
    }

    fn setting(&self, name: &str) -> &str {
        self.settings.get(name).and_then(|words| words.first()).map_or("", String::as_str)
    }

    fn volume(&self, name: &str) -> Option<&Json> {
        self.pod["volumes"].as_array()?.iter().find(|volume| volume["name"] == name)
    }

    fn mounts(&self) -> impl Iterator<Item = &Json> {
        self.worker["volumeMounts"].as_array().into_iter().flatten()
    }

    /// A variable of the workers with a value.
    fn variable(&self, name: &str) -> Option<&str> {
        let list = self.worker["env"].as_array()?;
        list.iter().find(|variable| variable["name"] == name)?["value"].as_str()
    }
}

/// Reads the job and all that stands beside it.
pub fn read(job: &Node, launcher: &Node, worker: &Node, desk: &mut Desk<'_>) {
    let whole = job.to_json();
    let mut parts = Parts {
        pod: whole["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"].clone(),
        beside: whole[BESIDE].as_object().cloned().unwrap_or_default(),
        job: whole,
        launcher: launcher.to_json(),
        worker: worker.to_json(),
        settings: HashMap::new(),
    };
    let Some(script) = parts.data("job.sh").and_then(|data| data["job.sh"].as_str()).map(str::to_owned) else {
        let problem =
            Problem::new(&BAD_VALUE, launcher.span, "khorovod rendered this MPIJob, and its ConfigMaps are not here");
        let hint = "give all that was rendered, or: kubectl get mpijob,configmap,pvc,networkpolicy -l khorovod.dev/job=NAME -o yaml";
        return desk.problems.push(problem.hint(hint));
    };
    parts.settings = settings(&script);
    if let Some(node) = worker.get("resources") {
        pod::resources(desk, node);
    }
    if let Some(node) = worker.get("envFrom") {
        container::env_from(desk, node);
    }
    names(&parts, desk);
    program(&parts, desk);
    workers(&parts, desk);
    launcher_of(&parts, desk);
    knobs(&parts, desk);
    storage::read(&parts, desk);
    placement(&parts, desk);
    around(&parts, desk);
    security(&parts, desk);
    launch(&parts, desk);
    again::trim(desk);
    again::compare(job, desk);
    desk.draft.shorten(LONG);
}

/// `name=value` and `name=( words )` lines.
fn settings(script: &str) -> HashMap<String, Vec<String>> {
    let line = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.strip_prefix("( ").and_then(|value| value.strip_suffix(" )")).unwrap_or(value);
        Some((name.to_owned(), words(value)?.into_iter().map(|word| word.text).collect()))
    };
    // A program may have several lines, each quoted as a part of its word.
    let mut lines: Vec<String> = Vec::new();
    for part in script.lines().filter(|part| !part.starts_with('#')) {
        match lines.last_mut().filter(|last| last.matches('\'').count() % 2 == 1) {
            Some(last) => last.extend(["\n", part]),
            None => lines.push(part.to_owned()),
        }
    }
    lines.iter().filter_map(|text| line(text)).collect()
}

fn names(parts: &Parts, desk: &mut Desk<'_>) {
    desk.name(parts.setting("job"), "");
    let metadata = &parts.job["metadata"];
    if let (Some(namespace), None) = (metadata["namespace"].as_str(), &desk.options.namespace) {
        desk.draft.put("metadata.namespace", namespace, "");
    }
    let ours = |key: &str| key.starts_with("khorovod.dev/") || key.starts_with("app.kubernetes.io/");
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        if key == "kueue.x-k8s.io/queue-name" {
            desk.draft.put("spec.scheduling.kueue", value.clone(), "");
        } else if !ours(key) {
            desk.draft.put_key("metadata.labels", key, value.clone(), "");
        }
    }
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        if key != "kubectl.kubernetes.io/last-applied-configuration" {
            desk.draft.put_key("metadata.annotations", key, value.clone(), "");
        }
    }
}

fn program(parts: &Parts, desk: &mut Desk<'_>) {
    desk.image(parts.worker["image"].as_str().unwrap_or_default(), "");
    put(desk, "spec.image.pullPolicy", &parts.worker["imagePullPolicy"]);
    let secrets: Vec<_> = list(&parts.pod["imagePullSecrets"]).map(|secret| secret["name"].clone()).collect();
    if !secrets.is_empty() {
        desk.draft.put("spec.image.pullSecrets", secrets, "");
    }
    put(desk, "spec.workdir", &parts.worker["workingDir"]);
    let Some(mount) = parts.mounts().find(|mount| mount["name"] == "khorovod-code") else { return };
    let volume = parts.volume("khorovod-code").unwrap_or(&Json::Null);
    put(desk, "spec.code.mountPath", &mount["mountPath"]);
    put(desk, "spec.code.configMap", &volume["configMap"]["name"]);
    for source in list(&volume["projected"]["sources"]) {
        let name = source["configMap"]["name"].as_str().unwrap_or_default();
        let files = parts.beside.get(&format!("ConfigMap/{name}")).and_then(|object| object["data"].as_object());
        for (file, text) in files.into_iter().flatten() {
            desk.draft.put_key("spec.code.files", file, text.clone(), "");
        }
    }
}

fn workers(parts: &Parts, desk: &mut Desk<'_>) {
    let spec = &parts.job["spec"];
    put(desk, "spec.workers.replicas", &spec["mpiReplicaSpecs"]["Worker"]["replicas"]);
    put(desk, "spec.workers.slots", &spec["slotsPerWorker"]);
    if let Some(shm) = parts.volume("khorovod-shm") {
        put(desk, "spec.workers.shm", &shm["emptyDir"]["sizeLimit"]);
    }
}

fn launcher_of(parts: &Parts, desk: &mut Desk<'_>) {
    let leads = parts.job["spec"]["runLauncherAsWorker"] == true;
    desk.draft.put("spec.launcher.kind", parts.setting("kind"), "");
    desk.draft.put("spec.launcher.mpi", parts.setting("mpi"), "");
    if leads {
        desk.draft.put("spec.launcher.runsRanks", true, "");
    } else {
        for name in ["cpu", "memory"] {
            put(desk, &format!("spec.launcher.{name}"), &parts.launcher["resources"]["limits"][name]);
        }
    }
    if parts.launcher["image"] != parts.worker["image"] {
        put(desk, "spec.launcher.image", &parts.launcher["image"]);
    }
    if let Some(data) = parts.data("retries") {
        let seconds = |key: &str| data.get(key).and_then(Json::as_str).map(|seconds| format!("{seconds}s"));
        let retries = data["retries"].as_str().and_then(|text| text.parse::<u32>().ok());
        desk.draft.put("spec.launcher.retries", retries, "");
        for (key, to) in [("wait-timeout", "spec.launcher.waitTimeout"), ("deadline", "spec.lifecycle.deadline")] {
            if let Some(value) = seconds(key) {
                desk.draft.put(to, value, "");
            }
        }
        if let Some(value) = seconds("idle-timeout") {
            desk.draft.put("spec.launcher.interactive", true, "");
            desk.draft.put("spec.launcher.idleTimeout", value, "");
        }
    }
    if parts.setting("port") != "2222" {
        desk.draft.put("spec.ssh.port", parts.setting("port").parse::<u32>().ok(), "");
    }
    if parts.setting("user") != "khorovod" {
        desk.draft.put("spec.ssh.user", parts.setting("user"), "");
    }
    elastic(parts, desk);
}

fn elastic(parts: &Parts, desk: &mut Desk<'_>) {
    let Ok(least) = parts.setting("min_workers").parse::<u32>() else { return };
    desk.draft.put("spec.elastic.minWorkers", least, "");
    desk.draft.put("spec.elastic.maxWorkers", parts.setting("max_workers").parse::<u32>().ok(), "");
    let words = parts.settings.get("launch").map_or(&[][..], Vec::as_slice);
    let behind = |option: &str, at: usize| {
        let found = words.iter().position(|word| word == option)?;
        words.get(found + at)?.parse::<u32>().ok()
    };
    if let Some(seconds) = behind("--elastic-timeout", 1) {
        desk.draft.put("spec.elastic.timeout", format!("{seconds}s"), "");
    }
    if let Some(limit) = behind("--reset-limit", 1) {
        desk.draft.put("spec.elastic.resetLimit", limit, "");
    }
    if let (Some(low), Some(high)) = (behind("--blacklist-cooldown-range", 1), behind("--blacklist-cooldown-range", 2))
    {
        desk.draft.put("spec.elastic.cooldown", json!([low, high]), "");
    }
}

/// Variables that `collective` and `observability` stand for.
fn knobs(parts: &Parts, desk: &mut Desk<'_>) {
    if let Some(level) = parts.variable("NCCL_DEBUG") {
        desk.draft.put("spec.collective.debug", level, "");
    }
    let tcp = ["OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"];
    if let Some(name) =
        parts.variable("NCCL_SOCKET_IFNAME").filter(|_| tcp.iter().any(|tcp| parts.variable(tcp).is_some()))
    {
        desk.draft.put("spec.collective.interface", name, "");
    }
    if let Some(off) = parts.variable("NCCL_IB_DISABLE") {
        desk.draft.put("spec.collective.infiniband", off == "0", "");
    }
    if let Some(bytes) = parts.variable("HOROVOD_FUSION_THRESHOLD") {
        desk.draft.put("spec.collective.fusionThreshold", bytes, "");
    }
    if let Some(milliseconds) = parts.variable("HOROVOD_CYCLE_TIME").and_then(|text| text.parse::<u32>().ok()) {
        desk.draft.put("spec.collective.cycleTime", milliseconds, "");
    }
    for (name, to) in [("HOROVOD_AUTOTUNE", "autotune"), ("HOROVOD_HIERARCHICAL_ALLREDUCE", "hierarchicalAllreduce")] {
        if let Some(on) = parts.variable(name) {
            desk.draft.put(&format!("spec.collective.{to}"), on == "1", "");
        }
    }
    if let Some(path) = parts.variable("HOROVOD_TIMELINE") {
        desk.draft.put("spec.collective.timeline", path, "");
    }
    if let Some(path) = parts.variable("TENSORBOARD_LOGDIR") {
        desk.draft.put("spec.observability.tensorboard.logdir", path, "");
    }
    if let Some(port) = list(&parts.worker["ports"]).find(|port| port["name"] == "metrics") {
        put(desk, "spec.observability.metrics.port", &port["containerPort"]);
        if parts.beside("PodMonitor").next().is_some() {
            desk.draft.put("spec.observability.metrics.podMonitor", true, "");
        }
    }
}

fn placement(parts: &Parts, desk: &mut Desk<'_>) {
    let pod = &parts.pod;
    for (theirs, ours) in [
        ("nodeSelector", "nodeSelector"),
        ("tolerations", "tolerations"),
        ("priorityClassName", "priorityClass"),
        ("runtimeClassName", "runtimeClass"),
        ("hostNetwork", "hostNetwork"),
    ] {
        put(desk, &format!("spec.placement.{ours}"), &pod[theirs]);
    }
    if let Some(spread) = list(&pod["topologySpreadConstraints"]).next() {
        put(desk, "spec.placement.spread", &spread["topologyKey"]);
    }
    // Ours is the last wish, and names the run.
    let mut affinity = pod["affinity"].clone();
    let terms = affinity.pointer_mut("/podAffinity/preferredDuringSchedulingIgnoredDuringExecution");
    if let Some(terms) = terms.and_then(Json::as_array_mut)
        && let Some(key) = terms.last().and_then(|term| {
            let term = &term["podAffinityTerm"];
            term["labelSelector"]["matchLabels"].get("khorovod.dev/run").and(Some(term["topologyKey"].clone()))
        })
    {
        terms.pop();
        let empty = terms.is_empty();
        put(desk, "spec.placement.pack", &key);
        if empty && let Some(map) = affinity["podAffinity"].as_object_mut() {
            map.shift_remove("preferredDuringSchedulingIgnoredDuringExecution");
        }
        if affinity["podAffinity"].as_object().is_some_and(Map::is_empty)
            && let Some(map) = affinity.as_object_mut()
        {
            map.shift_remove("podAffinity");
        }
    }
    if affinity.as_object().is_some_and(|map| !map.is_empty()) {
        desk.draft.put("spec.placement.affinity", affinity, "");
    }
}

/// The gang, the end, and who may reach the pods.
fn around(parts: &Parts, desk: &mut Desk<'_>) {
    let policy = &parts.job["spec"]["runPolicy"];
    let gang = parts.beside("PodGroup").next().map(|group| match group["apiVersion"].as_str() {
        Some(version) if version.starts_with("scheduling.volcano.sh") => ("volcano", "volcano"),
        _ => ("coscheduling", "scheduler-plugins-scheduler"),
    });
    if let Some((gang, _)) = gang {
        desk.draft.put("spec.scheduling.gang", gang, "");
        put(desk, "spec.scheduling.queue", &policy["schedulingPolicy"]["queue"]);
    }
    let scheduler = parts.pod["schedulerName"].as_str();
    if scheduler != gang.map(|(_, scheduler)| scheduler) {
        put(desk, "spec.scheduling.scheduler", &parts.pod["schedulerName"]);
    }
    if policy["suspend"] == true {
        desk.draft.put("spec.scheduling.suspend", true, "");
    }
    if let Some(seconds) = policy["ttlSecondsAfterFinished"].as_u64() {
        desk.draft.put("spec.lifecycle.ttlAfterFinished", format!("{seconds}s"), "");
    }
    if policy["cleanPodPolicy"] == "None" {
        desk.draft.put("spec.lifecycle.release", "keep", "");
    }
}

fn security(parts: &Parts, desk: &mut Desk<'_>) {
    let context = &parts.pod["securityContext"];
    let user = context.get("runAsUser");
    let has = |key: &str| list(&parts.pod["volumes"]).any(|volume| volume.get(key).is_some());
    let adds = &parts.worker["securityContext"]["capabilities"]["add"];
    let profile = match (parts.pod["hostNetwork"] == true || has("hostPath") || !adds.is_null(), user) {
        (true, _) => "privileged",
        (_, None) => "openshift",
        (_, Some(user)) if has("nfs") || *user == 0 => "baseline",
        _ => "restricted",
    };
    desk.draft.put("spec.security.profile", profile, "");
    put(desk, "spec.security.runAsUser", &context["runAsUser"]);
    put(desk, "spec.security.fsGroup", &context["fsGroup"]);
    put(desk, "spec.security.serviceAccount", &parts.pod["serviceAccountName"]);
    put(desk, "spec.security.readOnlyRootFilesystem", &parts.worker["securityContext"]["readOnlyRootFilesystem"]);
    if parts.beside("NetworkPolicy").next().is_none() {
        desk.draft.put("spec.security.networkPolicy", false, "");
    }
}

/// The program, the launcher's options, and the user's own variables: what is left of the launch and the environment
/// when that which khorovod makes of the rest is taken away.
fn launch(parts: &Parts, desk: &mut Desk<'_>) {
    let words = parts.settings.get("launch").cloned().unwrap_or_default();
    if parts.setting("kind") == "mpirun" && !words.iter().any(|word| word == "--tag-output" || word == "-prepend-rank")
    {
        desk.draft.put("spec.observability.logs.rankPrefix", false, "");
    }
    if !words.is_empty() {
        desk.draft.put("spec.command", json!([PROGRAM]), "");
    }
    let Ok((mut plans, _)) = compile::plans(&text_of(desk), &inputs()) else { return };
    let Some((plan, _)) = plans.pop() else { return };
    for variable in list(&parts.worker["env"]) {
        let name = variable["name"].as_str().unwrap_or_default();
        if plan.env.iter().any(|(known, value)| known == name && variable["value"] == **value) {
            continue;
        }
        let value = match variable.get("valueFrom") {
            Some(from) => value_from(from),
            None => variable.get("value").cloned().unwrap_or_else(|| "".into()),
        };
        desk.draft.put_key("spec.env", name, value, "");
    }
    if words.is_empty() {
        return;
    }
    let check = words.windows(2).position(|pair| pair[1] == "/etc/khorovod/scripts/rank.sh");
    let mut own = plan.launch.iter().zip(&words).take_while(|(planned, found)| planned == found).count();
    // An option with another value is the user's.
    let value = plan.launch.get(own).is_some_and(|next| !next.starts_with('-') && next != PROGRAM);
    if value && own > 0 && words[own - 1].starts_with('-') {
        own -= 1;
    }
    let (args, command) = match check {
        Some(at) => (&words[own.min(at)..at], &words[at + 2..]),
        // Without a check it is not said where options end.
        None => {
            let options = words[own..].iter().take_while(|word| word.starts_with('-')).count();
            words[own..].split_at(options)
        }
    };
    let args: Vec<_> = args.iter().filter(|word| *word != "--no_python").collect();
    if !args.is_empty() {
        desk.draft.put("spec.launcher.args", json!(args), "");
    }
    desk.draft.put("spec.command", json!(command), "");
}

fn value_from(from: &Json) -> Json {
    let key = |reference: &Json, kind: &str| json!({kind: reference["name"], "key": reference["key"]});
    match (from.get("secretKeyRef"), from.get("configMapKeyRef")) {
        (Some(secret), _) => key(secret, "secret"),
        (None, Some(map)) => key(map, "configMap"),
        (None, None) => json!({"field": from["fieldRef"]["fieldPath"]}),
    }
}

/// The new job as far as it is drawn up.
fn text_of(desk: &Desk<'_>) -> Text {
    Text { name: "the imported job".to_owned(), text: desk.draft.text(&[]) }
}

fn inputs() -> Inputs {
    Inputs { target: Target::MpiJob, keys: Keys::LeftOut, ..Inputs::default() }
}

/// Sets a field that is given.
fn put(desk: &mut Desk<'_>, to: &str, value: &Json) {
    if !value.is_null() {
        desk.draft.put(to, value.clone(), "");
    }
}

fn list(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}
