//! What was rendered earlier, recognised by its labels, so that a change can be judged without the spec it came from:
//! as we wrote it, as Helm or Kustomize passed it on, or as a cluster gives it back.

use serde_json::{Value as Json, json};

use super::change::{Change, Difference, Effect, refusal};
use super::tree::Compare;
use crate::job::quantity::Quantity;
use crate::problem::Span;
use crate::yaml;

/// An object of an earlier or a new render.
#[derive(Debug)]
pub(crate) struct Earlier {
    job: String,
    namespace: Option<String>,
    run: String,
    kind: String,
    name: String,
    value: Json,
    /// Whether a cluster gave it, which fills in defaults.
    given: bool,
}

/// The objects of ours in a stream; none where it holds a spec or other people's objects alone.
pub(crate) fn earlier(text: &str) -> Vec<Earlier> {
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
    objects.filter_map(|object| recognised(&object)).collect()
}

/// What a cluster makes of our objects.
const DERIVED: &[&str] = &["Endpoints", "EndpointSlice"];

fn recognised(object: &Json) -> Option<Earlier> {
    let metadata = &object["metadata"];
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let (kind, name) = (text(&object["kind"])?, text(&metadata["name"])?);
    let job = text(&metadata["labels"]["khorovod.dev/job"])?;
    if DERIVED.contains(&kind.as_str()) || metadata.get("ownerReferences").is_some() {
        return None;
    }
    let run = text(&metadata["labels"]["khorovod.dev/run"]).unwrap_or_default();
    let given = metadata.get("uid").is_some();
    Some(Earlier { job, namespace: text(&metadata["namespace"]), run, kind, name, value: object.clone(), given })
}

impl Earlier {
    /// The same of any run.
    fn of_any_run(&self, run: &str) -> (String, Json) {
        let plain = |text: &str| if run.is_empty() { text.to_owned() } else { text.replace(run, "<run>") };
        let value = serde_json::from_str(&plain(&self.value.to_string())).unwrap_or_else(|_| self.value.clone());
        (plain(&self.name), value)
    }
}

/// What happens to each job when the new objects take the place of the old.
pub(crate) fn against_rendered(old: &[Earlier], new: &[Earlier]) -> Vec<Change> {
    let mut jobs: Vec<(&str, Option<&str>)> = Vec::new();
    for object in new.iter().chain(old) {
        let job = (object.job.as_str(), object.namespace.as_deref());
        if !jobs.contains(&job) {
            jobs.push(job);
        }
    }
    jobs.into_iter().map(|job| change(job, &of(old, job), &of(new, job))).collect()
}

fn of<'a>(all: &'a [Earlier], job: (&str, Option<&str>)) -> Vec<&'a Earlier> {
    all.iter().filter(|object| (object.job.as_str(), object.namespace.as_deref()) == job).collect()
}

/// What becomes of a difference.
enum Verdict {
    Because,
    InPlace,
    Refused,
    Same,
}

fn change((job, namespace): (&str, Option<&str>), old: &[&Earlier], new: &[&Earlier]) -> Change {
    let mut change = Change::bare(job, namespace, Effect::Nothing);
    if old.is_empty() || new.is_empty() {
        change.effect = if old.is_empty() { Effect::New } else { Effect::Gone };
        return change;
    }
    let run = |objects: &[&Earlier]| {
        objects.iter().map(|object| object.run.as_str()).find(|run| !run.is_empty()).unwrap_or_default().to_owned()
    };
    let (old_run, new_run) = (run(old), run(new));
    let restarts = old_run != new_run;
    let mut before: Vec<_> = old.iter().map(|object| (*object, object.of_any_run(&old_run))).collect();
    for object in new {
        let (name, value) = object.of_any_run(&new_run);
        let place = format!("{} {name}", object.kind);
        let of_run = restarts && !object.run.is_empty();
        let Some(at) = before.iter().position(|(other, (called, _))| other.kind == object.kind && *called == name)
        else {
            change.sort(of_run, Difference { path: place, old: None, new: Some("new".to_owned()) });
            continue;
        };
        let (other, (_, earlier)) = before.remove(at);
        // A Secret's data is nobody's business, and never restarts anything.
        if object.kind == "Secret" {
            continue;
        }
        for found in Compare::values(other.given, &earlier, &value) {
            let verdict = judge(&object.kind, &found, of_run, &value);
            let found = Difference { path: format!("{place}: {}", found.path), ..found };
            match verdict {
                Verdict::Because => change.because.push(found),
                Verdict::InPlace => change.in_place.push(found),
                Verdict::Refused => change.refused.push(refusal(&found, keeps(&object.kind))),
                Verdict::Same => {}
            }
        }
    }
    for (object, (name, _)) in before {
        // What a new run leaves behind is the old run's own.
        let of_run = restarts && !object.run.is_empty();
        let (path, there) = (format!("{} {name}", object.kind), Some("there".to_owned()));
        change.sort(of_run, Difference { path, old: there, new: None });
        if !of_run {
            change.notes =
                vec!["what is left out: tools that prune delete it, kubectl apply leaves it there".to_owned()];
        }
    }
    if restarts {
        change.effect = Effect::Restarts;
        change.say_something();
    } else if !change.in_place.is_empty() || !change.refused.is_empty() {
        change.effect = Effect::InPlace;
    }
    change
}

fn judge(kind: &str, found: &Difference, of_run: bool, new: &Json) -> Verdict {
    let path = found.path.as_str();
    let labels = path.starts_with("metadata");
    let begins = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
    let limits = ["spec.activeDeadlineSeconds", "spec.ttlSecondsAfterFinished", "spec.suspend"];
    match kind {
        _ if path.starts_with("metadata.annotations[kubectl.kubernetes.io/") => Verdict::Same,
        "PersistentVolumeClaim" if path == "spec.resources.requests.storage" => {
            let size = |text: &Option<String>| text.as_deref().and_then(Quantity::parse).map(|size| size.milli());
            match size(&found.old).cmp(&size(&found.new)) {
                std::cmp::Ordering::Less => Verdict::InPlace,
                std::cmp::Ordering::Equal => Verdict::Same,
                std::cmp::Ordering::Greater => Verdict::Refused,
            }
        }
        "PersistentVolumeClaim" if !labels => Verdict::Refused,
        "RoleBinding" if path.starts_with("roleRef") && !of_run => Verdict::Refused,
        "Job" if begins(&limits) => Verdict::InPlace,
        _ if of_run && labels => Verdict::InPlace,
        _ if of_run => Verdict::Because,
        "Job" if begins(&["spec.template", "spec.selector", "spec.completion"]) => Verdict::Refused,
        "StatefulSet" if begins(&["spec.selector", "spec.serviceName", "spec.volumeClaim", "spec.podManagement"]) => {
            Verdict::Refused
        }
        "ConfigMap" if new["immutable"] == json!(true) && path.starts_with("data") => Verdict::Refused,
        _ => Verdict::InPlace,
    }
}

/// Why Kubernetes refuses.
fn keeps(kind: &str) -> &'static str {
    match kind {
        "PersistentVolumeClaim" => "a claim keeps what it was made with, and may only grow",
        _ => "it keeps what it was made with",
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

    fn judged(old: &str, new: &str) -> Change {
        let mut all = against_rendered(&earlier(old), &earlier(new));
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn a_new_run_names_its_reason() {
        let change = judged(&objects("bcdfgh", "a:1", "1Ti", "fast"), &objects("zzzzzz", "a:2", "1Ti", "fast"));
        assert_eq!(change.effect, Effect::Restarts);
        assert_eq!(change.because.len(), 1);
        assert_eq!(change.because[0].path, "StatefulSet j-<run>-worker: spec.template.spec.containers.worker.image");
        assert_eq!(change.because[0].new.as_deref(), Some("a:2"));
    }

    #[test]
    fn claims_grow_but_do_not_change() {
        let old = objects("bcdfgh", "a:1", "1Ti", "fast");
        let grown = judged(&old, &objects("bcdfgh", "a:1", "2Ti", "fast"));
        assert_eq!((grown.effect, grown.refused.len(), grown.in_place.len()), (Effect::InPlace, 0, 1));
        let moved = judged(&old, &objects("bcdfgh", "a:1", "1Ti", "slow"));
        assert_eq!((moved.refused.len(), moved.in_place.len()), (1, 0));
        let shrunk = judged(&old, &objects("bcdfgh", "a:1", "512Gi", "fast"));
        assert_eq!((shrunk.refused.len(), shrunk.in_place.len()), (1, 0));
        for same in ["1Ti", "1024Gi"] {
            assert_eq!(judged(&old, &objects("bcdfgh", "a:1", same, "fast")).effect, Effect::Nothing);
        }
        let labelled = old.replacen("  labels:\n", "  labels:\n    team: vision\n", 1);
        let labelled = judged(&old, &labelled);
        assert_eq!((labelled.refused.len(), labelled.in_place.len()), (0, 1));
    }

    #[test]
    fn what_is_no_longer_rendered_is_told() {
        let old = objects("bcdfgh", "a:1", "1Ti", "fast");
        let (_, set) = old.split_once("---\n").unwrap();
        let change = judged(&old, set);
        assert_eq!((change.effect, change.notes.len()), (Effect::InPlace, 1));
        assert_eq!(
            (change.in_place[0].path.as_str(), &change.in_place[0].new),
            ("PersistentVolumeClaim j-data", &None)
        );
    }

    #[test]
    fn who_wrote_them_is_no_difference() {
        let old = objects("bcdfgh", "a:1", "1Ti", "fast");
        // Helm's comments; a list as kubectl gives it, with what the cluster filled in.
        let helm = old.replace("---\n", "---\n# Source: job/templates/job.yaml\n");
        let items: Vec<Json> = earlier(&old)
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
            assert_eq!(judged(&old, &objects("bcdfgh", "a:1", "1Ti", "fast")).effect, Effect::Nothing, "{old}");
            assert_eq!(judged(&old, &objects("zzzzzz", "a:2", "1Ti", "fast")).because.len(), 1, "{old}");
        }
    }

    #[test]
    fn another_namespace_is_another_job() {
        let old =
            objects("bcdfgh", "a:1", "1Ti", "fast").replace("---\n", "subjects:\n- kind: A\n  namespace: b\n---\n");
        let new = old.replace("metadata:\n", "metadata:\n  namespace: team\n");
        let all = against_rendered(&earlier(&old), &earlier(&new));
        let told: Vec<_> = all.iter().map(|change| (change.namespace.as_deref(), change.effect)).collect();
        assert_eq!(told, [(Some("team"), Effect::New), (None, Effect::Gone)]);
    }

    #[test]
    fn strangers_are_not_ours() {
        assert!(earlier("kind: ConfigMap\nmetadata:\n  name: x\n").is_empty());
    }
}
