//! Checks `spec.patches` against the objects of a job: each patch must select an object, and must not make an object invalid. See
//! [`check`], which runs on a valid job before anything is rendered.

use serde_json::Value as Json;

use super::{fixed_fields, keys, plan};
use crate::api::Inputs;
use crate::job::Facts;
use crate::job::valid::{Patch, Spec};
use crate::kubernetes::{self, Object};
use crate::plan::Document;
use crate::problem::{Problem, codes};
use crate::yaml::{Kind, Node};

codes! {
    /// A patch that selects no object
    ///
    /// The job has no object with the kind and name of the patch's `target`. `khorovod plan` lists the objects. `kind: Pod`
    /// selects the pod templates, in the objects of every target.
    Error UNUSED_PATCH = "unused-patch";

    /// A patch that would make its object invalid
    ///
    /// A merge patch merges maps, removes a field that is `null`, and replaces any other value. These rules apply:
    /// - A map must remain a map, and a list must remain a list.
    /// - A list is replaced as a whole, so each container in it needs all its fields again, and khorovod's containers and
    ///   volumes must remain.
    /// - `apiVersion`, `kind`, name and namespace must remain, because other objects refer to them. The same applies to
    ///   selectors, khorovod's labels, and the number of pods.
    ///
    /// `khorovod render` shows the objects.
    Error BROKEN_PATCH = "broken-patch";
}

/// The patches of a document as nodes, with spans.
pub fn patch_nodes(document: &Node) -> Vec<Node> {
    document.get("spec").and_then(|spec| spec.get("patches")).map_or(&[][..], Node::items).to_vec()
}

/// Reports the patches of a job that select no object or make one invalid.
pub fn check(spec: &Spec, kept: &Document, written: &[Node], inputs: &Inputs, problems: &mut Vec<Problem>) {
    // A script has no objects; a note already reports that patches have no effect.
    if written.is_empty() || !spec.target.has_pods {
        return;
    }
    let (mut plan, files) = plan(spec.clone(), kept.clone());
    let keys = keys(&plan, &inputs.keys);
    // Build the objects without patches. Their names are those of the run with all patches.
    let patches = std::mem::take(&mut plan.spec.patches);
    let output = inputs.target.build(&plan, &files, &keys);
    let mut objects: Vec<_> = output.objects().iter().map(|object| (object, kubernetes::json(object))).collect();
    for (patch, node) in patches.iter().zip(written) {
        let (mut is_used, mut is_reported) = (false, false);
        for (object, whole) in &mut objects {
            let kind = if patch.kind.as_deref() == Some("Pod") { "Pod" } else { object.kind };
            for part in kubernetes::patched_parts(patch, object, whole) {
                let before = part.clone();
                is_used = true;
                kubernetes::merge(part, &patch.patch);
                let Some(body) = node.get("patch").filter(|_| !is_reported) else { continue };
                let problem = find_conflict(body, &before, kind, &mut Vec::new()).or_else(|| {
                    let (span, message, hint) = fixed_fields::find_change(body, &before, part, kind)?;
                    Some(Problem::new(&BROKEN_PATCH, span, message).hint(hint))
                });
                is_reported = problem.is_some();
                problems.extend(problem);
            }
        }
        if !is_used {
            let place = node.get("target").map_or(node.span, |target| target.span);
            let problem = Problem::new(&UNUSED_PATCH, place, "the patch selects no object of this job");
            problems.push(problem.hint(hint_for_target(patch, plan.spec.target, output.objects())));
        }
    }
}

/// The hint for a patch that selects no object.
fn hint_for_target(patch: &Patch, target: &Facts, objects: &[Object<'_>]) -> String {
    let plan = if target.own_workloads { "plan".to_owned() } else { format!("plan --target {}", target.name) };
    let lists = format!("`khorovod {plan}` lists the objects");
    let kind = patch.kind.as_deref();
    let has_kind = objects.iter().any(|object| kind == Some(object.kind));
    match kind {
        Some("StatefulSet" | "Job") if !has_kind || !target.own_workloads => format!(
            "use the target `{{kind: Pod, name: \"*-worker\"}}` or `*-launcher`, which selects pod templates for every \
             `--target`, and write the patch relative to the field `template`; {lists}"
        ),
        Some(kind) if kind != "Pod" && !has_kind => format!("there is no {kind}; {lists}"),
        _ => format!("names contain the name of the run: use `*` in its place, as in `mnist-*-worker`; {lists}"),
    }
}

/// The problem of a part of a patch with the part of an object at the same path, if there is one.
fn find_conflict<'p>(part: &'p Node, object: &Json, kind: &str, path: &mut Vec<&'p str>) -> Option<Problem> {
    let broken =
        |place: &Node, message: String, hint: &str| Some(Problem::new(&BROKEN_PATCH, place.span, message).hint(hint));
    let at = path.join(".");
    if let Some(hint) = fixed_field_hint(path)
        && part.to_json() != *object
    {
        return broken(part, format!("the patch changes `{at}` of a {kind}, which identifies the object"), hint);
    }
    let expected = match (&part.kind, object) {
        (Kind::Map(entries), Json::Object(fields)) => {
            return entries.iter().find_map(|entry| {
                path.push(&entry.key);
                // An identifying field counts as present even if the object does not have it, so that it cannot be added.
                let field = fields.get(&entry.key).or(fixed_field_hint(path).map(|_| &Json::Null));
                let found = field.and_then(|field| find_conflict(&entry.value, field, kind, path));
                path.pop();
                found
            });
        }
        (Kind::List(items), Json::Array(_)) if matches!(path.last(), Some(&("containers" | "initContainers"))) => {
            let missing_key = |item: &Node| ["name", "image"].into_iter().find(|key| item.get(key).is_none());
            let (container, key) = items.iter().find_map(|item| Some((item, missing_key(item)?)))?;
            let message = format!("the patch replaces the whole list `{at}`, but this container has no `{key}`");
            let hint = "write all fields of each container, as `khorovod render` prints them, or use a field of the spec, such as `env`, `storage` or `security`";
            return broken(container, message, hint);
        }
        (Kind::Scalar { .. }, _) if part.to_json().is_null() && at != "metadata" => return None,
        (Kind::List(_), Json::Array(_)) | (_, Json::Null) => return None,
        (_, Json::Object(_)) => "a map",
        (_, Json::Array(_)) => "a list",
        (Kind::Scalar { .. }, _) => return None,
        _ => "a single value",
    };
    let message = format!("`{at}` of a {kind} is {expected}, but the patch has {}", part.describe());
    broken(part, message, "`khorovod render` shows the object")
}

/// The hint for a patch of a field that identifies the object; `None` for any other field.
fn fixed_field_hint(path: &[&str]) -> Option<&'static str> {
    match path {
        ["apiVersion" | "kind"] => Some("remove it: `target` selects the object"),
        ["metadata", "name"] => {
            Some("remove it: `target` selects the object, and the names of objects come from `metadata.name`")
        }
        ["metadata", "namespace"] => {
            Some("remove it, and set `metadata.namespace` of the TrainingJob, which applies to all objects")
        }
        _ => None,
    }
}
