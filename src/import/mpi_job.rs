//! MPIJob of Kubeflow's MPI Operator, v1 and v2beta1.
//!
//! Its pods ran what the image and the file made of them; khorovod's run our scripts. What an image of the operator did
//! for ssh is needless here. A job that khorovod itself rendered is read by [`rendered`](super::rendered).

mod names;
mod settings;
mod stream;
mod words;

use serde_json::{Value as Json, json};

use super::desk::{Desk, entries, items, text};
use super::ledger::Verdict;
use super::{BAD_VALUE, container, pod, rendered};
use khorovod_compiler::problem::Problem;
use khorovod_compiler::yaml::{Entry, Node};

pub use stream::{BESIDE, stream};

/// What comments leave out of paths.
pub const LONG: &[(&str, &str)] =
    &[("spec.mpiReplicaSpecs.", ""), (".template.spec.containers[0]", ""), (".template.spec", "")];

/// Launcher or worker.
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
        let container = pod.and_then(|pod| pod.get("containers")).and_then(|list| items(list).first());
        Self { spec, pod, container }
    }

    fn field(&self, key: &str) -> Option<&'n Node> {
        self.container.and_then(|container| container.get(key))
    }
}

/// Reads the job.
pub fn read(job: &Node, desk: &mut Desk<'_>) {
    if let Some(node) = job.get("apiVersion").filter(|node| !text(node).is_some_and(|text| known(&text))) {
        let message = format!("`apiVersion` is {}: its MPIJobs are not read", text(node).unwrap_or_default());
        let problem = Problem::new(&BAD_VALUE, node.span, message);
        return desk.problems.push(problem.hint(
            "v1 and v2beta1 are. v1alpha1 had `gpus` and one `template`: write those as Launcher and Worker of v2beta1",
        ));
    }
    let (launcher, worker) = (Replica::of(job, "Launcher"), Replica::of(job, "Worker"));
    if launcher.container.is_none() {
        let span = job.get("spec").map_or(job.span, |spec| spec.span);
        let problem = Problem::new(&BAD_VALUE, span, "the MPIJob has no launcher with a container");
        return desk.problems.push(problem.hint("give `spec.mpiReplicaSpecs.Launcher.template.spec.containers`"));
    }
    if let (Some(launcher), Some(worker)) = (launcher.container, worker.container)
        && rendered::is(launcher)
    {
        return rendered::read(job, launcher, worker, desk);
    }
    for key in ["apiVersion", "kind"] {
        if let Some(node) = job.get(key) {
            desk.ledger.settle(node, Verdict::Changed, "apiVersion kind", "a TrainingJob");
        }
    }
    metadata(job.get("metadata"), desk);
    let slots = settings::read(job.get("spec"), desk);
    images(&launcher, &worker, desk);
    let gpus = worker.field("resources").map_or(0, |node| pod::resources(desk, node));
    words::launch(job, &launcher, &worker, gpus, slots, desk);
    if let Some(node) = launcher.field("resources") {
        match queued(desk) {
            true => desk.lose(node, FIRST),
            false => container::launcher_resources(desk, node),
        }
    }
    let gone = names::settle(job, [&worker, &launcher], desk);
    for (replica, leads) in [(&worker, false), (&launcher, true)] {
        if let Some(container) = replica.container {
            container::read(desk, container, leads);
        }
        container::volumes(desk, replica.pod, replica.container, leads);
        if let Some(pod) = replica.pod {
            beyond(desk, pod, leads);
            container::pod(desk, pod, leads);
        }
        around(replica.spec, desk, leads);
    }
    names::put(gone, desk);
    if let Some(node) = job.get(BESIDE) {
        desk.lose(node, "it stands beside the MPIJob; apply it as before");
    }
    if let Some(node) = job.get("status") {
        desk.needless(node, "the operator wrote it");
    }
    defaults(job, desk);
    desk.draft.shorten(LONG);
}

/// Versions whose jobs have a launcher and workers.
fn known(version: &str) -> bool {
    let ours = version.strip_prefix("kubeflow.org/");
    ours.is_some_and(|version| ["v1alpha2", "v1", "v2beta1"].contains(&version))
}

/// What the operator did by default and khorovod would not.
fn defaults(job: &Node, desk: &mut Desk<'_>) {
    let spec = job.get("spec");
    let policy = spec.and_then(|spec| spec.get("runPolicy"));
    let given = |key: &str| [spec, policy].into_iter().flatten().any(|node| node.get(key).is_some());
    if !given("backoffLimit") && desk.draft.get("spec.launcher.kind") != Some(&json!("shell")) {
        desk.default("spec.launcher.retries", 6, "as often as the launcher's Job started again");
    }
    if !given("cleanPodPolicy") && !queued(desk) {
        desk.default(
            "spec.lifecycle.release",
            "scaleDown",
            "without cleanPodPolicy workers kept their GPUs after the end",
        );
    }
    if desk.draft.get("spec.security.profile").is_none() {
        desk.default(
            "spec.security.profile",
            "restricted",
            "the image's user ran it, often root; here nothing is root",
        );
    }
}

fn metadata(node: Option<&Node>, desk: &mut Desk<'_>) {
    let get = |key: &str| node.and_then(|node| node.get(key));
    let name = get("name").or(get("generateName"));
    let given = name.and_then(text).unwrap_or_else(|| "mpijob".to_owned());
    let (verdict, how) = desk.rename(given.trim_end_matches('-'), "metadata.name");
    if let Some(name) = name {
        desk.ledger.settle(name, verdict, "metadata.name", how);
    }
    if let Some((node, value)) = get("namespace").and_then(|node| Some((node, text(node)?))) {
        match &desk.options.namespace {
            Some(_) => desk.ledger.settle(node, Verdict::Changed, "metadata.namespace", "another was asked for"),
            None => desk.keep(node, "metadata.namespace", value),
        }
    }
    for entry in get("labels").map_or(&[][..], entries) {
        let Some(value) = desk.text(&entry.value) else { continue };
        if entry.key == "kueue.x-k8s.io/queue-name" {
            desk.keep(&entry.value, "spec.scheduling.kueue", value);
        } else {
            own_key(desk, entry, "metadata.labels", value);
        }
    }
    for entry in get("annotations").map_or(&[][..], entries) {
        let Some(value) = desk.text(&entry.value) else { continue };
        match entry.key.as_str() {
            "kubectl.kubernetes.io/last-applied-configuration" => desk.needless(&entry.value, "kubectl wrote it"),
            _ => own_key(desk, entry, "metadata.annotations", value),
        }
    }
    if let Some(node) = node {
        desk.needless(node, "Kubernetes wrote it");
    }
}

/// Why a label of the old file has no place.
const OWN: &str = "khorovod writes this key itself";

/// Whether khorovod writes a label or annotation of this name.
fn owned(key: &str) -> bool {
    let own = ["app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/managed-by"];
    own.contains(&key) || key.starts_with("khorovod.dev/")
}

/// A label or annotation of the user's, unless khorovod writes that key itself.
fn own_key(desk: &mut Desk<'_>, entry: &Entry, to: &str, value: String) {
    if owned(&entry.key) {
        return desk.lose(&entry.value, OWN);
    }
    desk.draft.put_key(to, &entry.key, value, "");
    desk.ledger.settle(&entry.value, Verdict::Kept, to, "");
}

/// Whether the job waits in a queue: it is one Indexed Job then, whose first pod launches.
fn queued(desk: &Desk<'_>) -> bool {
    ["gang", "kueue", "suspend"].iter().any(|way| desk.draft.get(&format!("spec.scheduling.{way}")).is_some())
}

/// Why such a job has no launcher of its own.
const FIRST: &str = "a job that waits in a queue is one Indexed Job here, whose first worker launches";

fn images(launcher: &Replica<'_>, worker: &Replica<'_>, desk: &mut Desk<'_>) {
    let of = |replica: &Replica<'_>| replica.field("image").and_then(text);
    let image = of(worker).or(of(launcher)).unwrap_or_default();
    desk.image(&image, "Worker");
    for (replica, to) in [(worker, "spec.image"), (launcher, "spec.launcher.image")] {
        let Some(node) = replica.field("image") else { continue };
        if desk.options.image.is_some() {
            desk.ledger.settle(node, Verdict::Changed, "spec.image", "another image was asked for");
        } else if of(replica).as_deref() == Some(image.as_str()) {
            desk.ledger.settle(node, Verdict::Kept, "spec.image", "");
        } else if queued(desk) {
            desk.lose(node, FIRST);
        } else {
            desk.keep(node, to, of(replica).unwrap_or_default());
        }
    }
}

/// What stands around a template.
fn around(spec: Option<&Node>, desk: &mut Desk<'_>, leads: bool) {
    let get = |key: &str| spec.and_then(|spec| spec.get(key));
    if let Some(node) = get("replicas") {
        desk.needless(node, "there is one launcher");
    }
    if let Some(node) = get("restartPolicy") {
        desk.ledger.settle(node, Verdict::Changed, "spec.launcher.retries", "the launcher starts the training again");
    }
    if let Some(node) = get("template").and_then(|template| template.get("metadata")) {
        for key in ["labels", "annotations"] {
            for entry in node.get(key).map_or(&[][..], entries) {
                match entry.key.as_str() {
                    "sidecar.istio.io/inject" => desk.needless(&entry.value, "khorovod keeps sidecars away"),
                    _ if leads && queued(desk) => desk.lose(&entry.value, FIRST),
                    name if owned(name) => desk.lose(&entry.value, OWN),
                    _ => on_pods(desk, key, entry, leads),
                }
            }
        }
        desk.needless(node, "labels and annotations alone reached the pods");
    }
}

/// Fields of a pod for which the spec has no word, and which nothing of khorovod's depends on.
const BEYOND: &[&str] = &["dnsConfig", "hostAliases", "preemptionPolicy"];

fn beyond(desk: &mut Desk<'_>, pod: &Node, leads: bool) {
    for entry in entries(pod).iter().filter(|entry| BEYOND.contains(&entry.key.as_str())) {
        match leads && queued(desk) {
            true => desk.lose(&entry.value, FIRST),
            false => over_pods(desk, "/spec", entry, entry.value.to_json(), leads),
        }
    }
}

/// A label or annotation of pods.
fn on_pods(desk: &mut Desk<'_>, field: &str, entry: &Entry, leads: bool) {
    let Some(value) = desk.text(&entry.value) else { return };
    over_pods(desk, &format!("/metadata/{field}"), entry, value.into(), leads);
}

/// What the spec has no word for: a patch over the pods puts it there, under any target.
fn over_pods(desk: &mut Desk<'_>, path: &str, entry: &Entry, value: Json, leads: bool) {
    let target = json!({"kind": "Pod", "name": if leads { "*-launcher" } else { "*-worker" }});
    desk.draft.patch(&target, path, &entry.key, value);
    desk.ledger.settle(&entry.value, Verdict::Kept, "spec.patches", "");
}
