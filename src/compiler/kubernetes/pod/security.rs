//! The security contexts of pods and containers, as strict as the Pod Security level and the user id allow.

use serde::Serialize;

use crate::job::valid::{PodSecurityLevel, Security};
use crate::kubernetes::meta::Entry;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    #[serde(skip_serializing_if = "Option::is_none")]
    run_as_non_root: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_as_user: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_as_group: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fs_group: Option<u32>,
    /// `OnRootMismatch`, so that the kubelet does not change the owner of every file of a large volume at each start.
    #[serde(skip_serializing_if = "Option::is_none")]
    fs_group_change_policy: Option<&'static str>,
    seccomp_profile: Entry<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_privilege_escalation: Option<bool>,
    read_only_root_filesystem: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Capabilities>,
}

#[derive(Debug, Serialize)]
struct Capabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    add: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop: Option<[&'static str; 1]>,
}

/// Whether the containers may run as root. OpenShift chooses a user id, which is never 0.
pub fn may_be_root(security: &Security) -> bool {
    security.run_as_user == Some(0)
        || security.run_as_user.is_none() && security.pod_security_level >= PodSecurityLevel::Baseline
}

/// The security context of a pod.
pub fn pod(security: &Security) -> Pod {
    Pod {
        run_as_non_root: (!may_be_root(security)).then_some(true),
        run_as_user: security.run_as_user,
        run_as_group: security.run_as_user,
        fs_group: security.fs_group,
        fs_group_change_policy: security.fs_group.map(|_| "OnRootMismatch"),
        seccomp_profile: Entry("type", "RuntimeDefault"),
    }
}

/// The security context of a container.
pub fn container(security: &Security, rdma: bool) -> Container {
    // As root, sshd needs its capabilities to switch to the user that logs in.
    let is_strict = !may_be_root(security);
    let capabilities = Capabilities { add: rdma.then_some(["IPC_LOCK"]), drop: is_strict.then_some(["ALL"]) };
    Container {
        allow_privilege_escalation: is_strict.then_some(false),
        read_only_root_filesystem: security.read_only_root_filesystem,
        capabilities: (rdma || is_strict).then_some(capabilities),
    }
}
