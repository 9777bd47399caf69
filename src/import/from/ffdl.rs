//! Imports a manifest of FfDL. FfDL's workers are called learners. They run the command of one framework, with a bucket
//! for the data and a bucket for the results.

use crate::field::{self, set};
use serde_json::{Map, Value as Json, json};

use crate::context::{Context, given, text};
use crate::field_outcomes::Verdict;
use crate::launch;
use crate::launch::program;
use crate::secrets;
use crate::shell_text;
use khorovod_compiler::job::quantity::Quantity;
use khorovod_compiler::shell;
use khorovod_compiler::yaml::Node;

/// The folders of the data and of the results.
const DATA: &str = "/data";
const RESULTS: &str = "/results";
/// The folder of the program that is submitted with the manifest.
const MODEL: &str = "/workspace";

/// The note for an image that FfDL started without mpirun.
const NEEDS_MPI: &str = "an image's name; khorovod starts the command with mpirun over ssh, so the image must contain Open \
                         MPI and OpenSSH: image/check-image reports what it lacks";

/// Imports the manifest.
pub fn read(manifest: &Node, context: &mut Context<'_>) {
    let get = |name: &str| manifest.get(name);
    context.named(get("name"), "ffdl");
    for key in ["description", "version"] {
        if let Some((node, value)) = given(get(key)) {
            context.spec.put_key(set::METADATA_ANNOTATIONS, key, value, key);
            context.kept(node, field::METADATA_ANNOTATIONS);
        }
    }
    let gpus = learners(manifest, context);
    let count = context.spec.get(field::WORKERS_REPLICAS).and_then(Json::as_u64).unwrap_or(1);
    framework(get("framework"), context);
    stores(get("data_stores"), context);
    code(context);
    for (name, value, why) in [
        ("NUM_LEARNERS", count.to_string(), "FfDL set it"),
        ("GPU_COUNT", gpus.to_string(), "FfDL set it"),
        ("MODEL_DIR", MODEL.to_owned(), "the code folder"),
    ] {
        context.spec.put_key(set::ENV, name, value, why);
    }
    metrics(get("evaluation_metrics"), context);
    lacking(get("framework").and_then(|node| node.get("command")), context);
    context.default(set::LIFECYCLE_RETRIES, 0_u32, "FfDL gave up at the first failure");
    if context.spec.get(field::SECURITY).is_none() {
        context.default(set::SECURITY_POD_SECURITY_LEVEL, "restricted", "FfDL's learners ran as root; these do not");
    }
}

/// Imports the number of learners and the resources of each. Returns the number of GPUs.
fn learners(manifest: &Node, context: &mut Context<'_>) -> u32 {
    let get = |name: &str| manifest.get(name);
    match get("learners").map(|node| (node, context.count(node))) {
        Some((node, Some(count))) => context.keep(node, set::WORKERS_REPLICAS, count.max(1)),
        Some((_, None)) => {}
        None => context.default(set::WORKERS_REPLICAS, 1_u32, "one learner by default"),
    }
    let gpus = match get("gpus").map(|node| (node, context.count(node))) {
        Some((node, Some(0))) => {
            context.needless(node, "this is the default of khorovod, too");
            0
        }
        Some((node, Some(count))) => {
            context.keep(node, set::WORKERS_GPUS, count);
            count
        }
        _ => 0,
    };
    if let Some((node, value)) = given(get("cpus")) {
        match Quantity::parse(&value) {
            Some(_) => context.keep(node, set::WORKERS_CPU, value),
            None => context.refuse(node, "a number of CPUs"),
        }
    }
    for (key, to) in [("memory", set::WORKERS_MEMORY), ("storage", set::WORKERS_EPHEMERAL_STORAGE)] {
        let Some((node, value)) = given(get(key)) else { continue };
        match size(&value) {
            Some(size) => {
                context.spec.put(to, size, key);
                context.changed(node, to.path, "in the notation of Kubernetes");
            }
            None => context.refuse(node, "a size such as 4Gb or 4Gib"),
        }
    }
    if let Some(node) = get("gpu_type") {
        context.lose(node, "write the label of such nodes into spec.placement.nodeSelector");
    }
    gpus
}

/// Converts a size such as `1Gb`, `16000MiB` or `2 GB`. Units with an `i` are binary, units without an `i` are decimal.
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

fn framework(node: Option<&Node>, context: &mut Context<'_>) {
    let get = |name: &str| node.and_then(|node| node.get(name));
    let read = |name: &str| get(name).and_then(text).unwrap_or_default();
    let (name, version) = (read("name"), read("version"));
    let tag = if read("image_tag").is_empty() { version } else { read("image_tag") };
    if context.options.image.is_some() {
        context.image("", "");
    } else if name.is_empty() || tag.is_empty() {
        return context.missing("framework", "add `name` and `version`, which select the image, or use `--image NAME`");
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
                context.image(&format!("{registry}/{space}/{name}:{tag}"), "of framework.image_location");
            }
            _ if read("image_tag").is_empty() => context.image(&image, "from framework.name and framework.version"),
            _ => context.image(&image, "from framework.name and framework.image_tag"),
        }
    }
    location(get("image_location"), context);
    // FfDL started programs of these frameworks with mpirun, one rank per GPU.
    let launched = matches!(name.as_str(), "horovod" | "pytorchmpi") || name == "tensorflow" && tag.contains("horovod");
    let tagged = !read("image_tag").is_empty();
    for key in ["name", "version", "image_tag"] {
        match get(key) {
            Some(node) if context.options.image.is_some() => context.replaced(node, "`--image` replaces it"),
            Some(node) if key == "version" && tagged => {
                context.lose(node, "`image_tag` replaces it, as in FfDL");
            }
            Some(node) if key == "name" && !launched => context.changed(node, field::IMAGE, NEEDS_MPI),
            Some(node) => context.changed(node, field::IMAGE, "a part of the name and tag of the image"),
            None => {}
        }
    }
    if !launched {
        context.default(set::WORKERS_SLOTS_PER_WORKER, 1_u32, "FfDL ran the command once in each learner");
    }
    let command = context.typed.clone().map(|(line, _)| line).or_else(|| get("command").and_then(text));
    match command.filter(|line| !line.trim().is_empty()) {
        Some(line) => program(&line, get("command"), context),
        None => context.missing("framework.command", "add the command to run"),
    }
}

/// Imports `framework.image_location`, the private registry of the image.
fn location(node: Option<&Node>, context: &mut Context<'_>) {
    for entry in node.map_or(&[][..], Node::entries) {
        match entry.key.as_str() {
            "registry" | "namespace" if context.options.image.is_none() => {
                context.changed(&entry.value, field::IMAGE, "a part of the name of the image");
            }
            "registry" | "namespace" => context.replaced(&entry.value, "`--image` replaces it"),
            "access_token" => context.lose(
                &entry.value,
                "create a Secret from it with `kubectl create secret docker-registry`, and write its name into spec.image.pullSecrets",
            ),
            _ => context.lose(&entry.value, "spec.image has no such field"),
        }
    }
}

/// Imports the command of the learners.
fn program(line: &str, node: Option<&Node>, context: &mut Context<'_>) {
    // FfDL joined the lines of a command into one.
    let whole = line.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let line = whole.as_str();
    launch::refuse_secret(context, line, &launch::Place { path: "framework.command".to_owned(), span: context.whole });
    let from = if context.typed.is_some() { "--command" } else { "framework.command" };
    if line.contains("LEARNER_ID") {
        let numbered = format!("export LEARNER_ID=$((${{HOSTNAME##*-}} + 1)); {line}");
        context.spec.put(set::COMMAND, numbered, &format!("{from}; learners were numbered from 1"));
    } else {
        context.spec.put(set::COMMAND, program::program(line), from);
    }
    if let Some(node) = node {
        context.kept(node, field::COMMAND);
    }
}

/// Reports what FfDL's learners have and khorovod's pods lack: the variables that FfDL sets, and the permission to
/// install software.
fn lacking(node: Option<&Node>, context: &mut Context<'_>) {
    let span = node.map_or(context.whole, |node| node.span);
    let Some(command) = context.spec.get(field::COMMAND).and_then(Json::as_str).map(str::to_owned) else { return };
    let names = shell_text::unset(&command, context.spec.get(field::ENV));
    for name in names.iter().filter(|name| !shell_text::by_launcher(name)) {
        let path = format!("framework.command: ${name}");
        if shell_text::has_default(&command, name) {
            let how = "FfDL may have set it; now the command uses its default, unless spec.env sets it";
            context.report(path, span, Verdict::Changed, field::COMMAND, how);
        } else {
            let how = "FfDL may have set it; now it is empty: set it in spec.env, or write its value in its place";
            context.report(path, span, Verdict::Lost, "", how);
        }
    }
    let script = shell::parse(&command);
    let commands = shell::simple_commands(&script.statements).into_iter();
    for line in commands.filter_map(|simple| Some(&command[simple.words_span()?])).filter(|line| installs(line)) {
        let how = "each rank would do it at every start, without root and with a read-only file system: do it once, in the image";
        context.report(
            format!("framework.command: {}", secrets::masked(line)),
            span,
            Verdict::Changed,
            field::COMMAND,
            how,
        );
    }
}

/// Whether a command installs or downloads something.
fn installs(line: &str) -> bool {
    let words = shell_text::first_words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "sudo").collect();
    match words.as_slice() {
        ["python" | "python3", "-m", "pip", ..] | ["git", "clone", ..] | ["wget", ..] => true,
        ["pip" | "pip3" | "conda" | "apt" | "apt-get" | "yum" | "dnf", rest @ ..] => {
            rest.iter().any(|word| ["install", "update"].contains(word))
        }
        _ => false,
    }
}

/// Imports the first data store. FfDL ignored the others.
fn stores(node: Option<&Node>, context: &mut Context<'_>) {
    let Some(node) = node else { return };
    if !node.entries().is_empty() {
        return context.refuse_at(
            node.span,
            "`data_stores` should be a list, and is a map",
            "write `- ` before its first key, and indent the others",
        );
    }
    let mut stores = node.items().iter();
    if let Some(store) = stores.next() {
        bucket(store, context);
    }
    for store in stores {
        context.lose(store, "FfDL used only the first entry; add this one to spec.storage");
    }
    context.needless(node, "it is empty");
}

fn bucket(store: &Node, context: &mut Context<'_>) {
    let connection = store.get("connection");
    let setting = |name: &str| connection.and_then(|node| node.get(name));
    let read = |name: &str| setting(name).and_then(text).filter(|text| !text.is_empty());
    let host = read("type").as_deref() == Some("host_mount")
        || store.get("type").and_then(text).as_deref() == Some("mount_volume");
    if let (false, Some(url), Some(node)) = (host, read("auth_url"), setting("auth_url"))
        && !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
    {
        context.refuse(node, "a URL such as http://s3.default.svc.cluster.local");
    }
    let secret = keys(read("user_name"), read("password"), context);
    for (key, name, path, direction, variables) in [
        ("training_data", "data", DATA, "in", &["DATA_DIR"][..]),
        ("training_results", "results", RESULTS, "out", &["RESULT_DIR", "LOG_DIR", "CHECKPOINT_DIR"][..]),
    ] {
        let Some((node, container)) =
            store.get(key).and_then(|node| node.get("container")).and_then(|node| Some((node, text(node)?)))
        else {
            continue;
        };
        let from = context.outcomes.path(node).to_owned();
        let mut item = json!({"name": name, "mountPath": path});
        if host {
            let root = read("path").unwrap_or_else(|| "/".to_owned());
            item["hostPath"] = json!({"path": format!("{}/{container}", root.trim_end_matches('/'))});
            context.pod_security_level("privileged", "`hostPath` needs it");
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
                s3.insert("prefix".to_owned(), format!("{}/", context.job()).into());
            }
            if let Some(secret) = &secret {
                s3.insert("secretName".to_owned(), secret.as_str().into());
            }
            s3.insert("direction".to_owned(), direction.into());
            item["s3"] = Json::Object(s3);
        }
        context.spec.push(set::STORAGE, item, &from);
        for variable in variables {
            context.spec.put_key(set::ENV, variable, path, "FfDL's programs read this variable");
        }
        let how = if direction == "out" && !host {
            "in a folder with the job's name; FfDL used the training's id"
        } else {
            ""
        };
        let verdict = if how.is_empty() { Verdict::Kept } else { Verdict::Changed };
        context.outcomes.settle(node, verdict, field::STORAGE, how);
    }
    settle(store, connection, host, context);
}

/// Adds a Secret with access keys. Returns its name.
fn keys(user: Option<String>, password: Option<String>, context: &mut Context<'_>) -> Option<String> {
    let name = format!("{}-s3", context.job());
    let (user, password) = (user?, password?);
    context.secret(&name, "AWS_ACCESS_KEY_ID", &user);
    context.secret(&name, "AWS_SECRET_ACCESS_KEY", &password);
    Some(name)
}

/// Records the outcomes of the other fields of a store.
fn settle(store: &Node, connection: Option<&Node>, host: bool, context: &mut Context<'_>) {
    for entry in connection.map_or(&[][..], Node::entries) {
        match entry.key.as_str() {
            "user_name" | "password" if !host => context.changed(&entry.value, field::STORAGE, "moved to a Secret"),
            "auth_url" | "region" if !host => context.kept(&entry.value, field::STORAGE),
            "path" | "name" | "type" if host => context.kept(&entry.value, field::STORAGE),
            "type" => context.needless(&entry.value, "the other fields decide the kind of storage"),
            _ => context.lose(&entry.value, "spec.storage has no such field for buckets"),
        }
    }
    for entry in store.entries() {
        match entry.key.as_str() {
            "id" => context.needless(&entry.value, "nothing refers to it"),
            "type" if host => context.needless(&entry.value, "folders of the nodes are mounted as they are"),
            "type" => {
                context.needless(&entry.value, "objects are downloaded before the training and uploaded after it");
            }
            "training_data" | "training_results" => context.lose(&entry.value, "spec.storage has no such field"),
            _ => {}
        }
    }
}

/// Imports the folder that is given to `ffdl train` with the manifest.
fn code(context: &mut Context<'_>) {
    let files: Map<String, Json> =
        context.options.code.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect();
    if files.is_empty() {
        let why = "the code is not in the manifest: name its folder on the command line after the manifest, or build it into the image";
        return context.default(set::WORKING_DIR, MODEL, why);
    }
    context.default(set::CODE, json!({"files": files, "mountPath": MODEL}), "the code folder");
}

fn metrics(node: Option<&Node>, context: &mut Context<'_>) {
    let Some(node) = node else { return };
    let read = |name: &str| node.get(name).and_then(text);
    if let (Some("tensorboard"), Some(place)) = (read("type").as_deref(), read("in")) {
        let below = place.rsplit_once("_DIR").map_or(place.as_str(), |(_, below)| below.trim_start_matches('}'));
        let logdir = if below.starts_with('/') { format!("{RESULTS}{below}") } else { format!("{RESULTS}/{below}") };
        context.spec.put(set::OBSERVABILITY_TENSORBOARD_LOGDIR, logdir, "evaluation_metrics.in");
        for key in ["type", "in"] {
            if let Some(node) = node.get(key) {
                context.changed(node, field::OBSERVABILITY_TENSORBOARD_LOGDIR, "in the folder of the results");
            }
        }
    }
    context
        .lose(node, "khorovod does not read metrics from logs; for a port to scrape, set spec.observability.metrics");
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
