//! A manifest of FfDL: learners that run one framework's command, with a bucket in and a bucket out.

use serde_json::{Map, Value as Json, json};

use super::desk::{Desk, entries, items, text};
use super::launch;
use super::ledger::Verdict;
use super::slurm::text as shell;
use super::{BAD_VALUE, program};
use khorovod_compiler::job::quantity::Quantity;
use khorovod_compiler::problem::Problem;
use khorovod_compiler::yaml::Node;

/// Where the data comes in and the results go out.
const DATA: &str = "/data";
const RESULTS: &str = "/results";
/// Where the program lies that came beside the manifest.
const MODEL: &str = "/workspace";

/// Reads the manifest.
pub fn read(manifest: &Node, desk: &mut Desk<'_>) {
    let get = |name: &str| manifest.get(name);
    desk.named(get("name"), "ffdl");
    for key in ["description", "version"] {
        if let Some((node, value)) = get(key).and_then(|node| Some((node, text(node)?))) {
            desk.draft.put_key("metadata.annotations", key, value, key);
            desk.ledger.settle(node, Verdict::Kept, "metadata.annotations", "");
        }
    }
    let gpus = learners(manifest, desk);
    let count = desk.draft.get("spec.workers.replicas").and_then(Json::as_u64).unwrap_or(1);
    framework(get("framework"), desk);
    stores(get("data_stores"), desk);
    code(desk);
    for (name, value, why) in [
        ("NUM_LEARNERS", count.to_string(), "FfDL set it"),
        ("GPU_COUNT", gpus.to_string(), "FfDL set it"),
        ("MODEL_DIR", MODEL.to_owned(), "the code folder"),
    ] {
        desk.draft.put_key("spec.env", name, value, why);
    }
    metrics(get("evaluation_metrics"), desk);
    lacking(get("framework").and_then(|node| node.get("command")), desk);
    desk.default("spec.launcher.retries", 0, "FfDL gave up at the first failure");
    if desk.draft.get("spec.security").is_none() {
        desk.default("spec.security.profile", "restricted", "FfDL's learners were root; here nothing is");
    }
}

/// Learners, and what each has; how many GPUs.
fn learners(manifest: &Node, desk: &mut Desk<'_>) -> u32 {
    let get = |name: &str| manifest.get(name);
    match get("learners").map(|node| (node, desk.count(node))) {
        Some((node, Some(count))) => desk.keep(node, "spec.workers.replicas", count.max(1)),
        Some((_, None)) => {}
        None => desk.default("spec.workers.replicas", 1, "one learner by default"),
    }
    let gpus = match get("gpus").map(|node| (node, whole(node, desk))) {
        Some((node, Some(0))) => {
            desk.needless(node, "the same here by default");
            0
        }
        Some((node, Some(count))) => {
            desk.keep(node, "spec.workers.gpus", count);
            count
        }
        _ => 0,
    };
    if let Some((node, value)) = get("cpus").and_then(|node| Some((node, text(node)?))) {
        match Quantity::parse(&value) {
            Some(_) => desk.keep(node, "spec.workers.cpu", value),
            None => desk.refuse(node, "a number of CPUs"),
        }
    }
    for (key, to) in [("memory", "spec.workers.memory"), ("storage", "spec.workers.ephemeralStorage")] {
        let Some((node, value)) = get(key).and_then(|node| Some((node, text(node)?))) else { continue };
        match size(&value) {
            Some(size) => {
                desk.draft.put(to, size, key);
                desk.ledger.settle(node, Verdict::Changed, to, "as Kubernetes writes sizes");
            }
            None => desk.refuse(node, "a size such as 4Gb or 4Gib"),
        }
    }
    if let Some(node) = get("gpu_type") {
        desk.lose(node, "name the label of your nodes in spec.placement.nodeSelector");
    }
    gpus
}

/// A whole number, which FfDL also took as `2.0`.
fn whole(node: &Node, desk: &mut Desk<'_>) -> Option<u32> {
    let written = text(node).and_then(|text| text.trim().trim_end_matches('0').strip_suffix('.')?.parse().ok());
    written.or_else(|| desk.count(node))
}

/// `1Gb`, `16000MiB`, `2 GB`: decimal without the i, binary with it.
fn size(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let suffix = match unit {
        "k" => "k",
        "m" => "M",
        "g" => "G",
        "t" => "T",
        "ki" => "Ki",
        "mi" => "Mi",
        "gi" => "Gi",
        "ti" => "Ti",
        _ => return None,
    };
    let size = format!("{number}{suffix}");
    Quantity::parse(&size).map(|_| size)
}

fn framework(node: Option<&Node>, desk: &mut Desk<'_>) {
    let get = |name: &str| node.and_then(|node| node.get(name));
    let read = |name: &str| get(name).and_then(text).unwrap_or_default();
    let (name, version) = (read("name"), read("version"));
    let tag = if read("image_tag").is_empty() { version } else { read("image_tag") };
    if desk.options.image.is_some() {
        desk.image("", "");
    } else if name.is_empty() || tag.is_empty() {
        return desk.missing("framework", "`name` and `version` say which image; `--image NAME` gives one");
    } else {
        let image = match name.as_str() {
            "custom" => tag.clone(),
            "horovod" => format!("uber/horovod:{tag}"),
            "caffe" => format!("bvlc/caffe:{tag}"),
            "caffe2" => format!("caffe2ai/caffe2:{tag}"),
            "h2o3" => format!("opsh2oai/h2o3-ffdl:{tag}"),
            "pytorchmpi" => format!("tomcli/pytorch:{tag}"),
            other => format!("{other}/{other}:{tag}"),
        };
        let place = |key: &str| get("image_location").and_then(|node| node.get(key)).and_then(text);
        match (place("registry"), place("namespace")) {
            (Some(registry), Some(space)) => {
                desk.image(&format!("{registry}/{space}/{name}:{tag}"), "of framework.image_location");
            }
            _ if read("image_tag").is_empty() => desk.image(&image, "of framework.name and .version"),
            _ => desk.image(&image, "of framework.name and .image_tag"),
        }
    }
    location(get("image_location"), desk);
    let tagged = !read("image_tag").is_empty();
    for key in ["name", "version", "image_tag"] {
        match get(key) {
            Some(node) if desk.options.image.is_some() => desk.replaced(node, "another image was asked for"),
            Some(node) if key == "version" && tagged => {
                desk.lose(node, "`image_tag` is the image's tag, as it was in FfDL");
            }
            Some(node) => desk.ledger.settle(node, Verdict::Changed, "spec.image", "an image's name and tag"),
            None => {}
        }
    }
    // These FfDL launched by mpirun, a rank a GPU.
    let launched = matches!(name.as_str(), "horovod" | "pytorchmpi") || name == "tensorflow" && tag.contains("horovod");
    if !launched {
        desk.default("spec.workers.slots", 1, "FfDL ran the command once in each learner");
    }
    let command = desk.typed.clone().map(|(line, _)| line).or_else(|| get("command").and_then(text));
    match command.filter(|line| !line.trim().is_empty()) {
        Some(line) => program(&line, get("command"), desk),
        None => desk.missing("framework.command", "it says what to run"),
    }
}

/// A registry of one's own.
fn location(node: Option<&Node>, desk: &mut Desk<'_>) {
    for entry in node.map_or(&[][..], entries) {
        match entry.key.as_str() {
            "registry" | "namespace" if desk.options.image.is_none() => {
                desk.ledger.settle(&entry.value, Verdict::Changed, "spec.image", "parts of an image's name");
            }
            "registry" | "namespace" => desk.replaced(&entry.value, "another image was asked for"),
            "access_token" => desk.lose(
                &entry.value,
                "make a Secret of it, `kubectl create secret docker-registry`, and name that in spec.image.pullSecrets",
            ),
            _ => desk.lose(&entry.value, "an image here is a name"),
        }
    }
}

/// What each learner ran.
fn program(line: &str, node: Option<&Node>, desk: &mut Desk<'_>) {
    // FfDL put lines together.
    let whole = line.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let line = whole.as_str();
    launch::refuse_secret(desk, line, &launch::Place { path: "framework.command".to_owned(), span: desk.whole });
    let from = if desk.typed.is_some() { "--command" } else { "framework.command" };
    if line.contains("LEARNER_ID") {
        let numbered = format!("export LEARNER_ID=$((${{HOSTNAME##*-}} + 1)); {line}");
        desk.draft.put("spec.command", numbered, &format!("{from}; learners were numbered from 1"));
    } else {
        desk.draft.put("spec.command", program::program(line), from);
    }
    if let Some(node) = node {
        desk.ledger.settle(node, Verdict::Kept, "spec.command", "");
    }
}

/// What a learner had that pods lack: variables that FfDL set, and the right to install.
fn lacking(node: Option<&Node>, desk: &mut Desk<'_>) {
    let span = node.map_or(desk.whole, |node| node.span);
    let Some(command) = desk.draft.get("spec.command").and_then(Json::as_str).map(str::to_owned) else { return };
    let mut names = shell::names(&shell::without_quoted(&command));
    names.sort();
    names.dedup();
    let set_by_command = shell::set_by(&command);
    let env = desk.draft.get("spec.env");
    names.retain(|name| {
        let set = env.is_some_and(|env| env.get(name).is_some()) || set_by_command.contains(name);
        !set && !shell::anywhere(name) && !shell::by_launcher(name)
    });
    for name in names {
        let row = desk.ledger.add(format!("framework.command: ${name}"), span);
        let how =
            "FfDL may have set it; here nothing does, and it is empty: say it in spec.env, or its value in its place";
        desk.ledger.settle_row(row, Verdict::Changed, "spec.command", how);
    }
    for line in command.split(['&', ';', '|']).map(str::trim).filter(|line| installs(line)) {
        let row = desk.ledger.add(format!("framework.command: {}", program::masked(line)), span);
        let how = "each rank would install at every start, and is not root: do it once, in the image";
        desk.ledger.settle_row(row, Verdict::Changed, "spec.command", how);
    }
}

/// Whether a command installs something.
fn installs(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "sudo").collect();
    match words.as_slice() {
        ["python" | "python3", "-m", "pip", ..] => true,
        ["pip" | "pip3" | "conda" | "apt" | "apt-get" | "yum" | "dnf", rest @ ..] => {
            rest.iter().any(|word| ["install", "update"].contains(word))
        }
        _ => false,
    }
}

/// Only the first store counted.
fn stores(node: Option<&Node>, desk: &mut Desk<'_>) {
    let Some(node) = node else { return };
    if !entries(node).is_empty() {
        let problem = Problem::new(&BAD_VALUE, node.span, "`data_stores` should be a list, and is a map");
        return desk.problems.push(problem.hint("write `- ` before its first key, and indent the others"));
    }
    let mut stores = items(node).iter();
    if let Some(store) = stores.next() {
        bucket(store, desk);
    }
    for store in stores {
        desk.lose(store, "FfDL read only the first; add an entry to spec.storage");
    }
    desk.needless(node, "there are none");
}

fn bucket(store: &Node, desk: &mut Desk<'_>) {
    let connection = store.get("connection");
    let said = |name: &str| connection.and_then(|node| node.get(name));
    let read = |name: &str| said(name).and_then(text).filter(|text| !text.is_empty());
    let host = read("type").as_deref() == Some("host_mount")
        || store.get("type").and_then(text).as_deref() == Some("mount_volume");
    if let (false, Some(url), Some(node)) = (host, read("auth_url"), said("auth_url"))
        && !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
    {
        desk.refuse(node, "a URL such as http://s3.default.svc.cluster.local");
    }
    let secret = keys(read("user_name"), read("password"), desk);
    for (key, name, path, direction, variables) in [
        ("training_data", "data", DATA, "in", &["DATA_DIR"][..]),
        ("training_results", "results", RESULTS, "out", &["RESULT_DIR", "LOG_DIR", "CHECKPOINT_DIR"][..]),
    ] {
        let Some((node, container)) =
            store.get(key).and_then(|node| node.get("container")).and_then(|node| Some((node, text(node)?)))
        else {
            continue;
        };
        let from = desk.ledger.path(node).to_owned();
        let mut item = json!({"name": name, "mountPath": path});
        if host {
            let root = read("path").unwrap_or_else(|| "/".to_owned());
            item["hostPath"] = format!("{}/{container}", root.trim_end_matches('/')).into();
            desk.profile("privileged", "a directory of the node needs it");
        } else {
            let mut s3 = Map::new();
            if let Some(url) = read("auth_url") {
                s3.insert("endpoint".to_owned(), url.into());
            }
            s3.insert("bucket".to_owned(), container.into());
            if let Some(region) = read("region") {
                s3.insert("region".to_owned(), region.into());
            }
            if direction == "out" {
                s3.insert("prefix".to_owned(), format!("{}/", desk.job()).into());
            }
            if let Some(secret) = &secret {
                s3.insert("secret".to_owned(), secret.as_str().into());
            }
            s3.insert("direction".to_owned(), direction.into());
            item["s3"] = Json::Object(s3);
        }
        desk.draft.push("spec.storage", item, &from);
        for variable in variables {
            desk.draft.put_key("spec.env", variable, path, "where FfDL's programs look");
        }
        let how =
            if direction == "out" && !host { "below the job's name, where FfDL had the training's id" } else { "" };
        let verdict = if how.is_empty() { Verdict::Kept } else { Verdict::Changed };
        desk.ledger.settle(node, verdict, "spec.storage", how);
    }
    settle(store, connection, host, desk);
}

/// Access keys, in a Secret of their own.
fn keys(user: Option<String>, password: Option<String>, desk: &mut Desk<'_>) -> Option<String> {
    let name = format!("{}-s3", desk.job());
    let (user, password) = (user?, password?);
    desk.secret(&name, "AWS_ACCESS_KEY_ID", &user);
    desk.secret(&name, "AWS_SECRET_ACCESS_KEY", &password);
    Some(name)
}

/// What became of the rest of a store.
fn settle(store: &Node, connection: Option<&Node>, host: bool, desk: &mut Desk<'_>) {
    for entry in connection.map_or(&[][..], entries) {
        match entry.key.as_str() {
            "user_name" | "password" if !host => {
                desk.ledger.settle(&entry.value, Verdict::Changed, "spec.storage", "moved to a Secret");
            }
            "auth_url" | "region" if !host => desk.ledger.settle(&entry.value, Verdict::Kept, "spec.storage", ""),
            "path" | "name" | "type" if host => desk.ledger.settle(&entry.value, Verdict::Kept, "spec.storage", ""),
            "type" => desk.needless(&entry.value, "the kind of storage follows from the rest"),
            _ => desk.lose(&entry.value, "buckets need no such setting here"),
        }
    }
    for entry in entries(store) {
        match entry.key.as_str() {
            "id" => desk.needless(&entry.value, "nothing refers to it"),
            "type" if host => desk.needless(&entry.value, "folders of the nodes are mounted as they are"),
            "type" => desk.needless(&entry.value, "objects are copied in before and out after the training"),
            "training_data" | "training_results" => desk.lose(&entry.value, "spec.storage has no such setting"),
            _ => {}
        }
    }
}

/// The folder that was handed to `ffdl train` with the manifest.
fn code(desk: &mut Desk<'_>) {
    let files: Map<String, Json> =
        desk.options.code.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect();
    if files.is_empty() {
        let why =
            "the code folder is not in the manifest: name it behind it on the command line, or build it into the image";
        return desk.default("spec.workdir", MODEL, why);
    }
    desk.default("spec.code", json!({"files": files, "mountPath": MODEL}), "the code folder");
}

fn metrics(node: Option<&Node>, desk: &mut Desk<'_>) {
    let Some(node) = node else { return };
    let read = |name: &str| node.get(name).and_then(text);
    if let (Some("tensorboard"), Some(place)) = (read("type").as_deref(), read("in")) {
        let below = place.rsplit_once("_DIR").map_or(place.as_str(), |(_, below)| below.trim_start_matches('}'));
        let logdir = if below.starts_with('/') { format!("{RESULTS}{below}") } else { format!("{RESULTS}/{below}") };
        desk.draft.put("spec.observability.tensorboard.logdir", logdir, "evaluation_metrics.in");
        for key in ["type", "in"] {
            if let Some(node) = node.get(key) {
                desk.ledger.settle(node, Verdict::Changed, "spec.observability.tensorboard", "among the results");
            }
        }
    }
    desk.lose(node, "khorovod reads no metrics out of logs; spec.observability.metrics is a port to scrape");
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_as_ffdl_reads_them() {
        let cases = [("1Gb", "1G"), ("12Gib", "12Gi"), ("16000MiB", "16000Mi"), ("2 GB", "2G"), ("0.5Gb", "0.5G")];
        for (theirs, ours) in cases {
            assert_eq!(size(theirs).as_deref(), Some(ours), "{theirs}");
        }
        for text in ["", "Gb", "1", "1Eb", "1Gbit", "-1Gb"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
