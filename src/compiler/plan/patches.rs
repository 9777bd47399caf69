//! Patches: which objects they apply to, and which of them start a new run.

use serde_json::Value as Json;

use super::{Shape, hosts};
use crate::job::valid::{Patch, Spec};

/// Whether a patch changes, in a workload or its pods, what cannot change in place.
pub fn starts_run(patch: &Patch, spec: &Spec) -> bool {
    let kinds = spec.target.workload_kinds;
    let changes = |(_, in_place): &(&str, &[&str])| match patch.patch.get("spec") {
        Some(Json::Object(fields)) => fields.keys().any(|field| !in_place.contains(&field.as_str())),
        other => other.is_some(),
    };
    match patch.kind.as_deref() {
        Some("Pod") => spec.target.has_pods,
        Some(kind) => kinds.iter().filter(|(known, _)| *known == kind).any(changes),
        None => names_workload(patch, spec) && kinds.iter().any(changes),
    }
}

/// Whether a patch's name fits a workload. The run's name is not known yet, so six `-` stand for it: a pattern can
/// cover it with `*`, and cannot spell it out.
fn names_workload(patch: &Patch, spec: &Spec) -> bool {
    let stem = [&spec.name, "-------"].concat();
    if !spec.target.own_workloads || Shape::of(spec) != Shape::StatefulSet {
        return patch.has_name(&stem);
    }
    let workers = spec.groups.iter().map(hosts::worker_role);
    workers.chain(["launcher".to_owned()]).any(|role| patch.has_name(&[&stem, "-", &role].concat()))
}

impl Patch {
    /// Whether an object of this name is meant.
    pub fn has_name(&self, name: &str) -> bool {
        self.name.as_deref().is_none_or(|pattern| fits(pattern, name))
    }
}

/// Whether a name fits a pattern in which `*` stands for any run of characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut name) = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail)) else { return false };
    // The earliest place for each part leaves the most room for the next.
    for part in middle.split('*') {
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    true
}
