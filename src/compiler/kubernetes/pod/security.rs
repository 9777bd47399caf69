//! Security contexts: as strict as the profile and the user id allow.

use serde::Serialize;

use crate::job::valid::{Profile, Security};

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
    /// A large volume is not walked at every start.
    #[serde(skip_serializing_if = "Option::is_none")]
    fs_group_change_policy: Option<&'static str>,
    seccomp_profile: Seccomp,
}

#[derive(Debug, Serialize)]
struct Seccomp {
    r#type: &'static str,
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

/// Whether the pods may be root's. `OpenShift`'s platform picks a user id, never 0.
pub fn root(security: &Security) -> bool {
    security.run_as_user == Some(0) || security.run_as_user.is_none() && security.profile >= Profile::Baseline
}

pub fn pod(security: &Security) -> Pod {
    Pod {
        run_as_non_root: (!root(security)).then_some(true),
        run_as_user: security.run_as_user,
        run_as_group: security.run_as_user,
        fs_group: security.fs_group,
        fs_group_change_policy: security.fs_group.map(|_| "OnRootMismatch"),
        seccomp_profile: Seccomp { r#type: "RuntimeDefault" },
    }
}

pub fn container(security: &Security, rdma: bool) -> Container {
    // Root's sshd needs its capabilities to become the user who logs in.
    let strict = !root(security);
    let capabilities = Capabilities { add: rdma.then_some(["IPC_LOCK"]), drop: strict.then_some(["ALL"]) };
    Container {
        allow_privilege_escalation: strict.then_some(false),
        read_only_root_filesystem: security.read_only_root_filesystem,
        capabilities: (rdma || strict).then_some(capabilities),
    }
}
