//! Compares objects that were rendered earlier with new ones, if the old spec is not available. See
//! [`against_rendered`].
//!
//! The objects of a job are recognised by their labels. They may come from `khorovod render`, from Helm or Kustomize, or from
//! a cluster (`kubectl get -o yaml`).

use serde_json::{Value as Json, json};

use super::change::{Change, Difference, Effect, NOTE_ON_EARLIER_RUN, between_plans, refusal};
use super::commands;
use super::compare::Compare;
use crate::job::quantity::Quantity;
use crate::plan::Plan;
use crate::problem::Span;
use crate::yaml;

/// A rendered object of a job.
#[derive(Debug)]
pub(crate) struct JobObject {
    job: String,
    namespace: Option<String>,
    run: String,
    kind: String,
    name: String,
    value: Json,
    /// Whether the object was read from a cluster, which adds defaults.
    is_from_cluster: bool,
}

/// The rendered objects of jobs in a stream. Empty if the stream has only specs or other objects.
pub(crate) fn job_objects(text: &str) -> Vec<JobObject> {
    if !text.contains("khorovod.dev/job") {
        return Vec::new();
    }
    let documents = yaml::pieces(text).into_iter().filter_map(|piece| {
        let body = &text[piece.body];
        let span = Span { source: 0, start: 0, end: body.len() };
        Some(yaml::parse(body, span, &mut Vec::new()).ok()??.to_json())
    });
    let objects = documents.flat_map(|document| match document["items"].as_array() {
        Some(items) if document["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => items.clone(),
        _ => vec![document],
    });
    objects.filter_map(|object| recognise(&object)).collect()
}

/// The specs that the objects contain, as a stream of documents. Objects of a job whose spec was left out contain none.
pub(crate) fn stored_specs(objects: &[JobObject]) -> String {
    let specs = objects.iter().filter_map(|object| object.value["metadata"]["annotations"][SPEC].as_str());
    specs.flat_map(|spec| ["---\n", spec, "\n"]).collect()
}

/// Replaces the reasons for a new run by fields of the specs, if the old objects contain their spec. Fields are shorter to read than
/// the objects that follow from them. `old` has the plans of the specs that `objects` contain.
pub(crate) fn explain_by_fields(changes: &mut [Change], objects: &[JobObject], old: &[Plan], new: &[Plan]) {
    for change in changes.iter_mut().filter(|change| change.effect == Effect::Restarts) {
        let (Some(before), Some(after)) = (only_plan(old, change), only_plan(new, change)) else { continue };
        let fields = between_plans(before, after);
        if fields.effect != Effect::Restarts {
            continue;
        }
        let is_same_version =
            objects.iter().any(|object| object.job == change.job && object.run == before.run.as_str());
        change.because = fields.because;
        if !is_same_version {
            change.because.push(Difference { path: "the version of khorovod".to_owned(), old: None, new: None });
        }
    }
}

/// The plan of the job of a change, if no other plan may be meant.
fn only_plan<'a>(plans: &'a [Plan], change: &Change) -> Option<&'a Plan> {
    let is_of = |plan: &&Plan| {
        plan.spec.name == change.job && (plan.spec.namespace.is_none() || plan.spec.namespace == change.namespace)
    };
    let mut found = plans.iter().filter(is_of);
    found.next().filter(|_| found.next().is_none())
}

/// The API groups of the objects. They identify the target that a run was rendered for.
pub(crate) fn api_groups(objects: &[JobObject]) -> impl Iterator<Item = &str> {
    objects.iter().filter_map(|object| Some(object.value["apiVersion"].as_str()?.split_once('/')?.0))
}

/// The annotation of a rendered object that contains the spec of the job, as JSON.
const SPEC: &str = "khorovod.dev/spec";

/// The kinds of objects that a cluster creates from rendered objects, with the labels of the rendered objects.
const DERIVED: &[&str] = &["Endpoints", "EndpointSlice"];

/// The kinds of objects that start the pods of a run.
const WORKLOADS: &[&str] = &["Job", "MPIJob", "JobSet", "TrainJob"];

/// Recognises a rendered object by its labels. Objects that a controller created are ignored.
fn recognise(object: &Json) -> Option<JobObject> {
    let metadata = &object["metadata"];
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let (kind, name) = (text(&object["kind"])?, text(&metadata["name"])?);
    let job = text(&metadata["labels"]["khorovod.dev/job"])?;
    if DERIVED.contains(&kind.as_str()) || metadata.get("ownerReferences").is_some() {
        return None;
    }
    let run = text(&metadata["labels"]["khorovod.dev/run"]).unwrap_or_default();
    let is_from_cluster = metadata.get("uid").is_some();
    Some(JobObject {
        job,
        namespace: text(&metadata["namespace"]),
        run,
        kind,
        name,
        value: object.clone(),
        is_from_cluster,
    })
}

impl JobObject {
    /// The name and the value of the object, with the name of the run replaced by `<run>`, so that two runs can be compared.
    fn without_run_name(&self, run: &str) -> (String, Json) {
        let replaced = |text: &str| if run.is_empty() { text.to_owned() } else { text.replace(run, "<run>") };
        (replaced(&self.name), with_texts(&self.value, &replaced))
    }
}

/// A value with every text in it, and every key, passed through `change`.
fn with_texts(value: &Json, change: &dyn Fn(&str) -> String) -> Json {
    match value {
        Json::String(text) => Json::String(change(text)),
        Json::Array(items) => items.iter().map(|item| with_texts(item, change)).collect(),
        Json::Object(map) => map.iter().map(|(key, value)| (change(key), with_texts(value, change))).collect(),
        other => other.clone(),
    }
}

/// The name and the namespace of a job.
type JobKey<'a> = (&'a str, Option<&'a str>);

/// The change of each job between two lists of objects. Jobs are matched by name and namespace. In a cluster every
/// object has a namespace, so a new job without a namespace also matches a job of the same name from a cluster, if that
/// name occurs in only one namespace.
pub(crate) fn against_rendered(old: &[JobObject], new: &[JobObject]) -> Vec<Change> {
    let old_jobs: Vec<(JobKey, &JobObject)> = old.iter().map(|object| (key(object), object)).collect();
    let new_jobs: Vec<(JobKey, &JobObject)> = new.iter().map(|object| (matching(object, old), object)).collect();
    let mut jobs: Vec<JobKey> = Vec::new();
    for (job, _) in new_jobs.iter().chain(&old_jobs) {
        if !jobs.contains(job) {
            jobs.push(*job);
        }
    }
    jobs.into_iter().map(|job| change(job, &objects_of(&old_jobs, job), &objects_of(&new_jobs, job))).collect()
}

/// The job of an object.
fn key(object: &JobObject) -> JobKey<'_> {
    (&object.job, object.namespace.as_deref())
}

/// The job in the old objects that a new object belongs to.
fn matching<'a>(object: &'a JobObject, old: &'a [JobObject]) -> JobKey<'a> {
    if object.namespace.is_some() {
        return key(object);
    }
    let mut namespaces: Vec<_> =
        old.iter().filter(|other| other.job == object.job).map(|other| &other.namespace).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    match namespaces.as_slice() {
        [Some(only)] if old.iter().any(|other| other.job == object.job && other.is_from_cluster) => {
            (&object.job, Some(only))
        }
        _ => key(object),
    }
}

/// The objects of one job.
fn objects_of<'a>(all: &[(JobKey, &'a JobObject)], job: JobKey) -> Vec<&'a JobObject> {
    all.iter().filter(|(of, _)| *of == job).map(|(_, object)| *object).collect()
}

/// The consequence of a difference.
enum Consequence {
    /// It starts a new run.
    NewRun,
    /// Kubernetes changes the object in place.
    InPlace,
    /// Kubernetes rejects the change.
    Refused,
    /// The two values have the same meaning.
    Same,
}

/// Compares the old and the new objects of one job.
fn change((job, namespace): (&str, Option<&str>), old: &[&JobObject], new: &[&JobObject]) -> Change {
    let mut change = Change::without_differences(job, namespace, Effect::Nothing);
    if old.is_empty() || new.is_empty() {
        change.effect = if old.is_empty() { Effect::New } else { Effect::Gone };
        change.delete = (!old.is_empty()).then(|| {
            let kinds = old.iter().map(|object| {
                let version = object.value["apiVersion"].as_str().unwrap_or_default();
                (object.kind.as_str(), version.split_once('/').map_or("", |(group, _)| group))
            });
            commands::delete(job, namespace, kinds)
        });
        return change;
    }
    let run = |objects: &[&JobObject]| {
        // The ConfigMap `<job>-current` belongs to no run and contains the name of the current one. A cluster may also
        // have objects of other runs.
        let current = objects.iter().find_map(|object| object.value["data"]["run"].as_str());
        let labels = || objects.iter().map(|object| object.run.as_str()).find(|run| !run.is_empty());
        current.or_else(labels).unwrap_or_default().to_owned()
    };
    let (old_run, new_run) = (run(old), run(new));
    let restarts = old_run != new_run;
    let has_run_before = old.iter().any(|object| object.run == new_run && WORKLOADS.contains(&object.kind.as_str()));
    let is_current = |object: &&&JobObject| object.run.is_empty() || object.run == old_run;
    let mut before: Vec<_> =
        old.iter().filter(is_current).map(|object| (*object, object.without_run_name(&old_run))).collect();
    // If the old objects were rendered with `--no-keys`, they have no Secret.
    let has_keys = old.iter().any(|object| object.kind == "Secret");
    for object in new.iter().filter(|object| has_keys || object.kind != "Secret") {
        let (name, value) = object.without_run_name(&new_run);
        let place = format!("{} {name}", object.kind);
        let is_of_new_run = restarts && !object.run.is_empty();
        let Some(at) =
            before.iter().position(|(other, (other_name, _))| other.kind == object.kind && *other_name == name)
        else {
            change.add(is_of_new_run, Difference { path: place, old: None, new: Some("new".to_owned()) });
            continue;
        };
        let (other, (_, earlier)) = before.remove(at);
        // The data of Secrets is not compared, because it must not be shown, and `plan` may have no keys. If the keys
        // of one run differ, Kubernetes refuses the new Secret.
        if object.kind == "Secret" {
            continue;
        }
        for found in Compare::values(other.is_from_cluster, &earlier, &value) {
            let consequence = consequence_of(&object.kind, &found, is_of_new_run, &value);
            let found = Difference { path: format!("{place}: {}", found.path), ..found };
            match consequence {
                Consequence::NewRun => change.because.push(found),
                Consequence::InPlace => change.in_place.push(found),
                Consequence::Refused => change.refused.push(refusal(&found, rejection_reason(&object.kind))),
                Consequence::Same => {}
            }
        }
    }
    for (object, (name, _)) in before {
        // An object that belongs to the old run is replaced together with the run.
        let is_of_new_run = restarts && !object.run.is_empty();
        let (path, present) = (format!("{} {name}", object.kind), Some("present".to_owned()));
        change.add(is_of_new_run, Difference { path, old: present, new: None });
        if !is_of_new_run {
            change.notes = vec![
                "objects that are no longer rendered: tools that prune delete them, kubectl apply keeps them"
                    .to_owned(),
            ];
        }
    }
    if restarts {
        change.effect = Effect::Restarts;
        change.notes.push(match has_run_before {
            true => format!(
                "run {new_run} exists since an earlier apply: kubectl apply ends the current run, and starts nothing if the Job of run \
                 {new_run} has ended; change spec.runTag to start a new run"
            ),
            false => NOTE_ON_EARLIER_RUN.to_owned(),
        });
        change.ensure_reason();
    } else {
        change.set_effect();
    }
    change
}

/// The consequence of one difference. `new` is the new object.
fn consequence_of(kind: &str, found: &Difference, is_of_new_run: bool, new: &Json) -> Consequence {
    let path = found.path.as_str();
    let is_metadata = path.starts_with("metadata");
    let starts_with_any = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
    let limits = ["spec.activeDeadlineSeconds", "spec.ttlSecondsAfterFinished", "spec.suspend"];
    match kind {
        _ if path.starts_with("metadata.annotations[kubectl.kubernetes.io/") => Consequence::Same,
        // This annotation contains the spec, whose differences are listed separately.
        _ if path.starts_with("metadata.annotations[khorovod.dev/spec") => Consequence::Same,
        // If the target differs, the differences of its objects are listed separately too.
        _ if path.starts_with("metadata.annotations[khorovod.dev/target") => Consequence::Same,
        "PersistentVolumeClaim" if path == "spec.resources.requests.storage" => {
            let size = |text: &Option<String>| text.as_deref().and_then(Quantity::parse).map(|size| size.milli());
            match size(&found.old).cmp(&size(&found.new)) {
                std::cmp::Ordering::Less => Consequence::InPlace,
                std::cmp::Ordering::Equal => Consequence::Same,
                std::cmp::Ordering::Greater => Consequence::Refused,
            }
        }
        "PersistentVolumeClaim" if !is_metadata => Consequence::Refused,
        "RoleBinding" | "ClusterRoleBinding" if path.starts_with("roleRef") && !is_of_new_run => Consequence::Refused,
        "Job" if starts_with_any(&limits) => Consequence::InPlace,
        _ if is_of_new_run && is_metadata => Consequence::InPlace,
        _ if is_of_new_run => Consequence::NewRun,
        "Job" if starts_with_any(&["spec.template", "spec.selector", "spec.completion"]) => Consequence::Refused,
        "StatefulSet"
            if starts_with_any(&["spec.selector", "spec.serviceName", "spec.volumeClaim", "spec.podManagement"]) =>
        {
            Consequence::Refused
        }
        "ConfigMap" if new["immutable"] == json!(true) && path.starts_with("data") => Consequence::Refused,
        _ => Consequence::InPlace,
    }
}

/// Why Kubernetes rejects a change of an object of this kind.
fn rejection_reason(kind: &str) -> &'static str {
    match kind {
        "PersistentVolumeClaim" => "a PersistentVolumeClaim cannot be changed, except to a larger size",
        _ => "Kubernetes does not allow this field to be changed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(run: &str, image: &str, size: &str, class: &str) -> String {
        format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: j-data\n  labels:\n    khorovod.dev/job: j\nspec:\n  \
             storageClassName: {class}\n  resources:\n    requests:\n      storage: {size}\n---\n\
             apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: j-{run}-worker\n  labels:\n    khorovod.dev/job: j\n    \
             khorovod.dev/run: {run}\nspec:\n  template:\n    spec:\n      containers:\n        - name: worker\n          image: {image}\n---\nkind: Other\n"
        )
    }

    fn change_between(old: &str, new: &str) -> Change {
        let mut changes = against_rendered(&job_objects(old), &job_objects(new));
        assert_eq!(changes.len(), 1);
        changes.remove(0)
    }

    #[test]
    fn a_new_run_has_a_reason() {
        let change = change_between(&objects("bcdfgh", "a:1", "1Ti", "fast"), &objects("zzzzzz", "a:2", "1Ti", "fast"));
        assert_eq!(change.effect, Effect::Restarts);
        assert_eq!(change.because.len(), 1);
        assert_eq!(change.because[0].path, "StatefulSet j-<run>-worker: spec.template.spec.containers.worker.image");
        assert_eq!(change.because[0].new.as_deref(), Some("a:2"));
    }

    #[test]
    fn a_claim_may_only_grow() {
        let old = objects("bcdfgh", "a:1", "1Ti", "fast");
        let grown = change_between(&old, &objects("bcdfgh", "a:1", "2Ti", "fast"));
        assert_eq!((grown.effect, grown.refused.len(), grown.in_place.len()), (Effect::InPlace, 0, 1));
        let moved = change_between(&old, &objects("bcdfgh", "a:1", "1Ti", "slow"));
        assert_eq!((moved.refused.len(), moved.in_place.len()), (1, 0));
        let shrunk = change_between(&old, &objects("bcdfgh", "a:1", "512Gi", "fast"));
        assert_eq!((shrunk.refused.len(), shrunk.in_place.len()), (1, 0));
        for same in ["1Ti", "1024Gi"] {
            assert_eq!(change_between(&old, &objects("bcdfgh", "a:1", same, "fast")).effect, Effect::Nothing);
        }
        let labelled = old.replacen("  labels:\n", "  labels:\n    team: vision\n", 1);
        let labelled = change_between(&old, &labelled);
        assert_eq!((labelled.refused.len(), labelled.in_place.len()), (0, 1));
    }

    #[test]
    fn an_object_that_is_no_longer_rendered_is_reported() {
        let old = objects("bcdfgh", "a:1", "1Ti", "fast");
        let (_, set) = old.split_once("---\n").unwrap();
        let change = change_between(&old, set);
        assert_eq!((change.effect, change.notes.len()), (Effect::InPlace, 1));
        assert_eq!(
            (change.in_place[0].path.as_str(), &change.in_place[0].new),
            ("PersistentVolumeClaim j-data", &None)
        );
    }

    #[test]
    fn output_of_helm_and_kubectl_compares_equal() {
        let old = objects("bcdfgh", "a:1", "1Ti", "fast");
        // Helm adds comments. kubectl prints a list, and the cluster adds fields.
        let helm = old.replace("---\n", "---\n# Source: job/templates/job.yaml\n");
        let items: Vec<Json> = job_objects(&old)
            .into_iter()
            .map(|object| {
                let mut value = object.value;
                value["metadata"]["uid"] = json!("1");
                value["status"] = json!({"phase": "Bound"});
                value
            })
            .collect();
        let list = json!({"kind": "List", "items": items}).to_string();
        for old in [helm, list] {
            assert_eq!(change_between(&old, &objects("bcdfgh", "a:1", "1Ti", "fast")).effect, Effect::Nothing, "{old}");
            assert_eq!(change_between(&old, &objects("zzzzzz", "a:2", "1Ti", "fast")).because.len(), 1, "{old}");
        }
    }

    #[test]
    fn jobs_in_different_namespaces_are_different() {
        let old =
            objects("bcdfgh", "a:1", "1Ti", "fast").replace("---\n", "subjects:\n- kind: A\n  namespace: b\n---\n");
        let new = old.replace("metadata:\n", "metadata:\n  namespace: team\n");
        let all = against_rendered(&job_objects(&old), &job_objects(&new));
        let effects: Vec<_> = all.iter().map(|change| (change.namespace.as_deref(), change.effect)).collect();
        assert_eq!(effects, [(Some("team"), Effect::New), (None, Effect::Gone)]);
    }

    #[test]
    fn a_job_without_a_namespace_matches_the_only_one_in_a_cluster() {
        let new = objects("bcdfgh", "a:1", "1Ti", "fast");
        let live =
            |namespace: &str| new.replace("metadata:\n", &format!("metadata:\n  uid: 1a\n  namespace: {namespace}\n"));
        let effects = |old: &str| -> Vec<_> {
            let all = against_rendered(&job_objects(old), &job_objects(&new));
            all.into_iter().map(|change| (change.namespace, change.effect)).collect()
        };
        let team = Some("team".to_owned());
        assert_eq!(effects(&live("team")), [(team.clone(), Effect::Nothing)]);
        let two = format!("{}---\n{}", live("team"), live("other"));
        assert_eq!(
            effects(&two),
            [(None, Effect::New), (team, Effect::Gone), (Some("other".to_owned()), Effect::Gone)]
        );
    }

    #[test]
    fn objects_without_labels_are_ignored() {
        assert!(job_objects("kind: ConfigMap\nmetadata:\n  name: x\n").is_empty());
    }
}
