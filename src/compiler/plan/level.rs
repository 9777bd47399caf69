//! The Pod Security Standard that the pods meet, and the reasons why they do not meet a stricter one. See [`level`].

use crate::job::valid::{Patch, Spec, VolumeSource};

/// A level of the Pod Security Standards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// `restricted`, `baseline` or `privileged`.
    pub name: &'static str,
    /// The fields that prevent `restricted`, or may prevent it.
    pub reasons: Vec<String>,
}

/// Whether a patch may change a pod.
fn reaches_pods(patch: &Patch) -> bool {
    const NO_PODS: &[&str] = &[
        "ClusterRole",
        "ClusterRoleBinding",
        "ComputeDomain",
        "ConfigMap",
        "NetworkPolicy",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "PodGroup",
        "PodMonitor",
        "ResourceClaimTemplate",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
    ];
    patch.kind.as_ref().is_none_or(|kind| !NO_PODS.contains(&kind.as_str())) && patch.patch.get("spec").is_some()
}

/// The strictest level that the pods of a spec meet.
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
        privileged.push("placement.hostNetwork uses the network of the node".to_owned());
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
    if spec.patches.iter().any(reaches_pods) {
        privileged.push("spec.patches may change pods; their effect is not considered".to_owned());
    }
    Level { name, reasons: privileged }
}
