//! Imports a TFJob of Kubeflow's Training Operator, v1.
//!
//! The operator starts one pod per Chief and Worker, and sets `TF_CONFIG` in each. In the new job, all these pods are
//! workers, and khorovod sets `TF_CONFIG`.

use crate::context::Context;
use crate::from::each_pod::{self, Words};
use crate::from::training_operator;
use crate::launch::each_pod::Start;
use crate::manifest;
use crate::pod;
use khorovod_compiler::yaml::Node;

/// Imports the job.
pub fn read(job: &Node, context: &mut Context<'_>) {
    if !training_operator::head(job, "TFJob", context) {
        return;
    }
    let spec = job.get("spec");
    let specs = spec.and_then(|spec| spec.get("tfReplicaSpecs"));
    let named =
        |name: &str| specs.map_or(&[][..], Node::entries).iter().find(|entry| entry.key.eq_ignore_ascii_case(name));
    if let Some(entry) = named("PS") {
        let hint = "change the program to MultiWorkerMirroredStrategy, and remove `PS`";
        return context.refuse_at(entry.key_span, "khorovod starts no parameter servers", hint);
    }
    let types = ["Worker", "Chief", "Master"];
    let all = training_operator::replicas(spec, "tfReplicaSpecs", &types, "tensorflow", context);
    let Some(main) = all.iter().find(|replicas| replicas.count > 0) else {
        let span = spec.map_or(job.span, |spec| spec.span);
        let hint = "add `spec.tfReplicaSpecs.Chief` or `.Worker`, with a container";
        return context.refuse_at(span, "the TFJob has no pods that train", hint);
    };
    training_operator::policy(spec, context);
    if let Some(node) = main.pods.field("resources") {
        pod::resources(context, node);
    }
    let world = training_operator::world(&all, 1);
    let words = Words { parts: ["command", "args"].map(|key| main.pods.field(key)), container: main.pods.container };
    let start = Start {
        plain: ("tensorflow", "it sets TF_CONFIG, as the operator did"),
        variables: each_pod::values(main.pods.field("env")),
    };
    each_pod::command(context, words, main.pods.name, &world, &start);
    training_operator::pods(&all, main, world.pods, context);
    if let Some(entry) = named("Evaluator") {
        context.lose(&entry.value, "run the evaluator as a Job of its own, with the same storage");
    }
    if let Some(node) = spec.and_then(|spec| spec.get("successPolicy")) {
        context.needless(node, "the run succeeds when all ranks succeed");
    }
    if let Some(node) = spec.and_then(|spec| spec.get("enableDynamicWorker")) {
        match context.yes(node) {
            true => context.lose(node, "the number of workers is fixed, because TF_CONFIG lists them"),
            false => context.needless(node, "this is the default of khorovod, too"),
        }
    }
    manifest::rest(job, context);
    context.spec.shorten(training_operator::LEFT_OUT);
}
