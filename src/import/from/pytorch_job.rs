//! Imports a PyTorchJob of Kubeflow's Training Operator, v1.
//!
//! The operator starts one pod per Master and Worker, and sets the variables of a rank or of an agent of torchrun in
//! each. In the new job, all these pods are workers.

use serde_json::Value as Json;

use crate::context::{Context, text};
use crate::field::{self, set};
use crate::from::each_pod::{self, Words};
use crate::from::training_operator::{self, Replicas};
use crate::launch::World;
use crate::launch::each_pod::Start;
use crate::manifest;
use crate::pod;
use khorovod_compiler::yaml::Node;

/// The name of the container that trains.
const MAIN: &str = "pytorch";

/// Imports the job.
pub fn read(job: &Node, context: &mut Context<'_>) {
    if !training_operator::head(job, "PyTorchJob", context) {
        return;
    }
    let spec = job.get("spec");
    let all = training_operator::replicas(spec, "pytorchReplicaSpecs", &["Worker", "Master"], MAIN, context);
    let Some(main) = all.iter().find(|replicas| replicas.count > 0) else {
        let span = spec.map_or(job.span, |spec| spec.span);
        let hint = "add `spec.pytorchReplicaSpecs.Master` or `.Worker`, with a container";
        return context.refuse_at(span, "the PyTorchJob has no pods", hint);
    };
    training_operator::policy(spec, context);
    let gpus = main.pods.field("resources").map_or(0, |node| pod::resources(context, node));
    let elastic = spec.and_then(|spec| spec.get("elasticPolicy"));
    let named = spec.and_then(|spec| spec.get("nprocPerNode"));
    let processes = [named, elastic.and_then(|elastic| elastic.get("nProcPerNode"))];
    let number = processes.iter().flatten().find_map(|node| text(node)?.parse::<u32>().ok());
    let slots = number.unwrap_or(gpus).max(1);
    let world = training_operator::world(&all, slots);
    command(main, &world, number, context);
    let from = if number.is_some() { "nprocPerNode" } else { "one process" };
    each_pod::slots(context, slots, gpus, from);
    processes.into_iter().flatten().for_each(|node| each_pod::processes(context, node));
    if let Some(node) = elastic {
        elastic_policy(node, world.pods, context);
    }
    training_operator::pods(&all, main, world.pods, context);
    manifest::rest(job, context);
    context.spec.shorten(training_operator::LEFT_OUT);
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
        context.spec.put(set::ELASTIC_MIN_REPLICAS, least.clamp(1, pods.max(1)), "elasticPolicy.minReplicas");
        context.spec.put(set::ELASTIC_MAX_REPLICAS, most.max(pods), "elasticPolicy.maxReplicas");
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
                        context.changed(value, to, "the number of workers at the start is between the bounds");
                    }
                    (None, _) => {
                        context.changed(value, field::WORKERS_REPLICAS, "both bounds are equal: the number is fixed");
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
        None => context.keep(node, set::LIFECYCLE_RETRIES, count.min(1000)),
    }
}
