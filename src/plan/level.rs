//! The Pod Security level the pods meet, and why not a stricter one.

use crate::spec::valid::{Spec, VolumeSource};

/// A Pod Security level and what keeps the job from a stricter one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// `restricted`, `baseline` or `privileged`.
    pub name: &'static str,
    /// Why it is not `restricted`.
    pub reasons: Vec<String>,
}

/// What the pods of `spec` will need.
pub fn level(spec: &Spec) -> Level {
    let mut baseline = Vec::new();
    let mut privileged = Vec::new();
    if spec.security.run_as_user == Some(0) {
        baseline.push("security.runAsUser is 0 (root)".to_owned());
    }
    for volume in &spec.storage {
        match &volume.source {
            VolumeSource::HostPath(path) => privileged.push(format!("storage {} is the host path {path}", volume.name)),
            VolumeSource::Nfs { .. } => baseline.push(format!("storage {} is an inline NFS volume", volume.name)),
            _ => {}
        }
    }
    if spec.placement.host_network {
        privileged.push("placement.hostNetwork uses the node's network".to_owned());
    }
    if spec.groups.iter().any(|group| group.rdma) {
        privileged.push("workers.rdma needs the capability IPC_LOCK".to_owned());
    }
    let name = match (privileged.is_empty(), baseline.is_empty()) {
        (false, _) => "privileged",
        (true, false) => "baseline",
        (true, true) => "restricted",
    };
    privileged.extend(baseline);
    Level { name, reasons: privileged }
}
