//! Checks `spec.patches` against the objects of a job: each patch must select an object, and must not make an object invalid. See
//! [`check`], which runs on a valid job before anything is rendered.

mod fields;
mod fixed_fields;
mod frozen;
mod level;
mod structure;

use serde_json::Value as Json;

use super::{keys, plan};
use crate::api::Inputs;
use crate::job::Facts;
use crate::job::valid::{Patch, Spec};
use crate::kubernetes::strategic::Type;
use crate::kubernetes::{self, Object, strategic};
use crate::plan::Document;
use crate::problem::{Problem, Severity, codes};
use crate::yaml::{Entry, Kind, Node};

codes! {
    /// A patch that changes no object
    ///
    /// The patch is empty, or the job has no object with the kind and name of the patch's `target`. `khorovod plan --all` lists the objects. `kind: Pod`
    /// selects the pod templates, in the objects of every target.
    Error UNUSED_PATCH = "unused-patch";

    /// A patch that would make its object invalid
    ///
    /// A patch is a strategic merge patch, as in `kubectl patch` and Kustomize. Write only what you add or change:
    /// - Maps are merged, and a field that is `null` is removed. A map must remain a map, and a list must remain a list. Each value has
    ///   the type that it has in Kubernetes: `"60"` is a string, and `60` is a number.
    /// - Items of `containers`, `initContainers`, `volumes` and `env` are merged by their `name`, those of `volumeMounts` by
    ///   their `mountPath`, and those of `ports` by their port. All other items remain. A new container needs an `image`.
    ///   `$patch: delete` in an item deletes it.
    /// - A list without such a key, such as `tolerations` or `args`, is replaced as a whole.
    /// - khorovod's containers and volumes must remain. `apiVersion`, `kind`, name and namespace must remain, because other
    ///   objects refer to them. The same applies to selectors, khorovod's labels, and the number of pods.
    /// - A name of one run, such as `mnist-f4k2wz-ssh`, is refused, because each change of the spec or of the patch starts a
    ///   run with another name.
    ///
    /// `khorovod render` shows the objects.
    Error BROKEN_PATCH = "broken-patch";

    /// A patch that repeats what khorovod renders
    ///
    /// Copies of rendered fields have no effect at first. When the spec or khorovod changes, the patch still sets the old
    /// values: the old image, the old variables, the old mounts. Remove them from the patch: a container or volume in it needs
    /// only its `name` and the fields that you add or change.
    Warning COPIED_FIELD = "copied-field";

    /// A field or a word of a patch that Kubernetes does not have
    ///
    /// Kubernetes checks the fields of the objects, not of the patch: `kubectl apply` refuses an object with a misspelt field, and other
    /// clients drop the field. The hint names the field that is most similar, or the words that the field takes. A newer Kubernetes may
    /// have more of both.
    Warning UNKNOWN_PATCH_FIELD = "unknown-patch-field";

    /// A container that keeps a Job from completing
    ///
    /// A Job completes when all containers of its pods have exited. If a patch adds a container that runs on, such as an exporter
    /// of metrics, the Job never completes, and in the shape with one Job its pods keep their GPUs. A container in
    /// `initContainers` with `restartPolicy: Always` starts before the others, and Kubernetes 1.29 and newer ends it after them.
    /// If the container exits by itself, you can ignore this note.
    Note LASTING_CONTAINER = "lasting-container";
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
    let (mut plan, files) = plan(spec.clone(), kept.clone(), inputs.scripts);
    let keys = keys(&plan, inputs);
    // Build the objects without patches. The name of the run is already computed from the spec with all patches.
    let patches = std::mem::take(&mut plan.spec.patches);
    let output = inputs.target.build(&plan, &files, &keys);
    let selected =
        output.objects().iter().filter(|object| patches.iter().any(|one| kubernetes::may_select(one, object)));
    let mut objects: Vec<_> = selected.map(|object| (object, kubernetes::json(object))).collect();
    for (patch, node) in patches.iter().zip(written) {
        let body = node.get("patch");
        let (mut is_used, mut error, mut copy, mut lasting) = (false, None, None, None);
        let mut of_fields: Vec<Problem> = Vec::new();
        if let Some((span, name)) = body.and_then(|body| frozen::find_run(body, &plan.spec.name)) {
            let message = format!("the patch contains `{name}`, which belongs to one run");
            let hint = "remove it: the next run has other names. Items of `volumes`, `containers` and `env` merge by `name`, so a \
                        patch needs only those that it adds or changes";
            error = Some(Problem::new(&BROKEN_PATCH, span, message).hint(hint));
        }
        for (object, whole) in &mut objects {
            let kind = if patch.kind.as_deref() == Some("Pod") { "Pod" } else { object.kind };
            for part in kubernetes::patched_parts(patch, object, whole) {
                if !is_used && let Some(body) = body {
                    level::check(body, spec, &mut of_fields);
                }
                is_used = true;
                let found = body.map_or_else(Vec::new, |body| fields::check(body, kind));
                let is_new =
                    |problem: &Problem| of_fields.iter().all(|known| known.labels[0].span != problem.labels[0].span);
                let found: Vec<Problem> = found.into_iter().filter(is_new).collect();
                of_fields.extend(found);
                // If this patch has an error, it is not applied, so that the next patch is checked against valid objects.
                let Some(body) = body.filter(|_| error.is_none() && !any_error(&of_fields)) else { continue };
                kubernetes::apply_with(patch, kind, part, |part, of, change| {
                    let before = part.clone();
                    strategic::merge(part, change, of);
                    error = structure::find_conflict(body, &before, of, kind)
                        .or_else(|| fixed_fields::find_change(body, &before, part, kind));
                    copy = copy.take().or_else(|| frozen::find_copy(body, &before, of));
                    lasting = lasting.take().or_else(|| find_lasting(body, &before, of));
                    if error.is_some() {
                        *part = before;
                    }
                });
            }
        }
        if error.is_some() || any_error(&of_fields) {
            (copy, lasting) = (None, None);
            of_fields.retain(|problem| problem.code.severity == Severity::Error);
        }
        problems.extend(error);
        problems.extend(lasting);
        problems.extend(of_fields);
        if let Some(body) = body.filter(|body| is_empty(body, problems)) {
            let problem = Problem::new(&UNUSED_PATCH, body.span, "the patch is empty, so it changes nothing");
            problems.push(problem.hint("remove it, or write the fields that it sets"));
        }
        problems.extend(copy.map(|(span, message, hint)| Problem::new(&COPIED_FIELD, span, message).hint(hint)));
        if !is_used {
            let place = node.get("target").map_or(node.span, |target| target.span);
            let problem = Problem::new(&UNUSED_PATCH, place, "the patch selects no object of this job");
            problems.push(problem.hint(hint_for_target(patch, plan.spec.target, output.objects())));
        }
    }
}

fn any_error(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.code.severity == Severity::Error)
}

/// Whether a patch is an empty map. If a map is empty because its invalid keys were left out, the result is false:
/// `problems` has the problems of these keys.
fn is_empty(body: &Node, problems: &[Problem]) -> bool {
    matches!(&body.kind, Kind::Map(entries) if entries.is_empty())
        && !problems.iter().any(|problem| problem.labels.iter().any(|label| label.span.within(body.span)))
}

/// The note for the first container that a patch adds to the pod of a Job, because the Job completes only after all its
/// containers have exited. None if the patch adds none.
fn find_lasting(patch: &Node, before: &Json, of: Type) -> Option<Problem> {
    if of != Type::PodSpec {
        let below = |entry: &Entry| find_lasting(&entry.value, &before[&entry.key], of.field(&entry.key).0);
        return patch.entries().iter().find_map(below);
    }
    let containers = || fixed_fields::items(before.get("containers"));
    // Workers do not end by themselves: the launcher or the operator ends them.
    let is_worker = |container: &Json| container["command"][1] == "/etc/khorovod/scripts/worker.sh";
    if !containers().any(|container| kubernetes::runs_scripts(container) && !is_worker(container)) {
        return None;
    }
    let known = |name: &str| containers().any(|container| container["name"] == name);
    let names = patch.get("containers")?.items().iter().filter_map(|item| Some((item, item.get("name")?.text()?)));
    let (item, name) = names.into_iter().find(|(item, name)| item.get("$patch").is_none() && !known(name))?;
    let message = format!("the Job completes only after the new container `{name}` has exited");
    let hint = "if it does not exit by itself, move it to `initContainers` and add `restartPolicy: Always`";
    Some(Problem::new(&LASTING_CONTAINER, item.span, message).hint(hint))
}

/// The hint for a patch that selects no object.
fn hint_for_target(patch: &Patch, target: &Facts, objects: &[Object<'_>]) -> String {
    let plan = if target.own_workloads { "plan".to_owned() } else { format!("plan --target {}", target.name) };
    let lists = format!("`khorovod {plan} --all` lists the objects");
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
