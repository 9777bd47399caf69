//! MPIJob of Kubeflow's MPI Operator, v1 and v2beta1.
//!
//! Its pods ran what the image and the file made of them; khorovod's run our scripts. What an image of the operator did
//! for ssh is needless here. A job that khorovod itself rendered is read by [`rendered`](super::rendered).

use serde_json::{Value as Json, json};

use super::desk::{Desk, entries, items, text};
use super::filled::Filled;
use super::launch::{self, Place, World};
use super::ledger::Verdict;
use super::program::is_shell;
use super::{BAD_VALUE, container, pod, rendered};
use crate::problem::{Problem, Span};
use crate::source::{self, Entry, Kind, Node};

/// What comments leave out of paths.
pub const LONG: &[(&str, &str)] =
    &[("spec.mpiReplicaSpecs.", ""), (".template.spec.containers[0]", ""), (".template.spec", "")];

/// The key under which other documents of the stream stand.
pub const BESIDE: &str = "beside";

/// The MPIJob of a stream, with the other documents beside its fields.
pub fn stream(body: &str, span: Span, problems: &mut Vec<Problem>) -> Option<Node> {
    let (mut job, mut others) = (None, Vec::new());
    for piece in source::pieces(body) {
        let (start, end) = (piece.body.start, piece.body.end);
        let Ok(Some(node)) = source::parse(&body[start..end], Span { start, end, ..span }, problems) else { continue };
        for node in listed(node) {
            let kind = node.get("kind").and_then(text).unwrap_or_default();
            if kind != "MPIJob" {
                let name = node.get("metadata").and_then(|node| node.get("name")).and_then(text).unwrap_or_default();
                others.push(Entry { key: format!("{kind}/{name}"), key_span: node.span, value: node });
            } else if job.is_none() {
                job = Some(node);
            } else {
                let problem = Problem::new(&BAD_VALUE, node.span, "there are several MPIJobs");
                problems.push(problem.hint("import them one at a time"));
            }
        }
    }
    let Some(mut job) = job else {
        let first = Span { end: span.start, ..span };
        let problem = Problem::new(&BAD_VALUE, first, "there is no MPIJob in it");
        problems.push(problem.hint("give the file with `kind: MPIJob`, or `kubectl get mpijob NAME -o yaml`"));
        return None;
    };
    if let (Kind::Map(fields), false) = (&mut job.kind, others.is_empty()) {
        let value = Node { span: others[0].value.span, kind: Kind::Map(others) };
        fields.push(Entry { key: BESIDE.to_owned(), key_span: value.span, value });
    }
    Some(job)
}

/// The items of a List, as kubectl writes several objects; else the object itself.
fn listed(mut node: Node) -> Vec<Node> {
    let is_list = node.get("kind").and_then(text).is_some_and(|kind| kind.ends_with("List"));
    if let (true, Kind::Map(fields)) = (is_list, &mut node.kind)
        && let Some(at) = fields.iter().position(|entry| entry.key == "items")
        && let Kind::List(items) = fields.swap_remove(at).value.kind
    {
        return items;
    }
    vec![node]
}

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
    let slots = settings(job.get("spec"), desk);
    images(&launcher, &worker, desk);
    let gpus = worker.field("resources").map_or(0, |node| pod::resources(desk, node));
    launch(job, &launcher, &worker, gpus, slots, desk);
    if let Some(node) = launcher.field("resources") {
        match queued(desk) {
            true => desk.lose(node, FIRST),
            false => container::launcher_resources(desk, node),
        }
    }
    for (replica, leads) in [(&worker, false), (&launcher, true)] {
        if let Some(container) = replica.container {
            container::read(desk, container, leads);
        }
        container::volumes(desk, replica.pod, replica.container, leads);
        if let Some(pod) = replica.pod {
            container::pod(desk, pod, leads);
        }
        around(replica.spec, desk, leads);
    }
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

/// Fields of the job's own spec, and of `runPolicy`; the slots of a worker.
fn settings(spec: Option<&Node>, desk: &mut Desk<'_>) -> u32 {
    let mut slots = 1;
    let policy = spec.and_then(|spec| spec.get("runPolicy"));
    for entry in [spec, policy].into_iter().flatten().flat_map(entries) {
        let node = &entry.value;
        match entry.key.as_str() {
            "slotsPerWorker" => {
                slots = desk.count(node).unwrap_or(1).max(1);
                desk.ledger.settle(node, Verdict::Kept, "spec.workers.slots", "");
            }
            "mpiImplementation" | "mpiDistribution" => implementation(desk, node),
            "ttlSecondsAfterFinished" => seconds(desk, node, "spec.lifecycle.ttlAfterFinished"),
            "activeDeadlineSeconds" => seconds(desk, node, "spec.lifecycle.deadline"),
            "backoffLimit" => {
                if let Some(count) = desk.count(node) {
                    desk.keep(node, "spec.launcher.retries", count.min(1000));
                }
            }
            "suspend" => match desk.yes(node) {
                true => desk.keep(node, "spec.scheduling.suspend", true),
                false => desk.needless(node, "the same here"),
            },
            "schedulingPolicy" => scheduling(desk, node),
            "launcherCreationPolicy" => desk.needless(node, "the launcher waits for its workers by itself"),
            "sshAuthMountPath" => desk.needless(node, "keys are mounted where our scripts look for them"),
            "mainContainer" => desk.needless(node, "there is one container a pod"),
            "managedBy" => desk.lose(node, "MultiKueue takes what is rendered, by its label: spec.scheduling.kueue"),
            _ => {}
        }
    }
    for node in [spec, policy].into_iter().flatten().filter_map(|node| node.get("cleanPodPolicy")) {
        match text(node).as_deref() {
            Some("None") if queued(desk) => desk.lose(node, "pods of a job that waits in a queue end together"),
            Some("None") => desk.keep(node, "spec.lifecycle.release", "keep"),
            _ => desk.needless(node, "workers end with the launcher here too"),
        }
    }
    slots
}

/// Whether the job waits in a queue: it is one Indexed Job then, whose first pod launches.
fn queued(desk: &Desk<'_>) -> bool {
    ["gang", "kueue", "suspend"].iter().any(|way| desk.draft.get(&format!("spec.scheduling.{way}")).is_some())
}

/// Why such a job has no launcher of its own.
const FIRST: &str = "a job that waits in a queue is one Indexed Job here, whose first worker launches";

fn implementation(desk: &mut Desk<'_>, node: &Node) {
    match text(node).unwrap_or_default().to_ascii_lowercase().as_str() {
        "openmpi" => desk.needless(node, "the same here by default"),
        "intel" | "intelmpi" => desk.keep(node, "spec.launcher.mpi", "intelmpi"),
        "mpich" => desk.keep(node, "spec.launcher.mpi", "mpich"),
        _ => desk.refuse(node, "OpenMPI, Intel or MPICH"),
    }
}

fn seconds(desk: &mut Desk<'_>, node: &Node, to: &str) {
    if let Some(count) = desk.count(node) {
        match count {
            0 if to.ends_with("deadline") => desk.lose(node, "a deadline of nothing would end the job at once"),
            _ => desk.keep(node, to, format!("{count}s")),
        }
    }
}

fn scheduling(desk: &mut Desk<'_>, node: &Node) {
    if desk.draft.get("spec.scheduling.kueue").is_some() {
        if let Some((node, class)) = node.get("priorityClass").and_then(|node| Some((node, text(node)?)))
            && !class.is_empty()
        {
            desk.keep(node, "spec.placement.priorityClass", class);
        }
        return desk.needless(node, "the job waits in Kueue's queue, which admits all pods or none");
    }
    let how = "the operator's own flag said which gang scheduler; Volcano is taken";
    desk.draft.put("spec.scheduling.gang", "volcano", how);
    for entry in entries(node) {
        match entry.key.as_str() {
            "queue" => match desk.text(&entry.value) {
                Some(queue) if !queue.is_empty() => desk.keep(&entry.value, "spec.scheduling.queue", queue),
                _ => desk.needless(&entry.value, "there is none"),
            },
            "priorityClass" => match desk.text(&entry.value) {
                Some(class) if !class.is_empty() => desk.keep(&entry.value, "spec.placement.priorityClass", class),
                _ => desk.needless(&entry.value, "there is none"),
            },
            "minAvailable" => {
                desk.ledger.settle(&entry.value, Verdict::Changed, "spec.scheduling.gang", "all pods start or none");
            }
            "minResources" => desk.needless(&entry.value, "the gang counts pods"),
            _ => desk.lose(&entry.value, "spec.scheduling has no such setting; a patch over the PodGroup reaches it"),
        }
    }
    desk.ledger.settle(node, Verdict::Changed, "spec.scheduling.gang", how);
}

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

/// The launcher's words as a line that started ranks.
fn launch(job: &Node, launcher: &Replica<'_>, worker: &Replica<'_>, gpus: u32, slots: u32, desk: &mut Desk<'_>) {
    let number = worker.spec.and_then(|spec| spec.get("replicas"));
    let workers = number.map_or(Some(1), |node| desk.count(node)).unwrap_or(1).max(1);
    if let Some(node) = number {
        desk.ledger.settle(node, Verdict::Kept, "spec.workers.replicas", "");
    }
    let also = job.get("spec").and_then(|spec| spec.get("runLauncherAsWorker"));
    let leads = also.is_some_and(|node| desk.yes(node));
    if let Some(node) = also {
        match leads {
            true if queued(desk) => desk.ledger.settle(node, Verdict::Changed, "spec.workers.replicas", FIRST),
            true => desk.ledger.settle(node, Verdict::Kept, "spec.launcher.runsRanks", ""),
            false => desk.needless(node, "the same here"),
        }
    }
    let pods = workers.saturating_add(u32::from(leads));
    let world =
        World { pods, from: "Worker.replicas".to_owned(), without_launcher: leads.then_some(workers), gpus: slots };
    words(launcher, &world, desk);
    if leads && !queued(desk) && desk.draft.get("spec.workers.replicas") == Some(&json!(pods)) {
        desk.draft.put("spec.workers.replicas", workers, "");
        desk.draft.put("spec.launcher.runsRanks", true, "runLauncherAsWorker");
    }
    if desk.draft.get("spec.workers.slots").is_none() && slots != gpus.max(1) {
        let given = job.get("spec").and_then(|spec| spec.get("slotsPerWorker")).is_some();
        let from = if given { "slotsPerWorker" } else { "the operator's default" };
        desk.draft.put("spec.workers.slots", slots, from);
    }
}

/// What a script of the launcher's own finds elsewhere here: the hostfile, and the workers' sshd.
fn script(desk: &mut Desk<'_>, place: &Place) {
    const THEIRS: &str = "/etc/mpi/hostfile";
    let Some(text) = desk.draft.get("spec.command").and_then(Json::as_str).map(str::to_owned) else { return };
    let mut tell = |what: &str, how: &str| {
        let row = desk.ledger.add(format!("{}: {what}", place.path), place.span);
        desk.ledger.settle_row(row, Verdict::Changed, "spec.command", how);
    };
    if text.contains(THEIRS) {
        tell(THEIRS, "it is /horovod/generated/hostfile here");
    }
    if text.contains("ssh -") || text.contains("plm_rsh_args") {
        let how =
            "ssh and mpirun find workers and their port by themselves here: take `-p` out, or it waits for nobody";
        tell("ssh with options", how);
    }
    if text.contains(THEIRS) {
        desk.draft.put("spec.command", text.replace(THEIRS, "/horovod/generated/hostfile"), "Launcher");
    }
}

fn words(launcher: &Replica<'_>, world: &World, desk: &mut Desk<'_>) {
    let parts = ["command", "args"].map(|key| launcher.field(key));
    let all: Vec<Filled> = parts
        .iter()
        .flatten()
        .flat_map(|node| items(node))
        .filter_map(text)
        .map(|word| Filled::new(&word, launcher.container))
        .collect();
    let place = |node: &Node| Place { path: "Launcher".to_owned(), span: node.span };
    if let Some((typed, span)) = desk.typed.clone() {
        launch::line(desk, &typed, &Place { path: "--command".to_owned(), span }, world);
        parts.into_iter().flatten().for_each(|node| desk.replaced(node, "another command was given"));
    } else if let Some(first) = parts.iter().flatten().next().filter(|_| !all.is_empty()) {
        let line = match all.as_slice() {
            [shell, dash, script] if is_shell(&shell.text()) && dash.text() == "-c" => script.text(),
            words => words.iter().map(Filled::word).collect::<Vec<_>>().join(" "),
        };
        launch::line(desk, &line, &place(first), world);
        script(desk, &place(first));
        let to = "spec.command spec.launcher";
        for node in parts.into_iter().flatten() {
            desk.ledger.settle(node, Verdict::Changed, to, "taken apart; khorovod writes the launch itself");
        }
    } else {
        launch::by_hand(desk, "the image's own entry point launched; `--command LINE` puts it here", world);
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
        desk.needless(node, "nothing is given");
    }
}

/// A label or annotation of pods, for which the spec has no word: a patch over what makes them puts it there.
fn on_pods(desk: &mut Desk<'_>, field: &str, entry: &Entry, leads: bool) {
    let Some(value) = desk.text(&entry.value) else { return };
    let target = match (leads, queued(desk)) {
        (true, _) => json!({"kind": "Job", "name": "*-launcher"}),
        (false, true) => json!({"kind": "Job"}),
        (false, false) => json!({"kind": "StatefulSet"}),
    };
    let path = format!("/spec/template/metadata/{field}");
    desk.draft.patch(&target, &path, &entry.key, value);
    desk.ledger.settle(&entry.value, Verdict::Kept, "spec.patches", "");
}
