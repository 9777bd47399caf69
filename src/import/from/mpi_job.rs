//! Imports an MPIJob of Kubeflow's MPI Operator, v1 or v2beta1.
//!
//! The pods of an MPIJob run the command in the file or the entry point of the image. The pods of khorovod run scripts
//! of khorovod, which also set up ssh. If khorovod rendered the MPIJob, [`rendered`](crate::rendered) reads the file
//! instead.

mod launch;
mod names;
mod placement;
mod settings;

use crate::field::{self, set};
use serde_json::{Value as Json, json};

use crate::context::{Context, text};
use crate::field_outcomes::Verdict;
use crate::from::training_operator;
use crate::manifest::{self, OWN, is_own};
use crate::pod::{self, container};
use crate::rendered;
use khorovod_compiler::yaml::{Entry, Node};

/// The replica spec of the launcher or of the workers, its pod spec, and its main container.
struct Replica<'n> {
    spec: Option<&'n Node>,
    pod: Option<&'n Node>,
    container: Option<&'n Node>,
}

impl<'n> Replica<'n> {
    fn of(job: &'n Node, name: &str) -> Self {
        let specs = job.get("spec").and_then(|spec| spec.get("mpiReplicaSpecs"));
        let spec = specs.and_then(|specs| specs.get(name));
        let pod = spec.and_then(|spec| spec.get("template")).and_then(|template| template.get("spec"));
        let main = job.get("spec").and_then(|spec| spec.get("mainContainer")).and_then(text);
        let containers = pod.and_then(|pod| pod.get("containers")).map_or(&[][..], Node::items);
        let is_main = |container: &&Node| main.is_some() && container.get("name").and_then(text) == main;
        let container = containers.iter().find(is_main).or(containers.first());
        Self { spec, pod, container }
    }

    fn field(&self, key: &str) -> Option<&'n Node> {
        self.container.and_then(|container| container.get(key))
    }
}

/// Imports the job.
pub fn read(job: &Node, context: &mut Context<'_>) {
    if let Some(node) = job.get("apiVersion").filter(|node| !text(node).is_some_and(|text| is_known_version(&text))) {
        let message = format!("an MPIJob of `apiVersion: {}` cannot be imported", text(node).unwrap_or_default());
        return context.refuse_at(
            node.span,
            message,
            "v1 and v2beta1 can be imported. v1alpha1 has `gpus` and one `template`: write them as Launcher and Worker of v2beta1",
        );
    }
    let (launcher, worker) = (Replica::of(job, "Launcher"), Replica::of(job, "Worker"));
    if launcher.container.is_none() {
        let span = job.get("spec").map_or(job.span, |spec| spec.span);
        return context.refuse_at(
            span,
            "the MPIJob has no launcher with a container",
            "add `spec.mpiReplicaSpecs.Launcher.template.spec.containers`",
        );
    }
    if let Some(container) = launcher.container.filter(|container| rendered::is(container)) {
        let message = "khorovod rendered this MPIJob, but the ConfigMap with its spec is not in the file";
        let hint = "import all rendered objects, or the output of: kubectl get mpijob,configmap -l khorovod.dev/job=NAME -o yaml";
        return context.refuse_at(container.span, message, hint);
    }
    manifest::kind(job, context);
    manifest::metadata(job.get("metadata"), "mpijob", context);
    let slots = settings::read(job.get("spec"), context);
    let gpus = worker.field("resources").map_or(0, |node| pod::resources(context, node));
    launch::launch(job, &launcher, &worker, gpus, slots, context);
    images(&launcher, &worker, context);
    settings::clean_pod_policy(job.get("spec"), context);
    if let Some(spec) = launcher.spec.filter(|_| queued(context)) {
        let how = "the new job has no launcher pod: because of the gang, the queue or `suspend`, the launcher runs in the first worker, with \
                   the image, the resources and the placement of a worker";
        context.report("Launcher", spec.span, Verdict::Changed, field::LAUNCHER_KIND, how);
    }
    if let Some(node) = launcher.field("resources") {
        match no_launcher_pod(context) {
            Some(why) => context.lose(node, why),
            None => container::launcher_resources(context, node),
        }
    }
    let gone = names::settle(job, [&worker, &launcher], context);
    for (replica, leads) in [(&worker, false), (&launcher, true)] {
        if let Some(container) = replica.container {
            container::read(context, container, if leads { "Launcher" } else { "Worker" }, leads);
        }
        container::volumes(context, replica.pod, replica.container, leads);
        if let Some(pod) = replica.pod {
            beyond(context, pod, leads);
            if leads {
                placement::launcher(context, pod);
            }
            container::pod(context, pod, replica.container, leads);
        }
        import_replica_spec(replica.spec, context, leads);
    }
    names::put(gone, context);
    manifest::rest(job, context);
    defaults(job, context);
    context.spec.shorten(training_operator::LEFT_OUT);
}

/// Whether the MPIJobs of an API version have `mpiReplicaSpecs` with a launcher and workers.
fn is_known_version(version: &str) -> bool {
    let ours = version.strip_prefix("kubeflow.org/");
    ours.is_some_and(|version| ["v1alpha2", "v1", "v2beta1"].contains(&version))
}

/// Applies defaults of the operator that differ from those of khorovod.
fn defaults(job: &Node, context: &mut Context<'_>) {
    let spec = job.get("spec");
    let policy = spec.and_then(|spec| spec.get("runPolicy"));
    let given = |key: &str| [spec, policy].into_iter().flatten().any(|node| node.get(key).is_some());
    if !given("backoffLimit") {
        crate::launch::default_retries(context, "as many as the launcher's Job had");
    }
    if !given("cleanPodPolicy") && no_launcher_pod(context).is_none() {
        context.default(
            set::LIFECYCLE_KEEP_WORKERS,
            false,
            "without cleanPodPolicy workers kept their GPUs after the end",
        );
    }
    pod::security_level(context);
}

/// Whether the new job has a gang, a queue or `suspend`. In these cases, one Indexed Job runs all pods, and its first pod
/// also runs the launcher.
fn queued(context: &Context<'_>) -> bool {
    [field::SCHEDULING_GANG, field::SCHEDULING_LOCAL_QUEUE, field::SCHEDULING_SUSPEND]
        .iter()
        .any(|way| context.spec.get(way).is_some())
}

/// The note for the launcher's fields of a job that becomes one Indexed Job.
const FIRST: &str = "there is no launcher pod: with a gang, a queue or `suspend`, all pods are one Indexed Job, whose first worker launches";

/// Why the new job has no launcher pod; `None` if it has one.
fn no_launcher_pod(context: &Context<'_>) -> Option<&'static str> {
    let torchrun = context.spec.get(field::LAUNCHER_KIND).is_some_and(|kind| kind == "torchrun");
    let agents = "with torchrun there is no launcher pod: torchrun runs in each worker";
    if queued(context) { Some(FIRST) } else { torchrun.then_some(agents) }
}

fn images(launcher: &Replica<'_>, worker: &Replica<'_>, context: &mut Context<'_>) {
    let of = |replica: &Replica<'_>| replica.field("image").and_then(text);
    let image = of(worker).or(of(launcher)).unwrap_or_default();
    context.image(&image, "Worker");
    for (replica, to) in [(worker, set::IMAGE), (launcher, set::LAUNCHER_IMAGE.untyped())] {
        let Some(node) = replica.field("image") else { continue };
        if context.options.image.is_some() {
            context.changed(node, field::IMAGE, "`--image` replaces it");
        } else if of(replica).as_deref() == Some(image.as_str()) {
            context.kept(node, field::IMAGE);
        } else if let Some(why) = no_launcher_pod(context) {
            context.lose(node, why);
        } else {
            context.keep(node, to, of(replica).unwrap_or_default());
        }
    }
}

/// Imports the fields of a replica spec except the pod spec. `leads` is true for the replica spec of the launcher.
fn import_replica_spec(spec: Option<&Node>, context: &mut Context<'_>, leads: bool) {
    let get = |key: &str| spec.and_then(|spec| spec.get(key));
    let lacks_pod = no_launcher_pod(context).filter(|_| leads);
    if let Some(node) = get("replicas") {
        context.needless(node, "there is one launcher");
    }
    if let Some(node) = get("restartPolicy") {
        context.changed(node, field::LIFECYCLE_RETRIES, "the launcher starts failed training again");
    }
    if let Some(node) = get("template").and_then(|template| template.get("metadata")) {
        for key in ["labels", "annotations"] {
            for entry in node.get(key).map_or(&[][..], Node::entries) {
                match entry.key.as_str() {
                    "sidecar.istio.io/inject" => context.needless(&entry.value, "khorovod disables sidecars itself"),
                    name if is_own(name) => context.lose(&entry.value, OWN),
                    _ => match lacks_pod {
                        Some(why) => context.lose(&entry.value, why),
                        None => on_pods(context, key, entry, leads),
                    },
                }
            }
        }
        context.needless(node, "only labels and annotations of a template reach its pods");
    }
}

fn beyond(context: &mut Context<'_>, pod: &Node, leads: bool) {
    for entry in pod.entries().iter().filter(|entry| pod::BEYOND.contains(&entry.key.as_str())) {
        match no_launcher_pod(context).filter(|_| leads) {
            Some(why) => context.lose(&entry.value, why),
            None => over_pods(context, "/spec", entry, entry.value.to_json(), leads),
        }
    }
}

/// Imports a label or an annotation of pods.
fn on_pods(context: &mut Context<'_>, field: &str, entry: &Entry, leads: bool) {
    let Some(value) = context.text(&entry.value) else { return };
    over_pods(context, &format!("/metadata/{field}"), entry, value.into(), leads);
}

/// Imports a field of the pods as a patch, because the spec has no field for it.
fn over_pods(context: &mut Context<'_>, path: &str, entry: &Entry, value: Json, leads: bool) {
    let target = json!({"kind": "Pod", "name": if leads { "*-launcher" } else { "*-worker" }});
    context.spec.patch(&target, path, &entry.key, value);
    context.kept(&entry.value, field::PATCHES);
}
