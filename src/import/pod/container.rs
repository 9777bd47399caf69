//! Imports fields of pod templates and containers, for the workers and the launcher.

use crate::field::{self, Field, set};
use serde_json::{Value as Json, json};

use crate::context::{Context, text};
use crate::launch::program::{is_shell, takes_script};
use crate::pod::{self, kubelet_vars, volumes};
use crate::shell_text::first_words;
use khorovod_compiler::shell;
use khorovod_compiler::yaml::Node;

/// The note for a field of a pod.
const PATCH: &str = "the spec has no field for it: set it with spec.patches";

/// The note for a field of a container.
const CONTAINER: &str =
    "the spec has no field for it; spec.patches reaches it: the patch needs only the container's name and the field";

/// Imports the fields of a container, except its image, command, resources and mounts. `from` is the name of its pods in
/// comments. `leads` is true for the container of the launcher, whose command is already imported.
pub fn read(context: &mut Context<'_>, container: &Node, from: &str, leads: bool) {
    for entry in container.entries() {
        let node = &entry.value;
        match entry.key.as_str() {
            "name" => context.needless(node, "khorovod names the containers itself"),
            "imagePullPolicy" => policy(context, node),
            "command" | "args" if !leads => worker_command(context, Some(container), node),
            "workingDir" => match context.text(node) {
                Some(path) if path.starts_with('/') => once(context, node, set::WORKING_DIR, path),
                _ => context.lose(node, "it is not an absolute path"),
            },
            "env" => env(context, node, from),
            "envFrom" => env_from(context, node),
            "ports" => ports(context, node),
            "securityContext" => security(context, node),
            "tty" | "stdin" => context.needless(node, "the ranks have no input"),
            "terminationMessagePath" | "terminationMessagePolicy" => {
                context.replaced(node, "khorovod sets this field itself");
            }
            "readinessProbe" | "livenessProbe" | "startupProbe" => {
                context.replaced(node, "khorovod's probe checks sshd, and the launcher checks each worker");
            }
            "image" | "command" | "args" | "resources" | "volumeMounts" => {}
            _ => context.lose(node, CONTAINER),
        }
    }
}

/// Records the outcome of the command, or the arguments, of a worker in which a launcher starts ranks over ssh.
pub fn worker_command(context: &mut Context<'_>, container: Option<&Node>, node: &Node) {
    match container.is_some_and(only_waits) {
        true => context.needless(node, "khorovod's workers start sshd themselves"),
        false => context.lose(
            node,
            "khorovod's workers start sshd themselves; put anything else that this command does into the image",
        ),
    }
}

/// Whether the command of a worker only starts sshd, or waits for the launcher.
fn only_waits(container: &Node) -> bool {
    let words = ["command", "args"].iter().filter_map(|key| container.get(key)).flat_map(Node::items).filter_map(text);
    let words: Vec<String> = words.collect();
    let script = match words.as_slice() {
        [program, option, script] if is_shell(program) && takes_script(option) => script.clone(),
        words => words.join(" "),
    };
    let parsed = shell::parse(&script);
    let starts_sshd = |command: &&shell::Command| {
        let line = command.words_span().map_or("", |place| &script[place]);
        let words = first_words(line);
        let word = |at: usize| words.get(at).map(|word| shell::base(word));
        match (word(0), word(1)) {
            (Some("mkdir"), _) => line.contains("sshd"),
            // `(ssh, start)` is `/etc/init.d/ssh start`; `None` is a command without words, such as a redirection.
            (None | Some("sshd" | "sleep" | "wait" | "echo" | "set"), _)
            | (Some("service"), Some("ssh" | "sshd"))
            | (Some("tail"), Some("-f"))
            | (Some("exec"), Some("sshd"))
            | (Some("ssh"), Some("start")) => true,
            _ => false,
        }
    };
    parsed.failure.is_none() && shell::simple_commands(&parsed.statements).iter().all(starts_sshd)
}

/// Records the outcomes of a container's ports. khorovod opens its own ssh port only.
fn ports(context: &mut Context<'_>, node: &Node) {
    for port in node.items() {
        match port.get("containerPort").and_then(text).as_deref() {
            Some("22" | "2222") => context.replaced(port, "the port of ssh is spec.ssh.port"),
            _ => {
                context.lose(port, "the NetworkPolicy allows ssh and traffic between the pods; spec.observability.metrics opens a port for metrics");
            }
        }
    }
    context.needless(node, "it is empty");
}

/// Imports a field that the old file can have twice, for the workers and for the launcher. The spec has only one such field
/// for all pods, so it gets the value that is imported first.
fn once<T: Into<Json>>(context: &mut Context<'_>, node: &Node, to: Field<T>, value: impl Into<T>) {
    let value: Json = value.into().into();
    let to = to.untyped();
    match context.spec.get(to.path) {
        None => context.keep(node, to, value),
        Some(other) if *other == value => context.kept(node, to.path),
        Some(_) => context.lose(node, "the workers have another value, and the spec has one value for all pods"),
    }
}

fn policy(context: &mut Context<'_>, node: &Node) {
    match text(node).as_deref() {
        Some(policy @ ("Always" | "IfNotPresent" | "Never")) => {
            once(context, node, set::IMAGE_PULL_POLICY, policy);
        }
        _ => context.refuse(node, "Always, IfNotPresent or Never"),
    }
}

/// Imports the list of a container's variables.
pub fn env(context: &mut Context<'_>, list: &Node, from: &str) {
    let items = list.items();
    for (index, item) in items.iter().enumerate() {
        let Some(name) = item.get("name").and_then(text) else {
            context.refuse(item, "a map with `name` and `value`");
            continue;
        };
        let has = |items: &[Node], name: &str| {
            items.iter().any(|other| other.get("name").and_then(text).as_deref() == Some(name))
        };
        if has(&items[index + 1..], &name) {
            context.lose(item, "a later entry of the same name replaces it, as in Kubernetes");
            continue;
        }
        variable(context, item, &name, from, |name| has(&items[..index], name));
    }
    context.needless(list, "it is empty");
}

/// Imports an entry of a container's variables. `is_before` returns whether the list has a variable with a given name before
/// this one.
pub fn variable(context: &mut Context<'_>, item: &Node, name: &str, from: &str, is_before: impl Fn(&str) -> bool) {
    let taken = context.spec.get(field::ENV).and_then(|env| env.get(name)).cloned();
    let value = match (item.get("value").and_then(text), item.get("valueFrom")) {
        (_, Some(from)) => match source(from) {
            Some(value) => value,
            None => {
                return context
                    .lose(item, "spec.env supports only Secrets, ConfigMaps and fields of the pod as sources");
            }
        },
        (value, None) => match kubelet_vars::literal(&value.unwrap_or_default(), is_before) {
            Some(value) => json!(value),
            None => return context.lose(item, kubelet_vars::REFERS),
        },
    };
    let to = format!("spec.env.{name}");
    match taken {
        Some(other) if other == value => context.kept(item, &to),
        Some(_) => {
            context.lose(item, "another entry of this name has another value, and spec.env is the same in all pods");
        }
        None => match &value {
            Json::String(value) => pod::variable(context, item, name, value, from),
            _ => {
                context.spec.put_key(set::ENV, name, value, from);
                context.kept(item, &to);
            }
        },
    }
}

/// Imports the source of a variable's value.
pub fn source(from: &Node) -> Option<Json> {
    let get = |kind: &str, key: &str| from.get(kind).and_then(|node| node.get(key)).and_then(text);
    if let Some(field) = get("fieldRef", "fieldPath") {
        return Some(json!({"fieldRef": {"fieldPath": field}}));
    }
    for kind in ["secretKeyRef", "configMapKeyRef"] {
        if let (Some(name), Some(key)) = (get(kind, "name"), get(kind, "key")) {
            return Some(json!({kind: {"name": name, "key": key}}));
        }
    }
    None
}

pub fn env_from(context: &mut Context<'_>, list: &Node) {
    for item in list.items() {
        let mut entry = serde_json::Map::new();
        for kind in ["secretRef", "configMapRef"] {
            let Some(reference) = item.get(kind) else { continue };
            let mut object = json!({"name": reference.get("name").and_then(text).unwrap_or_default()});
            if reference.get("optional").is_some_and(|node| context.yes(node)) {
                object["optional"] = true.into();
            }
            entry.insert(kind.to_owned(), object);
        }
        if let Some(prefix) = item.get("prefix").and_then(text) {
            entry.insert("prefix".to_owned(), prefix.into());
        }
        let entry = Json::Object(entry);
        let there =
            context.spec.get(field::ENV_FROM).and_then(Json::as_array).is_some_and(|list| list.contains(&entry));
        if !there {
            context.spec.push(set::ENV_FROM, entry, "");
        }
        context.kept(item, field::ENV_FROM);
    }
    context.needless(list, "it is empty");
}

/// Imports the security context of a pod or a container.
fn security(context: &mut Context<'_>, node: &Node) {
    for entry in node.entries() {
        let value = &entry.value;
        match entry.key.as_str() {
            "runAsUser" => user(context, value),
            "fsGroup" => {
                if let Some(group) = context.count(value) {
                    once(context, value, set::SECURITY_FS_GROUP, group);
                }
            }
            "readOnlyRootFilesystem" => {
                let read_only = context.yes(value);
                once(context, value, set::SECURITY_READ_ONLY_ROOT_FILESYSTEM, read_only);
            }
            "capabilities" => capabilities(context, value),
            "runAsGroup" => context.replaced(value, "the id of the group is that of the user"),
            "privileged" if context.yes(value) => {
                context.lose(value, "training does not need it; for RDMA devices, set spec.workers.rdma");
            }
            "runAsNonRoot" | "allowPrivilegeEscalation" | "seccompProfile" | "privileged" | "fsGroupChangePolicy" => {
                context.needless(value, "spec.security.podSecurityLevel sets it");
            }
            _ => context.lose(value, PATCH),
        }
    }
    context.needless(node, "it is empty");
}

pub fn user(context: &mut Context<'_>, node: &Node) {
    let Some(user) = context.count(node) else { return };
    once(context, node, set::SECURITY_RUN_AS_USER, user);
    if user == 0 && context.spec.get(field::SECURITY_RUN_AS_USER) == Some(&json!(0)) {
        context.pod_security_level("baseline", "`runAsUser: 0` needs it");
    }
}

fn capabilities(context: &mut Context<'_>, node: &Node) {
    for name in node.get("add").map_or(&[][..], Node::items) {
        match text(name).unwrap_or_default().trim_start_matches("CAP_") {
            "IPC_LOCK" if context.spec.get(field::WORKERS_RDMA).is_some() => context.kept(name, field::WORKERS_RDMA),
            "IPC_LOCK" => context.lose(name, "spec.workers.rdma adds it, with the devices"),
            _ => context.lose(name, "khorovod drops all capabilities; add it with spec.patches"),
        }
    }
    context.needless(node, "khorovod drops all capabilities");
}

/// Imports the CPUs and the memory of the launcher.
pub fn launcher_resources(context: &mut Context<'_>, node: &Node) {
    for section in ["limits", "requests"] {
        for entry in node.get(section).map_or(&[][..], Node::entries) {
            let to = match entry.key.as_str() {
                "cpu" => set::LAUNCHER_CPU,
                "memory" => set::LAUNCHER_MEMORY,
                _ if context.spec.get(field::LAUNCHER_RUNS_RANKS).is_some() => {
                    let how = "the launcher has the workers' resources";
                    context.changed(&entry.value, field::LAUNCHER_RUNS_RANKS, how);
                    continue;
                }
                _ => {
                    context.lose(
                        &entry.value,
                        "spec.launcher has only `cpu` and `memory`; with `runsRanks` it gets the resources of a worker",
                    );
                    continue;
                }
            };
            let Some(amount) = context.text(&entry.value) else { continue };
            match context.spec.get(to.path) {
                None => context.keep(&entry.value, to, amount),
                Some(other) if other.as_str() == Some(&amount) => context.kept(&entry.value, to.path),
                Some(_) => context.changed(&entry.value, to.path, "it is both the request and the limit"),
            }
        }
    }
    context.needless(node, "it is empty");
}

/// Imports the volumes of the workers, or those of the launcher if the workers have no volumes. khorovod mounts storage in
/// every pod.
pub fn volumes(context: &mut Context<'_>, pod: Option<&Node>, container: Option<&Node>, leads: bool) {
    let held = pod.and_then(|pod| pod.get("volumes"));
    let mounts = container.and_then(|container| container.get("volumeMounts"));
    if !leads || context.spec.get(field::STORAGE).is_none() && context.spec.get(field::CODE).is_none() {
        return volumes::read(context, held, mounts);
    }
    let name = |node: &Node| node.get("name").and_then(text);
    let mounts = mounts.map_or(&[][..], Node::items);
    for volume in held.map_or(&[][..], Node::items) {
        match mounts.iter().find(|mount| name(mount) == name(volume)) {
            Some(mount) => as_workers(context, volume, mount),
            None => context.lose(volume, "no container mounts it"),
        }
    }
    for mount in mounts {
        as_workers(context, mount, mount);
    }
}

/// Records the outcome of a volume or a mount of the launcher. It is lost, unless the new job mounts storage at the
/// same path.
fn as_workers(context: &mut Context<'_>, node: &Node, mount: &Node) {
    let path = mount.get("mountPath").and_then(text);
    match path.is_some_and(|path| mounted(context, &path)) {
        true => context.changed(node, field::STORAGE, "spec.storage is mounted in the launcher, too"),
        false => context.lose(node, "only the launcher had it; spec.storage is mounted in every pod"),
    }
}

/// Whether something is mounted at a path.
fn mounted(context: &Context<'_>, path: &str) -> bool {
    let storage = context.spec.get(field::STORAGE).and_then(Json::as_array);
    let at = |entry: &Json| entry["mountPath"] == path;
    storage.is_some_and(|entries| entries.iter().any(at))
        || context.spec.get(field::CODE).is_some_and(at)
        || path == "/dev/shm"
}

/// Imports the fields of a pod, except its main container and volumes.
pub fn pod(context: &mut Context<'_>, pod: &Node, main: Option<&Node>, leads: bool) {
    for entry in pod.entries() {
        let node = &entry.value;
        match entry.key.as_str() {
            "containers" => {
                let is_main = |other: &&Node| main.is_some_and(|main| std::ptr::eq(main, *other));
                for other in node.items().iter().filter(|other| !is_main(other)) {
                    context.lose(other, "a pod has one container; add others with spec.patches");
                }
            }
            "initContainers" => context.lose(
                node,
                "add init containers with spec.patches; to download data from S3, use `s3` in spec.storage",
            ),
            "volumes" => {}
            "resources" => {
                context.lose(node, "the resources are those of the container: set spec.workers.gpus, spec.workers.cpu and spec.workers.memory");
            }
            "imagePullPolicy" => context
                .lose(node, "this is a field of containers, not of pods: it had no effect. Use spec.image.pullPolicy"),
            "securityContext" => security(context, node),
            "resourceClaims" if !leads => pod::claims(context, node),
            "hostNetwork" if !leads => pod::host_network(context, node),
            "hostNetwork" | "dnsPolicy" => context.replaced(node, "spec.placement.hostNetwork sets it for all pods"),
            "imagePullSecrets" if context.spec.get(field::IMAGE_PULL_SECRETS).is_none() => {
                pod::pull_secrets(context, node);
            }
            "imagePullSecrets" => {
                context.changed(node, field::IMAGE_PULL_SECRETS, "the launcher uses those of the workers");
            }
            "restartPolicy" => context.replaced(node, "spec.lifecycle.retries is the number of retries"),
            "serviceAccountName" | "serviceAccount" if leads => context.lose(
                node,
                "not set, because it would need more permissions: khorovod renders a ServiceAccount that may do what its launcher does. \
                 To use this one, set spec.security.serviceAccountName, and give it the permissions that `khorovod explain \
                 account-permissions` lists",
            ),
            "serviceAccountName" | "serviceAccount" => {
                context.lose(node, "the ranks need no permissions; to use it in all pods, set spec.security.serviceAccountName");
            }
            "hostname"
            | "subdomain"
            | "automountServiceAccountToken"
            | "enableServiceLinks"
            | "terminationGracePeriodSeconds" => context.replaced(node, "khorovod sets this field itself"),
            key if leads && pod::placement_field(key).is_some() => {}
            key => {
                if !pod::placement(context, key, node) {
                    context.lose(node, PATCH);
                }
            }
        }
    }
}
