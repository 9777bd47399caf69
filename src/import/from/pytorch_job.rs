//! Imports a PyTorchJob of Kubeflow's Training Operator, v1.
//!
//! The operator starts one pod per Master and Worker, and sets the variables of a rank or of an agent of torchrun in
//! each. In the new job, all these pods are workers.

use serde_json::Value as Json;

use crate::context::{Context, text};
use crate::field;
use crate::from::each_pod::{self, Pods, Words};
use crate::launch::World;
use crate::launch::each_pod::Start;
use crate::manifest::{self, run_policy};
use crate::pod;
use khorovod_compiler::yaml::Node;

/// Parts of paths that comments leave out.
const LONG: &[(&str, &str)] =
    &[("spec.pytorchReplicaSpecs.", ""), (".template.spec.containers[0]", ""), (".template.spec", "")];

/// The name of the container that trains.
const MAIN: &str = "pytorch";

/// A replica type: its spec, its pods, and their number.
struct Replicas<'n> {
    spec: &'n Node,
    pods: Pods<'n>,
    count: u32,
}

/// Imports the job.
pub fn read(job: &Node, context: &mut Context<'_>) {
    let version = job.get("apiVersion").and_then(text).unwrap_or_default();
    if version != "kubeflow.org/v1" {
        let span = job.get("apiVersion").map_or(job.span, |node| node.span);
        let message = format!("a PyTorchJob of `apiVersion: {version}` cannot be imported");
        return context.refuse_at(span, message, "`kubeflow.org/v1` can be imported");
    }
    manifest::kind(job, context);
    manifest::metadata(job.get("metadata"), "pytorchjob", context);
    let spec = job.get("spec");
    let all = replicas(spec, context);
    // Workers come first: if the pods differ, most of them are workers.
    let Some(main) = all.iter().find(|replicas| replicas.count > 0) else {
        let span = spec.map_or(job.span, |spec| spec.span);
        let hint = "add `spec.pytorchReplicaSpecs.Master` or `.Worker`, with a container";
        return context.refuse_at(span, "the PyTorchJob has no pods", hint);
    };
    let policy = spec.and_then(|spec| spec.get("runPolicy"));
    for entry in policy.map_or(&[][..], Node::entries) {
        run_policy::field(context, &entry.key, &entry.value);
    }
    if let Some(node) = policy.and_then(|policy| policy.get("cleanPodPolicy")) {
        context.needless(node, "all workers end with the run, and their logs stay until the Job is deleted");
    }
    let gpus = main.pods.field("resources").map_or(0, |node| pod::resources(context, node));
    let pods = all.iter().map(|replicas| replicas.count).fold(0, u32::saturating_add);
    let elastic = spec.and_then(|spec| spec.get("elasticPolicy"));
    let named = spec.and_then(|spec| spec.get("nprocPerNode"));
    let processes = [named, elastic.and_then(|elastic| elastic.get("nProcPerNode"))];
    let number = processes.iter().flatten().find_map(|node| text(node)?.parse::<u32>().ok());
    let slots = number.unwrap_or(gpus).max(1);
    let counted: Vec<String> = all.iter().map(|replicas| format!("{}.replicas", replicas.pods.name)).collect();
    let world = World { pods, from: counted.join(" + "), without_launcher: None, gpus: slots };
    command(main, &world, number, context);
    let from = if number.is_some() { "nprocPerNode" } else { "one process" };
    each_pod::slots(context, slots, gpus, from);
    processes.into_iter().flatten().for_each(|node| each_pod::processes(context, node));
    if let Some(node) = elastic {
        elastic_policy(node, pods, context);
    }
    each_pod::image(context, main.pods.field("image"), main.pods.name);
    each_pod::template(context, &main.pods);
    for other in all.iter().filter(|other| !std::ptr::eq(*other, main)) {
        each_pod::alike(context, &other.pods, &main.pods);
    }
    for replicas in &all {
        around(replicas, pods, context);
    }
    manifest::rest(job, context);
    pod::security_level(context);
    context.spec.shorten(LONG);
}

/// The replica types in the order Worker, Master. The operator accepts their names in any case.
fn replicas<'n>(spec: Option<&'n Node>, context: &mut Context<'_>) -> Vec<Replicas<'n>> {
    let specs = spec.and_then(|spec| spec.get("pytorchReplicaSpecs")).map_or(&[][..], Node::entries);
    let mut all = Vec::new();
    for name in ["Worker", "Master"] {
        let Some(entry) = specs.iter().find(|entry| entry.key.eq_ignore_ascii_case(name)) else { continue };
        let number = entry.value.get("replicas");
        let count = number.map_or(Some(1), |node| context.count(node)).unwrap_or(1);
        let pods = Pods::new(name, entry.value.get("template"), &[MAIN]);
        all.push(Replicas { spec: &entry.value, pods, count });
    }
    all
}

fn command(main: &Replicas<'_>, world: &World, processes: Option<u32>, context: &mut Context<'_>) {
    let ranks = world.pods.saturating_mul(processes.unwrap_or(1));
    let mut variables = vec![
        ("PET_NNODES".to_owned(), world.pods.to_string()),
        ("PET_NPROC_PER_NODE".to_owned(), world.gpus.to_string()),
        ("WORLD_SIZE".to_owned(), ranks.to_string()),
    ];
    variables.extend(each_pod::values(main.pods.field("env")));
    let plain = ("torchrun", "it sets RANK, WORLD_SIZE and MASTER_ADDR, as the operator did");
    let words = Words { parts: ["command", "args"].map(|key| main.pods.field(key)), container: main.pods.container };
    each_pod::command(context, words, main.pods.name, world, &Start { plain, variables });
}

/// Imports the bounds of an elastic job. `pods` is the number of pods at the start.
fn elastic_policy(node: &Node, pods: u32, context: &mut Context<'_>) {
    let mut bound = |key: &str| node.get(key).and_then(|node| context.count(node));
    let (least, most) = (bound("minReplicas"), bound("maxReplicas"));
    let (least, most) = (least.or(most).unwrap_or(pods), most.or(least).unwrap_or(pods));
    let is_set = context.spec.get(field::ELASTIC).is_some();
    if least > most {
        let hint = "lower `minReplicas`, or raise `maxReplicas`";
        return context.refuse_at(node.span, "`minReplicas` is above `maxReplicas`", hint);
    }
    let is_elastic = least < most && !is_set;
    if is_elastic {
        context.spec.put(field::ELASTIC_MIN_REPLICAS, least.clamp(1, pods.max(1)), "elasticPolicy.minReplicas");
        context.spec.put(field::ELASTIC_MAX_REPLICAS, most.max(pods), "elasticPolicy.maxReplicas");
    }
    for entry in node.entries() {
        let (key, value) = (entry.key.as_str(), &entry.value);
        match key {
            "minReplicas" | "maxReplicas" => {
                let to = if key == "minReplicas" { field::ELASTIC_MIN_REPLICAS } else { field::ELASTIC_MAX_REPLICAS };
                let kept = context.spec.get(to).and_then(Json::as_u64).map(|count| count.to_string());
                match (kept, text(value)) {
                    (Some(kept), Some(given)) if kept == given => context.kept(value, to),
                    (Some(_), _) => {
                        context.changed(value, to, "the number of workers at the start is between the bounds")
                    }
                    (None, _) => {
                        context.changed(value, field::WORKERS_REPLICAS, "both bounds are equal: the number is fixed")
                    }
                }
            }
            "maxRestarts" => max_restarts(value, context),
            "rdzvBackend" | "rdzvPort" | "rdzvHost" | "rdzvId" | "rdzvConf" | "standalone" => {
                context.needless(value, "khorovod sets up the rendezvous");
            }
            "metrics" => {
                context.lose(
                    value,
                    "nothing scales the workers by a metric: `kubectl scale` or a new spec changes their number",
                );
            }
            _ => {}
        }
    }
}

fn max_restarts(node: &Node, context: &mut Context<'_>) {
    let Some(count) = context.count(node) else { return };
    let retries = context.spec.get(field::LIFECYCLE_RETRIES).and_then(Json::as_u64);
    match retries.filter(|_| context.spec.get(field::LIFECYCLE_RETRIES_RESET_AFTER).is_some()) {
        Some(retries) if retries == u64::from(count) => context.kept(node, field::LIFECYCLE_RETRIES),
        Some(_) => context.changed(node, field::LIFECYCLE_RETRIES, "`backoffLimit` is the limit of both"),
        None => context.keep(node, field::LIFECYCLE_RETRIES, count.min(1000)),
    }
}

/// Imports the fields of a replica spec that are not in its template.
fn around(replicas: &Replicas<'_>, pods: u32, context: &mut Context<'_>) {
    if let Some(node) = replicas.spec.get("replicas") {
        match pods == replicas.count {
            true => context.kept(node, field::WORKERS_REPLICAS),
            false => context.changed(node, field::WORKERS_REPLICAS, &format!("{pods} workers, the master included")),
        }
    }
    let Some(node) = replicas.spec.get("restartPolicy") else { return };
    let is_limited = context.spec.get(field::LIFECYCLE_RETRIES).is_some();
    match text(node).as_deref() {
        Some("Never") if !is_limited => context.keep(node, field::LIFECYCLE_RETRIES, 0),
        Some("ExitCode") => {
            let why =
                "the exit codes 1 to 127 ended the job at once; torchrun does not pass on the exit codes of ranks";
            context.lose(node, why);
        }
        Some("OnFailure" | "Always" | "Never") if is_limited => {
            context.replaced(node, "spec.lifecycle.retries is the number of retries")
        }
        Some("OnFailure" | "Always") => {
            let how = "a failed pod started again without limit; now all ranks start again, three times by default";
            context.changed(node, field::LIFECYCLE_RETRIES, how);
        }
        _ => context.refuse(node, "OnFailure, Always, Never or ExitCode"),
    }
}
