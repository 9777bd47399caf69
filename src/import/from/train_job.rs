//! Imports a TrainJob of Kubeflow Trainer, v1alpha1.
//!
//! A TrainJob names a runtime. The template of the runtime has the image, and often further fields. If the runtime is in the
//! file, it is imported, too. Otherwise the new job has only the fields of the TrainJob.

mod initializer;
mod patches;
mod runtime;

use serde_json::Value as Json;

use crate::context::{Context, text};
use crate::field::{self, set};
use crate::from::each_pod::{self, Pods, Words};
use crate::from::job_set;
use crate::launch::each_pod::Start;
use crate::launch::{self, Place, World};
use crate::manifest::{self, run_policy};
use crate::pod;
use khorovod_compiler::yaml::Node;
use runtime::{Framework, Runtime};

/// The comments in the new spec leave out these parts of the paths of old fields, in addition to those of a JobSet.
const LEFT_OUT: &[&str] = &[".trainingRuntimeSpec", ".spec.template.spec.replicatedJobs", "beside."];

/// The name of the pods in comments.
const NAME: &str = "trainer";

/// Imports the job.
pub fn read(job: &Node, context: &mut Context<'_>) {
    let version = job.get("apiVersion").and_then(text).unwrap_or_default();
    if version != "trainer.kubeflow.org/v1alpha1" {
        let span = job.get("apiVersion").map_or(job.span, |node| node.span);
        let message = format!("a TrainJob of `apiVersion: {version}` cannot be imported");
        return context.refuse_at(span, message, "`trainer.kubeflow.org/v1alpha1` can be imported");
    }
    manifest::kind(job, context);
    manifest::metadata(job.get("metadata"), "trainjob", context);
    let spec = job.get("spec");
    let trainer = spec.and_then(|spec| spec.get("trainer"));
    let runtime = Runtime::new(job);
    if let Framework::Unknown(name) = runtime.framework {
        let span = spec.and_then(|spec| spec.get("runtimeRef")).map_or(job.span, |node| node.span);
        let message = format!("khorovod has no launcher for the runtime `{name}`");
        return context.refuse_at(span, message, "PyTorch, JAX, DeepSpeed and other MPI programs can be imported");
    }
    for (key, node) in spec.map_or(&[][..], Node::entries).iter().map(|entry| (entry.key.as_str(), &entry.value)) {
        match key {
            "labels" => patches::of_job(context, node, set::METADATA_LABELS),
            "annotations" => patches::of_job(context, node, set::METADATA_ANNOTATIONS),
            key => run_policy::field(context, key, node),
        }
    }
    size(trainer, &runtime, context);
    each_pod::image(context, runtime.image(trainer), NAME);
    if runtime.image(trainer).is_none() && context.options.image.is_none() {
        no_image(spec, &runtime, context);
    }
    if let Some(policy) = runtime.field("podGroupPolicy") {
        runtime::gang(context, policy);
    }
    let env = trainer.and_then(|trainer| trainer.get("env"));
    let items = env.map_or(&[][..], Node::items).iter();
    let replaced: Vec<String> = items.filter_map(|item| item.get("name").and_then(text)).collect();
    if let Some(template) = &runtime.pods {
        for item in template.field("env").map_or(&[][..], Node::items) {
            if item.get("name").and_then(text).is_some_and(|name| replaced.contains(&name)) {
                context.needless(item, "the TrainJob has another value");
            }
        }
        each_pod::template(context, template);
        each_pod::remove(context, &replaced);
    }
    if let Some(env) = env {
        let gone = each_pod::own_variables(context, Some(env));
        pod::container::env(context, env, NAME);
        each_pod::remove(context, &gone);
    }
    patches::read(context, spec, &runtime);
    if let Some(node) = spec.and_then(|spec| spec.get("initializer")) {
        initializer::read(context, node);
    }
    runtime.settle(spec, context);
    if context.spec.get(field::LIFECYCLE_RETRIES).is_none() {
        launch::default_retries(context, "as many as the Job had");
    }
    manifest::rest(job, context);
    pod::security_level(context);
    context.spec.shorten(job_set::LEFT_OUT);
    context.spec.shorten(LEFT_OUT);
}

/// Imports the command, the number of nodes and of processes, and the resources.
fn size(trainer: Option<&Node>, runtime: &Runtime<'_>, context: &mut Context<'_>) {
    let given = |key: &str| trainer.and_then(|trainer| trainer.get(key));
    let template = runtime.pods.as_ref();
    let resources = given("resourcesPerNode").or(template.and_then(|pods| pods.field("resources")));
    let gpus = resources.map_or(0, |node| pod::resources(context, node));
    if let Some(node) =
        template.and_then(|pods| pods.field("resources")).filter(|_| given("resourcesPerNode").is_some())
    {
        context.needless(node, "the TrainJob has its own `resourcesPerNode`");
    }
    let nodes = given("numNodes").or(runtime.policy("numNodes"));
    let count = nodes.map_or(Some(1), |node| context.count(node)).unwrap_or(1);
    let processes = given("numProcPerNode").or(runtime.policy("numProcPerNode"));
    let number = processes.and_then(|node| text(node)?.parse::<u32>().ok());
    let slots = number.unwrap_or(match runtime.framework {
        Framework::Torch if gpus == 0 => cpus(resources),
        Framework::Torch => gpus,
        _ => 1,
    });
    let world = World { pods: count, from: "numNodes".to_owned(), without_launcher: None, gpus: slots.max(1) };
    let leader = runtime.leader.as_ref().or(template);
    let part = |key: &str| given(key).or(leader.and_then(|pods| pods.field(key)));
    let container = trainer.filter(|trainer| trainer.get("env").is_some()).or(leader.and_then(|pods| pods.container));
    let words = Words { parts: ["command", "args"].map(part), container };
    match runtime.framework {
        Framework::Mpi => over_ssh(words, &world, context),
        _ => {
            let mut variables = vec![
                ("PET_NNODES".to_owned(), count.to_string()),
                ("PET_NPROC_PER_NODE".to_owned(), world.gpus.to_string()),
            ];
            variables.extend(each_pod::values(container.and_then(|node| node.get("env"))));
            let plain = match runtime.framework {
                Framework::Jax => ("jax", "it connects the processes, as the runtime did"),
                _ => ("torchrun", "it also sets RANK and WORLD_SIZE, which the program may ignore"),
            };
            each_pod::command(context, words, NAME, &world, &Start { plain, variables });
        }
    }
    let from = if number.is_some() { "numProcPerNode" } else { "the default of the runtime" };
    each_pod::slots(context, world.gpus, gpus, from);
    for (theirs, ours) in [("numNodes", nodes), ("numProcPerNode", processes)] {
        if let Some(node) = runtime.policy(theirs).filter(|node| ours.is_some_and(|ours| !std::ptr::eq(ours, *node))) {
            context.needless(node, "the TrainJob has its own number");
        }
    }
    if let Some(node) = nodes {
        launch::replicas_outcome(context, node, count);
    }
    if let Some(node) = processes {
        each_pod::processes(context, node);
    }
}

/// Imports the command of a launcher that starts the ranks with MPI.
fn over_ssh(words: Words<'_>, world: &World, context: &mut Context<'_>) {
    let parts = words.parts.into_iter().flatten();
    let first = words.parts.into_iter().flatten().next();
    if let Some((typed, span)) = context.typed.clone() {
        launch::line(context, &typed, &Place { path: "--command".to_owned(), span }, world);
        return parts.for_each(|node| context.replaced(node, "`--command` replaces it"));
    }
    let Some((line, first)) = words.line().zip(first) else {
        let hint = "pass the line that starts the ranks with `--command LINE`";
        return context.refuse_at(context.whole, "the command of the launcher is not in the file", hint);
    };
    launch::line(context, &line, &Place { path: NAME.to_owned(), span: first.span }, world);
    let how = launch::launcher_note(context);
    parts.for_each(|node| context.changed(node, field::COMMAND_AND_LAUNCHER, how));
}

/// The number of CPUs of a container. Trainer's runtime for PyTorch can start one process per CPU.
fn cpus(resources: Option<&Node>) -> u32 {
    let get = |side: &str| resources.and_then(|node| node.get(side)).and_then(|side| side.get("cpu")).and_then(text);
    let amount = get("requests").or(get("limits")).unwrap_or_default();
    let whole = amount.parse().ok();
    let thousandths = amount.strip_suffix('m').and_then(|amount| amount.parse::<u32>().ok());
    whole.or(thousandths.map(|amount| amount.div_ceil(1000))).unwrap_or(1).max(1)
}

fn no_image(spec: Option<&Node>, runtime: &Runtime<'_>, context: &mut Context<'_>) {
    let reference = spec.and_then(|spec| spec.get("runtimeRef"));
    let span = reference.map_or(context.whole, |node| node.span);
    let name = &runtime.name;
    let kind = reference.and_then(|node| node.get("kind")).and_then(text);
    let kind = kind.unwrap_or_else(|| "ClusterTrainingRuntime".to_owned()).to_ascii_lowercase();
    let job = context.spec.get(field::METADATA_NAME).and_then(Json::as_str).unwrap_or("NAME").to_owned();
    let hint = format!(
        "import both: `kubectl get trainjob/{job} {kind}/{name} -o yaml | khorovod import trainjob`, or add `--image IMAGE`"
    );
    context.refuse_at(span, format!("the image is in the runtime `{name}`, which is not in the file"), hint);
}

/// The pods of a replicated Job of the runtime.
fn pods<'n>(node: &'n Node, name: &'n str) -> Pods<'n> {
    let spec = node.get("template").and_then(|template| template.get("spec"));
    Pods::new(name, spec.and_then(|spec| spec.get("template")), &["node"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use khorovod_compiler::problem::Span;
    use khorovod_compiler::yaml;

    #[test]
    fn processes_per_cpu() {
        for (list, wanted) in [
            ("requests: {cpu: 4}\nlimits: {cpu: 8}", 4),
            ("limits: {cpu: '8'}", 8),
            ("limits: {cpu: 1500m}", 2),
            ("limits: {cpu: 500m}", 1),
            ("limits: {memory: 4Gi}", 1),
        ] {
            let span = Span { source: 0, start: 0, end: list.len() };
            let node = yaml::parse(list, span, &mut Vec::new()).unwrap();
            assert_eq!(cpus(node.as_ref()), wanted, "{list}");
        }
        assert_eq!(cpus(None), 1);
    }
}
