//! Patches: the objects that a patch changes, and whether the patch starts a new run.

use serde_json::Value as Json;

use super::{Shape, hosts};
use crate::job::types::matches_pattern;
use crate::job::valid::{Patch, Spec};

/// Whether a patch changes a field of a workload or its pods that cannot change in place.
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

/// Whether the name pattern of a patch matches a workload. The name of a workload contains the name of the run, which
/// is computed later. Six dashes take the place of the name of the run. Because no run has such a name, only a `*` in
/// the pattern matches the dashes.
fn names_workload(patch: &Patch, spec: &Spec) -> bool {
    let stem = [&spec.name, "-", "------"].concat();
    if !spec.target.own_workloads || Shape::of(spec) != Shape::StatefulSet {
        return patch.has_name(&stem);
    }
    let workers = spec.groups.iter().map(hosts::worker_role);
    workers.chain(["launcher".to_owned()]).any(|role| patch.has_name(&[&stem, "-", &role].concat()))
}

impl Patch {
    /// Whether the name pattern of the patch matches a name. A patch without one matches every name.
    pub fn has_name(&self, name: &str) -> bool {
        self.name.as_deref().is_none_or(|pattern| matches_pattern(pattern, name))
    }
}
