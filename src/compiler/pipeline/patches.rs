//! Whether a job's patches fit what they are laid over: some object takes each, and none becomes what no object can be.
//! Looked at when the job is known to hold, before anything is rendered.

use serde_json::Value as Json;

use super::{keys, plan};
use crate::api::Inputs;
use crate::job::Facts;
use crate::job::valid::{Patch, Spec};
use crate::kubernetes::{self, Object};
use crate::problem::{Problem, codes};
use crate::yaml::{Kind, Node};

codes! {
    /// A patch that no object takes
    ///
    /// Its target names a kind or a name that this job does not render. `khorovod plan` lists the
    /// objects; `kind: Pod` are the pods, wherever a target puts them.
    Error UNUSED_PATCH = "unused-patch";

    /// A patch that would break its object
    ///
    /// A merge patch merges maps, takes away what is null, and replaces all else. What has a map stays a map and what has a
    /// list a list, as Kubernetes knows no other; a list is replaced whole, so that containers need their name and image
    /// again; and `apiVersion`, `kind`, name and namespace stay, as other objects go by them. `khorovod render` shows what is
    /// there to patch.
    Error BROKEN_PATCH = "broken-patch";
}

/// The patches of a document, as they stand.
pub fn of(document: &Node) -> Vec<Node> {
    match document.get("spec").and_then(|spec| spec.get("patches")).map(|node| &node.kind) {
        Some(Kind::List(patches)) => patches.clone(),
        _ => Vec::new(),
    }
}

/// Checks the patches of a spec; `written` are their nodes in the document.
pub fn check(spec: &Spec, written: &[Node], inputs: &Inputs, problems: &mut Vec<Problem>) {
    // A script takes none, which a note says.
    if written.is_empty() || !spec.target.has_pods {
        return;
    }
    let (mut plan, files) = plan(spec.clone());
    let keys = keys(&plan, &inputs.keys);
    // The objects before any patch, under the names that they have with all.
    let patches = std::mem::take(&mut plan.spec.patches);
    let made = inputs.target.build(&plan, &files, &keys);
    let mut objects: Vec<_> = made.objects().iter().map(|object| (object, kubernetes::json(object))).collect();
    for (patch, stands) in patches.iter().zip(written) {
        let (mut used, mut broken) = (false, false);
        for (object, whole) in &mut objects {
            let kind = if patch.kind.as_deref() == Some("Pod") { "Pod" } else { object.kind };
            for part in kubernetes::reached(patch, object, whole) {
                if let (false, Some(laid)) = (broken, stands.get("patch"))
                    && let Some(problem) = breaks(laid, part, kind, &mut Vec::new())
                {
                    broken = true;
                    problems.push(problem);
                }
                used = true;
                kubernetes::merge(part, &patch.patch);
            }
        }
        if !used {
            let place = stands.get("target").map_or(stands.span, |target| target.span);
            let problem = Problem::new(&UNUSED_PATCH, place, "no object of this job takes the patch");
            problems.push(problem.hint(way_out(patch, plan.spec.target, made.objects())));
        }
    }
}

/// How a patch that nothing takes would be.
fn way_out(patch: &Patch, target: &Facts, made: &[Object<'_>]) -> String {
    let plan = if target.own_workloads { "plan".to_owned() } else { format!("plan --target {}", target.name) };
    let lists = format!("`khorovod {plan}` lists the objects");
    let kind = patch.kind.as_deref();
    let there = made.iter().any(|object| kind == Some(object.kind));
    match kind {
        Some("StatefulSet" | "Job") if !there || !target.own_workloads => format!(
            "write `{{kind: Pod, name: \"*-worker\"}}`, or `*-launcher`, and as the patch what stands under `template`: \
             that reaches the pods under every target; {lists}"
        ),
        Some(kind) if kind != "Pod" && !there => format!("there is no {kind}; {lists}"),
        _ => format!("names carry the run's, for which a pattern writes `*`: `mnist-*-worker`; {lists}"),
    }
}

/// What a part of a patch would break of the part of an object at the same path.
fn breaks<'p>(part: &'p Node, object: &Json, kind: &str, path: &mut Vec<&'p str>) -> Option<Problem> {
    let broken =
        |place: &Node, message: String, hint: &str| Some(Problem::new(&BROKEN_PATCH, place.span, message).hint(hint));
    let at = path.join(".");
    if let Some(hint) = stays(path)
        && part.to_json() != *object
    {
        return broken(part, format!("the patch changes `{at}` of a {kind}, by which others know it"), hint);
    }
    let was = match (&part.kind, object) {
        (Kind::Map(entries), Json::Object(fields)) => {
            return entries.iter().find_map(|entry| {
                path.push(&entry.key);
                // What may not be added counts as there.
                let field = fields.get(&entry.key).or(stays(path).map(|_| &Json::Null));
                let found = field.and_then(|field| breaks(&entry.value, field, kind, path));
                path.pop();
                found
            });
        }
        (Kind::List(items), Json::Array(_)) if matches!(path.last(), Some(&("containers" | "initContainers"))) => {
            let lacks = |item: &Node| ["name", "image"].into_iter().find(|key| item.get(key).is_none());
            let (poor, key) = items.iter().find_map(|item| Some((item, lacks(item)?)))?;
            let message = format!("the patch replaces all of `{at}`, and this one has no `{key}`");
            let hint = "a merge patch replaces a list whole: give each container all that `khorovod render` shows of it, or use a field of the spec, as `env`, `storage` or `security`";
            return broken(poor, message, hint);
        }
        (Kind::Scalar { .. }, _) if part.to_json().is_null() && at != "metadata" => return None,
        (Kind::List(_), Json::Array(_)) | (_, Json::Null) => return None,
        (_, Json::Object(_)) => "a map",
        (_, Json::Array(_)) => "a list",
        (Kind::Scalar { .. }, _) => return None,
        _ => "a single value",
    };
    let message = format!("`{at}` of a {kind} is {was}, and the patch has {}", part.describe());
    broken(part, message, "`khorovod render` shows what is there to patch")
}

/// The way out for a patch of what others know an object by.
fn stays(path: &[&str]) -> Option<&'static str> {
    match path {
        ["apiVersion" | "kind"] => Some("leave it out: `target` says which object is meant"),
        ["metadata", "name"] => {
            Some("leave it out: `target` says which object is meant, and names come from `metadata.name`")
        }
        ["metadata", "namespace"] => Some("the whole job moves with `metadata.namespace`"),
        _ => None,
    }
}
