//! An MPIJob that khorovod itself rendered, with the objects around it → the spec it came from.
//!
//! What is read here is checked at once: the new spec is rendered, and each field of the old objects is kept exactly where
//! that says the same. So whatever somebody changed in them, or a patch did, is found and said.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use super::desk::{Desk, items, text};
use super::ledger::Verdict;
use super::mpi_job::BESIDE;
use super::words::words;
use super::{BAD_VALUE, container, pod};
use crate::problem::{Problem, Span};
use crate::source::{self, Kind, Node};
use crate::spec::Target;
use crate::{Inputs, Keys, Text, compile};

/// Stands for the program while the launch is taken apart.
const PROGRAM: &str = "khorovod-import";
const CHANGED: &str = "it was changed since khorovod rendered it, or by a patch; `spec.patches` puts it back";

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
    storage(&parts, desk);
    placement(&parts, desk);
    around(&parts, desk);
    security(&parts, desk);
    launch(&parts, desk);
    trim(desk);
    compare(job, desk);
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

fn storage(parts: &Parts, desk: &mut Desk<'_>) {
    let transfers: Json =
        parts.data("s3.json").and_then(|data| serde_json::from_str(data["s3.json"].as_str()?).ok()).unwrap_or_default();
    for mount in parts.mounts() {
        let name = mount["name"].as_str().unwrap_or_default();
        if name.starts_with("khorovod-") {
            continue;
        }
        let Some(volume) = parts.volume(name) else { continue };
        let mut item =
            Map::from_iter([("name".to_owned(), name.into()), ("mountPath".to_owned(), mount["mountPath"].clone())]);
        for key in ["readOnly", "subPath"] {
            item.extend(mount.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        match list(&transfers).find(|transfer| transfer["name"] == name) {
            Some(transfer) => drop(item.insert("s3".to_owned(), s3(parts, transfer, volume))),
            None => item.extend(source_of(parts, volume)),
        }
        desk.draft.push("spec.storage", item, "");
    }
}

fn s3(parts: &Parts, transfer: &Json, volume: &Json) -> Json {
    let direction = match (transfer["download"] == true, transfer["upload"] == true) {
        (true, true) => "both",
        (true, false) => "in",
        _ => "out",
    };
    let mut s3 = json!({"bucket": transfer["bucket"], "prefix": transfer["prefix"], "region": transfer["region"],
        "direction": direction, "endpoint": transfer["endpoint"]});
    let folder = format!("/etc/khorovod/s3/{}", transfer["name"].as_str().unwrap_or_default());
    let secret = parts.mounts().find(|mount| mount["mountPath"] == folder.as_str());
    let secret = secret.and_then(|mount| parts.volume(mount["name"].as_str()?));
    if let Some(secret) = secret {
        s3["secret"] = secret["secret"]["secretName"].clone();
    }
    if let Some(size) = volume["emptyDir"].get("sizeLimit") {
        s3["size"] = size.clone();
    }
    s3
}

/// Where a volume's data lies, as an entry of storage says it.
fn source_of(parts: &Parts, volume: &Json) -> Map<String, Json> {
    let mut source = Map::new();
    let mut set = |key: &str, value: Json| drop(source.insert(key.to_owned(), value));
    if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
        match parts.beside.get(&format!("PersistentVolumeClaim/{claim}")) {
            None => set("existingClaim", claim.into()),
            // One that is bound names a volume too, which is not ours.
            Some(claim) => match claim["spec"]["volumeName"].as_str().map(|name| format!("PersistentVolume/{name}")) {
                None => set("claim", claim_of(&claim["spec"])),
                Some(name) if !parts.beside.contains_key(&name) => set("claim", claim_of(&claim["spec"])),
                Some(name) => {
                    let spec = parts.beside.get(&name).map(|volume| &volume["spec"]);
                    let ours =
                        ["capacity", "accessModes", "persistentVolumeReclaimPolicy", "storageClassName", "claimRef"];
                    let theirs = spec.and_then(Json::as_object).into_iter().flatten();
                    let theirs: Map<_, _> = theirs
                        .filter(|(key, _)| !ours.contains(&key.as_str()))
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect();
                    set("persistentVolume", theirs.into());
                    set("size", claim["spec"]["resources"]["requests"]["storage"].clone());
                    set("accessModes", claim["spec"]["accessModes"].clone());
                }
            },
        }
    } else if let Some(nfs) = volume.get("nfs") {
        set("nfs", json!({"server": nfs["server"], "path": nfs["path"]}));
    } else if let Some(path) = volume["hostPath"].get("path") {
        set("hostPath", path.clone());
    } else if let Some(folder) = volume.get("emptyDir") {
        let size = folder.get("sizeLimit");
        set("emptyDir", size.map_or(json!({}), |size| json!({"size": size})));
    }
    source
}

fn claim_of(spec: &Json) -> Json {
    let mut claim = json!({"size": spec["resources"]["requests"]["storage"], "accessModes": spec["accessModes"]});
    if let Some(class) = spec.get("storageClassName") {
        claim["storageClass"] = class.clone();
    }
    claim
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
    let text = Text { name: "the imported job".to_owned(), text: desk.draft.text(&[]) };
    let Ok((mut plans, _)) = compile::plans(&text, &inputs()) else { return };
    let Some((plan, _)) = plans.pop() else { return };
    for variable in list(&parts.worker["env"]) {
        let name = variable["name"].as_str().unwrap_or_default();
        if plan.env.iter().any(|(known, value)| known == name && variable["value"] == value.as_str()) {
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
    let own = plan.launch.iter().zip(&words).take_while(|(planned, found)| planned == found).count();
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

fn inputs() -> Inputs {
    Inputs { target: Target::MpiJob, keys: Keys::LeftOut, ..Inputs::default() }
}

/// Takes away what says no more than the default.
fn trim(desk: &mut Desk<'_>) {
    const DEFAULTS: &[&str] = &[
        "spec.workers.slots",
        "spec.workers.shm",
        "spec.launcher.kind",
        "spec.launcher.mpi",
        "spec.launcher.cpu",
        "spec.launcher.memory",
        "spec.launcher.retries",
        "spec.launcher.waitTimeout",
        "spec.launcher.idleTimeout",
        "spec.elastic.timeout",
        "spec.placement.spread",
        "spec.security.profile",
        "spec.security.runAsUser",
        "spec.security.fsGroup",
        "spec.security.readOnlyRootFilesystem",
        "spec.workdir",
    ];
    let whole = rendered(desk);
    for path in DEFAULTS {
        let Some(value) = desk.draft.take(path) else { continue };
        if rendered(desk) != whole {
            desk.draft.put(path, value, "");
        }
    }
}

/// What the new job is rendered to; empty where it does not hold.
fn rendered(desk: &Desk<'_>) -> String {
    let text = Text { name: "the imported job".to_owned(), text: desk.draft.text(&[]) };
    compile::render(&text, &inputs()).map(|rendered| rendered.text).unwrap_or_default()
}

/// Renders the new job, and says of each field of the old objects whether that holds it.
fn compare(job: &Node, desk: &mut Desk<'_>) {
    let rendered = rendered(desk);
    let run = |object: &Json| object["metadata"]["labels"]["khorovod.dev/run"].as_str().unwrap_or_default().to_owned();
    let (mut objects, mut new_run) = (HashMap::new(), String::new());
    for piece in source::pieces(&rendered) {
        let Ok(Some(node)) = source::parse(&rendered[piece.body], Span::default(), &mut Vec::new()) else { continue };
        let object = node.to_json();
        new_run = Some(run(&object)).filter(|run| !run.is_empty()).unwrap_or(new_run);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        objects.insert(format!("{}/{name}", object["kind"].as_str().unwrap_or_default()), object);
    }
    let runs = (run(&job.to_json()), new_run);
    let name = job.get("metadata").and_then(|node| node.get("name")).and_then(super::desk::text).unwrap_or_default();
    let renamed = |key: &str| if runs.0.is_empty() { key.to_owned() } else { key.replace(&runs.0, &runs.1) };
    let found = |key: String| objects.get(&renamed(&key)).unwrap_or(&Json::Null);
    let Kind::Map(fields) = &job.kind else { return };
    let ours = found(format!("MPIJob/{name}"));
    for entry in fields.iter().filter(|entry| entry.key != BESIDE) {
        match entry.key.as_str() {
            "status" => desk.needless(&entry.value, "Kubernetes wrote it"),
            key => judge(desk, &entry.value, &ours[key], &runs),
        }
    }
    for entry in job.get(BESIDE).map_or(&[][..], super::desk::entries) {
        match objects.get(&renamed(&entry.key)) {
            Some(object) => judge(desk, &entry.value, object, &runs),
            None => desk.lose(&entry.value, "khorovod did not render it, or makes it no more"),
        }
    }
}

/// Fields that the API server or a controller writes.
const THEIRS: &[&str] = &[
    "creationTimestamp",
    "finalizers",
    "generation",
    "kubectl.kubernetes.io/last-applied-configuration",
    "launcherCreationPolicy",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "status",
    "suspend",
    "uid",
    "volumeMode",
    "volumeName",
];

/// Each leaf of `old`: whether the new object has it too.
fn judge(desk: &mut Desk<'_>, old: &Node, new: &Json, runs: &(String, String)) {
    match &old.kind {
        Kind::Map(entries) if !entries.is_empty() => {
            for entry in entries {
                let new = &new[entry.key.as_str()];
                let theirs = THEIRS.contains(&entry.key.as_str()) || entry.key.contains("pv.kubernetes.io/");
                match theirs && new.is_null() {
                    true => desk.needless(&entry.value, "Kubernetes wrote it"),
                    false => judge(desk, &entry.value, new, runs),
                }
            }
        }
        Kind::List(list) if !list.is_empty() => {
            for (index, item) in list.iter().enumerate() {
                judge(desk, item, new.get(index).unwrap_or(&Json::Null), runs);
            }
        }
        _ => {
            let same = match (old.to_json(), new) {
                (Json::String(old), Json::String(new)) if !runs.0.is_empty() => old.replace(&runs.0, &runs.1) == *new,
                (old, new) => old == *new,
            };
            match same {
                true => desk.ledger.settle(old, Verdict::Kept, "", "khorovod renders it again"),
                false => desk.lose(old, CHANGED),
            }
        }
    }
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
