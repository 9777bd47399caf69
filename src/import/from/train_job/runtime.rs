//! The runtime that a TrainJob names: its framework, and its template if it is in the file.

use super::pods;
use crate::context::{Context, text};
use crate::field::{self, set};
use crate::from::each_pod::Pods;
use crate::from::job_set::{self, Role};
use crate::manifest::OTHER_DOCUMENTS;
use khorovod_compiler::yaml::{Entry, Node};

/// How a runtime starts the ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framework {
    Torch,
    Jax,
    /// A launcher with mpirun or deepspeed, which starts ranks in the nodes over ssh.
    Mpi,
    /// A framework for which khorovod has no launcher. The text is the name of the framework.
    Unknown(String),
}

/// A runtime.
pub struct Runtime<'n> {
    pub name: String,
    pub framework: Framework,
    /// The object. None if it is not in the file.
    node: Option<&'n Node>,
    /// The pods that run the ranks.
    pub pods: Option<Pods<'n>>,
    /// The pod that starts the ranks, if it is not one of `pods`.
    pub leader: Option<Pods<'n>>,
}

/// The runtimes that come with Trainer, whose templates have only an image.
const BUILT_IN: &[&str] = &["torch-distributed", "deepspeed-distributed", "jax-distributed", "mlx-distributed"];

impl<'n> Runtime<'n> {
    /// Finds the runtime of a TrainJob.
    pub fn new(job: &'n Node) -> Self {
        let reference = job.get("spec").and_then(|spec| spec.get("runtimeRef"));
        let name = reference.and_then(|node| node.get("name")).and_then(text).unwrap_or_default();
        let others = job.get(OTHER_DOCUMENTS).map_or(&[][..], Node::entries);
        let is_it = |entry: &&Entry| {
            let (kind, other) = entry.key.split_once('/').unwrap_or_default();
            kind.ends_with("TrainingRuntime") && other == name
        };
        let node = others.iter().find(is_it).map(|entry| &entry.value);
        let mut runtime = Self { framework: Framework::Torch, name, node, pods: None, leader: None };
        runtime.framework = runtime.find_framework();
        let jobs = job_set::items(runtime.jobs());
        let named = |name: &str| jobs.iter().find(|job| job.get("name").and_then(text).as_deref() == Some(name));
        let trains = |job: &&Node| step(job).as_deref() == Some("trainer");
        let trainer = jobs.iter().find(trains);
        let node = named("node").or(trainer);
        runtime.pods = node.map(|job| pods(job, super::NAME));
        let leads =
            |job: &&Node| runtime.framework == Framework::Mpi && node.is_none_or(|node| !std::ptr::eq(node, *job));
        runtime.leader = trainer.or(named("launcher")).filter(leads).map(|job| pods(job, "launcher"));
        runtime
    }

    fn find_framework(&self) -> Framework {
        let by_policy = |key: &str| self.field("mlPolicy").is_some_and(|policy| policy.get(key).is_some());
        let by_name = |words: &[&str]| self.node.is_none() && words.iter().any(|word| self.name.contains(word));
        if by_policy("mpi") || by_name(&["deepspeed", "mlx", "mpi"]) {
            Framework::Mpi
        } else if by_policy("jax") || by_name(&["jax"]) {
            Framework::Jax
        } else if let Some(other) = ["flux", "xgboost"].iter().find(|other| by_policy(other) || by_name(&[other])) {
            Framework::Unknown((*other).to_owned())
        } else {
            Framework::Torch
        }
    }

    /// A field of its spec.
    pub fn field(&self, key: &str) -> Option<&'n Node> {
        self.node.and_then(|node| node.get("spec")).and_then(|spec| spec.get(key))
    }

    /// A number of its policy.
    pub fn policy(&self, key: &str) -> Option<&'n Node> {
        let policy = self.field("mlPolicy");
        let own = policy.and_then(|policy| policy.get("mpi").or(policy.get("torch")));
        policy.and_then(|policy| policy.get(key)).or(own.and_then(|own| own.get(key)))
    }

    /// The image of the TrainJob, or else the image of the runtime.
    pub fn image(&self, trainer: Option<&'n Node>) -> Option<&'n Node> {
        let own = self.pods.as_ref().and_then(|pods| pods.field("image"));
        trainer.and_then(|trainer| trainer.get("image")).or(own)
    }

    /// The spec of its JobSet.
    fn jobs(&self) -> Option<&'n Node> {
        self.field("template").and_then(|template| template.get("spec"))
    }

    /// Records the outcomes of what is left of the runtime, and of the reference to it.
    pub fn settle(&self, spec: Option<&Node>, context: &mut Context<'_>) {
        if let Some(reference) = spec.and_then(|spec| spec.get("runtimeRef")) {
            match self.node.is_some() || BUILT_IN.contains(&self.name.as_str()) {
                true => context.needless(reference, "khorovod starts the ranks itself"),
                false => context.lose(
                    reference,
                    "what the runtime sets is not in the file: import both, as one file of two documents",
                ),
            }
        }
        let Some(node) = self.node else { return };
        for key in ["apiVersion", "kind", "metadata"] {
            if let Some(node) = node.get(key) {
                context.needless(node, "the job does not need the runtime");
            }
        }
        if let Some(policy) = self.field("mlPolicy") {
            let implementation = policy.get("mpi").and_then(|mpi| mpi.get("mpiImplementation"));
            match implementation.and_then(|node| Some((node, text(node)?.to_ascii_lowercase()))) {
                Some((node, name)) if name == "intel" => context.keep(node, set::LAUNCHER_MPI, "intelmpi"),
                Some((node, name)) if name == "mpich" => context.keep(node, set::LAUNCHER_MPI, "mpich"),
                _ => {}
            }
            context.needless(policy, "khorovod starts the ranks itself");
        }
        job_set::around(context, self.jobs(), if self.leader.is_some() { "launcher" } else { "node" });
        for item in job_set::items(self.jobs()) {
            let name = item.get("name").and_then(text).unwrap_or_default();
            let replicated = job_set::replicated(item, &name, context);
            let is = |pods: Option<&Pods<'_>>| {
                pods.and_then(|pods| pods.template)
                    .is_some_and(|one| replicated.pods.template.is_some_and(|two| std::ptr::eq(one, two)))
            };
            let (role, why) = match step(item).as_deref() {
                _ if is(self.pods.as_ref()) => (Role::Leader, "the TrainJob, or khorovod, sets it"),
                _ if is(self.leader.as_ref()) => (Role::Leader, "khorovod writes the pod of the launcher itself"),
                Some("dataset-initializer" | "model-initializer") => {
                    (Role::Other, "spec.storage downloads data from S3; other data the program has to download")
                }
                _ => (Role::Other, "it is not a part of the training: run it as a Job of its own"),
            };
            job_set::job(context, &replicated, role);
            if let Some(template) = replicated.pods.template {
                match role {
                    Role::Other => context.lose(template, why),
                    _ => context.needless(template, why),
                }
            }
        }
        if let Some(template) = self.field("template").and_then(|template| template.get("metadata")) {
            context.lose(template, "it is a label or an annotation of the JobSet only: write it in `metadata`");
        }
    }
}

/// The step of a replicated Job, from its label.
fn step(job: &Node) -> Option<String> {
    let labels = job.get("template")?.get("metadata")?.get("labels")?;
    labels.get("trainer.kubeflow.org/trainjob-ancestor-step").and_then(text)
}

/// Imports the gang scheduler of a runtime.
pub fn gang(context: &mut Context<'_>, policy: &Node) {
    if context.spec.get(field::SCHEDULING_LOCAL_QUEUE).is_some() {
        return context.replaced(policy, "the job waits in Kueue's queue, which admits all pods or none");
    }
    for Entry { key, value, .. } in policy.entries() {
        for entry in value.entries() {
            match entry.key.as_str() {
                "networkTopology" => context.lose(&entry.value, "write the level in spec.placement.topology"),
                _ => context
                    .lose(&entry.value, "spec.scheduling has no such field: set it in the PodGroup with spec.patches"),
            }
        }
        context.keep(value, set::SCHEDULING_GANG, key.as_str());
    }
}
