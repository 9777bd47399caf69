//! Reads the pods of a job from its rendered objects, as Kubernetes would start them. The main type is [`Job`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64ct::{Base64, Encoding};
use serde_json::{Map, Value};

use crate::cli::agent::is_agent;

/// The pods of a job, and remarks for the user.
#[derive(Debug)]
pub struct Job {
    pub pods: Vec<Pod>,
    /// The index of the launcher. When this pod ends, the job ends.
    pub launcher: usize,
    /// Whether a worker that exits with 0 is started again. This is true in a StatefulSet, and false in a Job.
    pub keeps_workers: bool,
    pub notes: Vec<String>,
}

impl Job {
    /// Whether each pod starts its own ranks and prints their output.
    pub fn has_agents(&self) -> bool {
        self.pods[self.launcher].containers.last().is_some_and(|container| is_agent(&container.command))
    }
}

/// A pod. Its host name is its name.
#[derive(Debug)]
pub struct Pod {
    pub name: String,
    /// All names that the other pods use for it.
    pub names: Vec<String>,
    pub address: String,
    /// The ids of its user and its group.
    pub ids: (u64, u64),
    /// The containers of khorovod, to run one after the other: the init containers, then the main container.
    pub containers: Vec<Container>,
    pub volumes: BTreeMap<String, Volume>,
    pub gpus: u32,
    /// The name of the resource that `gpus` counts.
    pub gpu_resource: String,
}

#[derive(Debug)]
pub struct Container {
    pub command: Vec<String>,
    /// The folder in which it starts, if the spec sets one.
    pub folder: Option<String>,
    pub environment: BTreeMap<String, String>,
    pub mounts: Vec<Mount>,
}

#[derive(Debug)]
pub struct Mount {
    pub volume: String,
    pub path: String,
    pub sub_path: Option<String>,
    pub is_read_only: bool,
}

/// The content of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Volume {
    /// A new folder for the pod.
    Empty,
    /// Files by name.
    Files(BTreeMap<String, String>),
    /// A folder with this name that is kept after the run.
    Kept(String),
    /// A folder of this machine.
    Folder(PathBuf),
}

/// The inputs of [`read`] besides the objects.
pub struct Surroundings<'a> {
    /// The folders to use instead of volumes, by the name of the volume.
    pub folders: &'a BTreeMap<String, PathBuf>,
    /// Returns the value of an environment variable of the user.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// A number that distinguishes the addresses of runs on the same machine.
    pub network: u8,
    /// A text that is unique to this run.
    pub id: &'a str,
}

/// The user and the group of a pod whose spec leaves the choice to the platform.
const USER: u64 = 65532;
/// Files that a local run leaves out, because they need an API server.
const NEEDS_API: &[&str] = &["api.sh", "call.py", "scale.sh", "guard.sh"];

/// Reads the pods of a job from its rendered objects. The errors are the reasons why the job cannot run without a
/// cluster.
pub fn read(objects: &[Value], around: &Surroundings) -> Result<Job, Vec<String>> {
    let mut reader = Reader { objects, around, problems: Vec::new(), notes: Vec::new() };
    let (mut pods, mut launcher, mut keeps_workers) = (Vec::new(), None, false);
    for object in objects {
        let template = &object["spec"]["template"];
        let name = text(&object["metadata"]["name"]);
        match text(&object["kind"]) {
            "StatefulSet" => {
                keeps_workers = true;
                let annotated = text(&object["metadata"]["annotations"]["khorovod.dev/replicas"]).parse().ok();
                let replicas = object["spec"]["replicas"].as_u64().or(annotated).unwrap_or(1);
                for index in 0..replicas {
                    let pod = reader.pod(&format!("{name}-{index}"), None, object, template, pods.len());
                    pods.push(pod);
                }
            }
            "Job" if object["spec"]["completionMode"] == "Indexed" => {
                launcher = Some(pods.len());
                for index in 0..object["spec"]["completions"].as_u64().unwrap_or(1) {
                    let pod = reader.pod(&format!("{name}-{index}"), Some(index), object, template, pods.len());
                    pods.push(pod);
                }
            }
            "Job" => {
                launcher = Some(pods.len());
                let host = template["spec"]["hostname"].as_str().unwrap_or(name);
                let pod = reader.pod(host, None, object, template, pods.len());
                pods.push(pod);
            }
            _ => {}
        }
    }
    let Reader { mut problems, mut notes, .. } = reader;
    problems.sort();
    problems.dedup();
    notes.sort();
    notes.dedup();
    match launcher {
        Some(launcher) if problems.is_empty() => Ok(Job { pods, launcher, keeps_workers, notes }),
        Some(_) => Err(problems),
        None => Err(vec!["the objects contain no Job".to_owned()]),
    }
}

struct Reader<'a> {
    objects: &'a [Value],
    around: &'a Surroundings<'a>,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Reader<'_> {
    fn pod(&mut self, name: &str, index: Option<u64>, owner: &Value, template: &Value, number: usize) -> Pod {
        let spec = &template["spec"];
        let namespace = owner["metadata"]["namespace"].as_str().unwrap_or("default");
        let service = spec["subdomain"].as_str().or(owner["spec"]["serviceName"].as_str()).unwrap_or_default();
        // All of 127.0.0.0/8 belongs to the loopback interface.
        let address = format!("127.{}.{}.{}", self.around.network, number / 250, number % 250 + 1);
        let names = ["", ".svc", ".svc.cluster.local"].map(|domain| {
            let namespace = if domain.is_empty() { String::new() } else { format!(".{namespace}") };
            format!("{name}.{service}{namespace}{domain}")
        });
        let security = &spec["securityContext"];
        let user = security["runAsUser"].as_u64().unwrap_or(USER);
        if user == 0 {
            self.problems.push(
                "the job runs as root, but its sshd would need root on this machine: use --set security.runAsUser=1000"
                    .to_owned(),
            );
        }
        let ids = (user, security["runAsGroup"].as_u64().filter(|group| *group > 0).unwrap_or(user));
        let mut volumes = BTreeMap::new();
        for volume in list(&spec["volumes"]) {
            let content = self.volume(volume, name, &address);
            volumes.insert(text(&volume["name"]).to_owned(), content);
        }
        for claim in list(&owner["spec"]["volumeClaimTemplates"]) {
            let title = text(&claim["metadata"]["name"]);
            let content = self.folder_of(title).unwrap_or_else(|| Volume::Kept(format!("{title}-{name}")));
            volumes.insert(title.to_owned(), content);
        }
        let is_own = |container: &&Value| container["command"].to_string().contains("/etc/khorovod/scripts/");
        let all = list(&spec["initContainers"]).iter().chain(list(&spec["containers"]));
        let (own, others): (Vec<_>, Vec<_>) = all.partition(is_own);
        for other in others {
            let title = text(&other["name"]);
            self.notes.push(format!("the container {title}, which is not khorovod's, does not run here"));
        }
        let fields = |path: &str| field(path, name, namespace, &address, self.around.id, template);
        let mut containers = Vec::new();
        for container in &own {
            let environment = self.environment(container, name, index, &fields);
            containers.push(container_of(container, environment));
        }
        let limits = own.last().map(|own| &own["resources"]["limits"]).and_then(Value::as_object);
        let gpu = limits.and_then(|limits| {
            limits.iter().find(|(resource, _)| resource.contains('/') && !resource.contains("rdma"))
        });
        let (gpu_resource, gpus) = gpu.map_or((String::new(), 0), |(resource, amount)| {
            let amount = amount.as_u64().or_else(|| amount.as_str()?.parse().ok()).unwrap_or(0);
            (resource.clone(), u32::try_from(amount).unwrap_or(u32::MAX))
        });
        Pod {
            name: name.to_owned(),
            names: names.into_iter().chain([name.to_owned()]).collect(),
            address,
            ids,
            containers,
            volumes,
            gpus,
            gpu_resource,
        }
    }

    /// The folder that the command line gives for a volume.
    fn folder_of(&self, name: &str) -> Option<Volume> {
        self.around.folders.get(name).cloned().map(Volume::Folder)
    }

    fn volume(&mut self, volume: &Value, pod: &str, address: &str) -> Volume {
        let name = text(&volume["name"]);
        if let Some(folder) = self.folder_of(name) {
            return folder;
        }
        let Some((kind, source)) = volume.as_object().and_then(|all| all.iter().find(|(key, _)| *key != "name")) else {
            return Volume::Empty;
        };
        match kind.as_str() {
            "configMap" => Volume::Files(self.files("ConfigMap", text(&source["name"]), source, name, address)),
            "secret" => Volume::Files(self.files("Secret", text(&source["secretName"]), source, name, address)),
            "projected" => {
                let mut files = BTreeMap::new();
                for part in list(&source["sources"]) {
                    if let Some(map) = part.get("configMap") {
                        files.extend(self.files("ConfigMap", text(&map["name"]), map, name, address));
                    } else if let Some(secret) = part.get("secret") {
                        files.extend(self.files("Secret", text(&secret["name"]), secret, name, address));
                    } else {
                        self.problems.push(format!(
                            "the volume {name} has a part that only a cluster can provide; give a folder: --volume {name}=FOLDER"
                        ));
                    }
                }
                Volume::Files(files)
            }
            "emptyDir" => Volume::Empty,
            "persistentVolumeClaim" => Volume::Kept(text(&source["claimName"]).to_owned()),
            "nfs" => Volume::Kept(name.to_owned()),
            "ephemeral" => Volume::Kept(format!("{name}-{pod}")),
            "hostPath" => Volume::Folder(PathBuf::from(text(&source["path"]))),
            kind => {
                self.problems.push(format!(
                    "the volume {name} is of the kind {kind}, which needs a cluster; give a folder: --volume {name}=FOLDER"
                ));
                Volume::Empty
            }
        }
    }

    /// The files of a ConfigMap or Secret.
    fn files(
        &mut self,
        kind: &str,
        object: &str,
        source: &Value,
        volume: &str,
        address: &str,
    ) -> BTreeMap<String, String> {
        let Some(data) = self.data(kind, object) else {
            if source["optional"] != true {
                self.problems.push(format!(
                    "the volume {volume} is the {kind} {object}, which only the cluster has; give a folder with its files: \
                     --volume {volume}=FOLDER"
                ));
            }
            return BTreeMap::new();
        };
        let mut files: BTreeMap<String, String> = match source["items"].as_array() {
            None => data,
            Some(items) => {
                let item = |item: &Value| Some((text(&item["path"]).to_owned(), data.get(text(&item["key"]))?.clone()));
                items.iter().filter_map(item).collect()
            }
        };
        if files.contains_key("job.sh") {
            localize(&mut files, address);
        }
        files
    }

    /// The entries of a ConfigMap or Secret.
    fn data(&self, kind: &str, name: &str) -> Option<BTreeMap<String, String>> {
        let object = self.objects.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name)?;
        let empty = Map::new();
        let entries = object["data"].as_object().unwrap_or(&empty);
        let plain = object["stringData"].as_object().unwrap_or(&empty);
        let decode = |value: &str| match kind {
            "Secret" => decode_base64(value),
            _ => value.to_owned(),
        };
        let all = entries.iter().map(|(key, value)| (key.clone(), decode(text(value))));
        Some(all.chain(plain.iter().map(|(key, value)| (key.clone(), text(value).to_owned()))).collect())
    }

    fn environment(
        &mut self,
        container: &Value,
        pod: &str,
        index: Option<u64>,
        field: &dyn Fn(&str) -> Option<String>,
    ) -> BTreeMap<String, String> {
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        all.insert("HOSTNAME".to_owned(), pod.to_owned());
        if let Some(index) = index {
            all.insert("JOB_COMPLETION_INDEX".to_owned(), index.to_string());
        }
        for source in list(&container["envFrom"]) {
            for (kind, key) in [("ConfigMap", "configMapRef"), ("Secret", "secretRef")] {
                let Some(name) = source[key]["name"].as_str() else { continue };
                let prefix = text(&source["prefix"]);
                match self.data(kind, name) {
                    Some(data) => all.extend(data.into_iter().map(|(key, value)| (format!("{prefix}{key}"), value))),
                    None => self.notes.push(format!(
                        "the variables of the {kind} {name} (envFrom) are not set here; `env` of an overlay can set them"
                    )),
                }
            }
        }
        for entry in list(&container["env"]) {
            let name = text(&entry["name"]);
            let from = &entry["valueFrom"];
            let value = match entry["value"].as_str() {
                Some(value) => Some(expand(value, &all)),
                None if from.is_null() => Some(String::new()),
                None => match from["fieldRef"]["fieldPath"].as_str() {
                    Some(path) => field(path),
                    None => self.referenced(name, from),
                },
            };
            if let Some(value) = value {
                all.insert(name.to_owned(), value);
            }
        }
        all
    }

    /// The value of a variable that refers to a ConfigMap or Secret. If this object is not among the rendered objects,
    /// the value comes from the user's environment variable with the same name.
    fn referenced(&mut self, name: &str, from: &Value) -> Option<String> {
        for (kind, key) in [("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")] {
            let Some(object) = from[key]["name"].as_str() else { continue };
            if let Some(value) = self.data(kind, object).and_then(|data| data.get(text(&from[key]["key"])).cloned()) {
                return Some(value);
            }
            if let Some(value) = (self.around.variable)(name) {
                return Some(value);
            }
            if from[key]["optional"] != true {
                self.problems.push(format!(
                    "the variable {name} comes from the {kind} {object}, which only the cluster has; set {name} in your shell"
                ));
            }
            return None;
        }
        self.notes.push(format!("the variable {name} has no value here"));
        None
    }
}

/// Changes the files of a pod for this machine. There is no API server, so the scripts must not read the Job or scale
/// workers. All pods share one network, so sshd listens only on the address of its pod.
fn localize(files: &mut BTreeMap<String, String>, address: &str) {
    if let Some(job) = files.get_mut("job.sh") {
        let line = |line: &str| match line.split_once('=') {
            Some((name @ ("own_job" | "scales"), _)) => format!("{name}=''\n"),
            _ => format!("{line}\n"),
        };
        let has_metrics = job.lines().any(|line| line.starts_with("status_port="));
        *job = job.lines().map(line).collect();
        files.retain(|name, _| !NEEDS_API.contains(&name.as_str()) && (has_metrics || name != "status.sh"));
    }
    if let Some(config) = files.get_mut("sshd_config") {
        *config = format!("ListenAddress {address}\n{config}");
    }
}

fn container_of(container: &Value, environment: BTreeMap<String, String>) -> Container {
    let words = list(&container["command"]).iter().chain(list(&container["args"]));
    let command = words.map(|word| expand(text(word), &environment)).collect();
    let mount = |mount: &Value| Mount {
        volume: text(&mount["name"]).to_owned(),
        path: text(&mount["mountPath"]).to_owned(),
        sub_path: mount["subPath"].as_str().map(str::to_owned),
        is_read_only: mount["readOnly"] == true,
    };
    let mut mounts: Vec<Mount> = list(&container["volumeMounts"]).iter().map(mount).collect();
    // A folder is mounted before the folders inside it.
    mounts.sort_by(|a, b| a.path.cmp(&b.path));
    Container { command, folder: container["workingDir"].as_str().map(str::to_owned), environment, mounts }
}

/// The value of a field of the pod, for an environment variable.
fn field(path: &str, name: &str, namespace: &str, address: &str, id: &str, template: &Value) -> Option<String> {
    let value = match path {
        "metadata.name" => name.to_owned(),
        "metadata.namespace" => namespace.to_owned(),
        "metadata.uid" => format!("{id}-{name}"),
        "spec.nodeName" => "localhost".to_owned(),
        "spec.serviceAccountName" => text(&template["spec"]["serviceAccountName"]).to_owned(),
        "status.podIP" | "status.podIPs" => address.to_owned(),
        "status.hostIP" | "status.hostIPs" => "127.0.0.1".to_owned(),
        path => {
            let (part, rest) = path.strip_prefix("metadata.")?.split_once("['")?;
            text(&template["metadata"][part][rest.strip_suffix("']")?]).to_owned()
        }
    };
    Some(value)
}

/// Replaces `$(NAME)` by the value of a variable that exists, and `$$` by `$`, as Kubernetes does.
fn expand(value: &str, variables: &BTreeMap<String, String>) -> String {
    let (mut expanded, mut rest) = (String::new(), value);
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let reference = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        rest = match reference.and_then(|(name, tail)| Some((variables.get(name)?, tail))) {
            Some((value, tail)) => {
                expanded.push_str(value);
                tail
            }
            None => {
                expanded.push('$');
                after.strip_prefix('$').unwrap_or(after)
            }
        };
    }
    expanded + rest
}

/// The text of an entry of a rendered Secret.
fn decode_base64(value: &str) -> String {
    Base64::decode_vec(value).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
