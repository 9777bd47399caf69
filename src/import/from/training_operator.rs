//! Imports the fields that all jobs of Kubeflow's Training Operator have: replica specs and `runPolicy`.

use crate::context::{Context, text};
use crate::field::{self, set};
use crate::from::each_pod::{self, Pods};
use crate::launch::World;
use crate::manifest::{self, run_policy};
use crate::pod;
use khorovod_compiler::yaml::Node;

/// The comments in the new spec leave out these parts of the paths in a PyTorchJob, a TFJob and an MPIJob.
pub const LEFT_OUT: &[&str] = &[
    "spec.mpiReplicaSpecs.",
    "spec.pytorchReplicaSpecs.",
    "spec.tfReplicaSpecs.",
    ".template.spec.containers[0]",
    ".template.spec",
];

/// A replica type: its spec, its pods, and their number.
pub struct Replicas<'n> {
    pub spec: &'n Node,
    pub pods: Pods<'n>,
    pub count: u32,
}

/// Imports the kind and the metadata of a job. Returns whether the version of its API can be imported.
pub fn head(job: &Node, kind: &str, context: &mut Context<'_>) -> bool {
    let version = job.get("apiVersion").and_then(text).unwrap_or_default();
    if version != "kubeflow.org/v1" {
        let span = job.get("apiVersion").map_or(job.span, |node| node.span);
        let message = format!("a {kind} of `apiVersion: {version}` cannot be imported");
        context.refuse_at(span, message, "`kubeflow.org/v1` can be imported");
        return false;
    }
    manifest::kind(job, context);
    manifest::metadata(job.get("metadata"), &kind.to_ascii_lowercase(), context);
    true
}

/// Returns the replica types of these names in the map `key`. The operator ignores upper and lower case in these names.
/// Workers come first, because most pods are workers. `main` is the name of the container that trains.
pub fn replicas<'n>(
    spec: Option<&'n Node>,
    key: &str,
    names: &[&'n str],
    main: &str,
    context: &mut Context<'_>,
) -> Vec<Replicas<'n>> {
    let specs = spec.and_then(|spec| spec.get(key)).map_or(&[][..], Node::entries);
    let mut all = Vec::new();
    for name in names {
        let Some(entry) = specs.iter().find(|entry| entry.key.eq_ignore_ascii_case(name)) else { continue };
        let number = entry.value.get("replicas");
        let count = number.map_or(Some(1), |node| context.count(node)).unwrap_or(1);
        let pods = Pods::new(name, entry.value.get("template"), &[main]);
        all.push(Replicas { spec: &entry.value, pods, count });
    }
    all
}

/// Returns the pods of all replica types. `slots` is the number of processes that the operator started in each pod.
pub fn world(all: &[Replicas<'_>], slots: u32) -> World {
    let pods = all.iter().map(|replicas| replicas.count).fold(0, u32::saturating_add);
    let counted: Vec<String> = all.iter().map(|replicas| format!("{}.replicas", replicas.pods.name)).collect();
    World { pods, from: counted.join(" + "), without_launcher: None, gpus: slots }
}

/// Imports `runPolicy`.
pub fn policy(spec: Option<&Node>, context: &mut Context<'_>) {
    let policy = spec.and_then(|spec| spec.get("runPolicy"));
    for entry in policy.map_or(&[][..], Node::entries) {
        run_policy::field(context, &entry.key, &entry.value);
    }
    if let Some(node) = policy.and_then(|policy| policy.get("cleanPodPolicy")) {
        context.needless(node, "all workers end with the run, and their logs stay until the Job is deleted");
    }
}

/// Imports the pods, once their command is imported. `workers` is the number of all pods.
pub fn pods(all: &[Replicas<'_>], main: &Replicas<'_>, workers: u32, context: &mut Context<'_>) {
    each_pod::image(context, main.pods.field("image"), main.pods.name);
    each_pod::template(context, &main.pods);
    for other in all.iter().filter(|other| !std::ptr::eq(*other, main)) {
        each_pod::alike(context, &other.pods, &main.pods);
    }
    for replicas in all {
        around(replicas, workers, context);
    }
    pod::security_level(context);
}

/// Imports the fields of a replica spec that are not in its template.
fn around(replicas: &Replicas<'_>, pods: u32, context: &mut Context<'_>) {
    if let Some(node) = replicas.spec.get("replicas") {
        match pods == replicas.count {
            true => context.kept(node, field::WORKERS_REPLICAS),
            false => {
                context.changed(
                    node,
                    field::WORKERS_REPLICAS,
                    &format!("{pods} workers, the master or chief included"),
                );
            }
        }
    }
    let Some(node) = replicas.spec.get("restartPolicy") else { return };
    let is_limited = context.spec.get(field::LIFECYCLE_RETRIES).is_some();
    match text(node).as_deref() {
        Some("Never") if !is_limited => context.keep(node, set::LIFECYCLE_RETRIES, 0_u32),
        Some("ExitCode") => {
            let why =
                "the exit codes 1 to 127 ended the job at once; the agents do not pass on the exit codes of ranks";
            context.lose(node, why);
        }
        Some("OnFailure" | "Always" | "Never") if is_limited => {
            context.replaced(node, "spec.lifecycle.retries is the number of retries");
        }
        Some("OnFailure" | "Always") => {
            let how = "a failed pod started again without limit; now all ranks start again, three times by default";
            context.changed(node, field::LIFECYCLE_RETRIES, how);
        }
        _ => context.refuse(node, "OnFailure, Always, Never or ExitCode"),
    }
}
