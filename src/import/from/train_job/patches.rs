//! Imports the changes that a TrainJob makes to the template of its runtime: `runtimePatches` of Trainer 2.2 and newer,
//! `podTemplateOverrides` of 2.1 and `podSpecOverrides` of 2.0.

use serde_json::Value as Json;

use super::runtime::Runtime;
use crate::context::{Context, text};
use crate::field::{Field, set};
use crate::from::each_pod::{self, Pods};
use crate::from::job_set;
use khorovod_compiler::yaml::Node;

/// Imports all changes.
pub fn read(context: &mut Context<'_>, spec: Option<&Node>, runtime: &Runtime<'_>) {
    let items = |key: &str| spec.and_then(|spec| spec.get(key)).map_or(&[][..], Node::items);
    for patch in items("runtimePatches") {
        for key in ["manager", "time"] {
            if let Some(node) = patch.get(key) {
                context.needless(node, "it only names the owner of the patch");
            }
        }
        let Some(template) = patch.get("trainingRuntimeSpec").and_then(|spec| spec.get("template")) else { continue };
        if let Some(metadata) = template.get("metadata") {
            for (key, to) in [("labels", set::METADATA_LABELS), ("annotations", set::METADATA_ANNOTATIONS)] {
                if let Some(node) = metadata.get(key) {
                    of_job(context, node, to);
                }
            }
        }
        for job in job_set::items(template.get("spec")) {
            let name = job.get("name").and_then(text).unwrap_or_default();
            let pods = |template: Option<&Node>| template.and_then(|node| node.get("template")).is_some();
            let job_template = job.get("template");
            let spec = job_template.and_then(|node| node.get("spec"));
            if let Some(node) = job.get("name") {
                context.needless(node, "all workers have the fields of the template");
            }
            if let Some(node) = job_template.and_then(|node| node.get("metadata")) {
                context.lose(node, "it is a label or an annotation of the Job only: write it in spec.patches for pods");
            }
            if pods(spec) {
                let template = spec.and_then(|spec| spec.get("template"));
                fragment(context, &[name], template, template.and_then(|node| node.get("spec")), runtime);
            }
        }
    }
    for (key, is_inline) in [("podTemplateOverrides", false), ("podSpecOverrides", true)] {
        for item in items(key) {
            let targets = item.get("targetJobs");
            let names: Vec<String> =
                targets.map_or(&[][..], Node::items).iter().filter_map(|job| job.get("name").and_then(text)).collect();
            if let Some(node) = targets {
                context.needless(node, "all workers have the fields of the template");
            }
            let pod = if is_inline { Some(item) } else { item.get("spec") };
            fragment(context, &names, Some(item), pod, runtime);
        }
    }
}

/// Imports a part of a template. `names` lists the replicated Jobs to which the part applies. If `names` is empty, the
/// part applies to all.
fn fragment(
    context: &mut Context<'_>,
    names: &[String],
    template: Option<&Node>,
    pod: Option<&Node>,
    runtime: &Runtime<'_>,
) {
    if !names.is_empty() && !names.iter().any(|name| name == "node") {
        let why = match runtime.leader.is_some() && names.iter().any(|name| name == "launcher") {
            true => {
                "it is only for the launcher: set it with spec.patches, `target: {kind: Pod, name: \"*-launcher\"}`"
            }
            false => "it is for pods that do not run ranks, which the new job does not have",
        };
        return template.into_iter().for_each(|node| context.lose(node, why));
    }
    let merged = [set::PLACEMENT_NODE_SELECTOR, set::PLACEMENT_TOLERATIONS];
    let before = merged.map(|field| context.spec.get(field.path).cloned());
    let containers = pod.and_then(|pod| pod.get("containers")).map_or(&[][..], Node::items);
    let is_main = |container: &&Node| container.get("name").and_then(text).as_deref() == Some("node");
    let pods = Pods { name: super::NAME, template, pod, container: containers.iter().find(is_main) };
    if let Some(pod) = pod {
        for key in ["targetJobs", "metadata"] {
            if let Some(node) = pod.get(key) {
                context.needless(node, "all workers have the fields of the template");
            }
        }
    }
    each_pod::template(context, &pods);
    // The values of these fields are added to the values that the runtime has.
    for (field, before) in merged.into_iter().zip(before) {
        let Some((before, after)) =
            before.zip(context.spec.get(field.path).cloned()).filter(|(before, after)| before != after)
        else {
            continue;
        };
        match (before, after) {
            (Json::Object(mut all), Json::Object(more)) => {
                all.extend(more);
                context.spec.put(field, all, "");
            }
            (Json::Array(mut all), Json::Array(more)) => {
                all.extend(more);
                context.spec.put(field, all, "");
            }
            _ => {}
        }
    }
}

/// Imports labels or annotations of the whole job.
pub fn of_job(context: &mut Context<'_>, node: &Node, to: Field<Json>) {
    for entry in node.entries() {
        let Some(value) = context.text(&entry.value) else { continue };
        context.spec.put_key(to, &entry.key, value, "");
        context.kept(&entry.value, to.path);
    }
}
