//! Compares the pods of a patch with the Pod Security level of the job. See [`check`].

use crate::job::POD_SECURITY_LEVEL;
use crate::job::valid::{PodSecurityLevel, Spec};
use crate::problem::Problem;
use crate::yaml::{Entry, Node, Scalar};

/// Capabilities that the level `baseline` allows. The level `restricted` allows only the last one.
const BASELINE: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
    NET_BIND_SERVICE,
];
const NET_BIND_SERVICE: &str = "NET_BIND_SERVICE";

/// Reports the fields of a patch that need a less strict level than the level of the job.
pub fn check(patch: &Node, spec: &Spec, problems: &mut Vec<Problem>) {
    let mut each = |entry: &Entry| {
        let Some(level) = needed(entry).filter(|level| spec.security.pod_security_level < *level) else { return };
        let word = if level == PodSecurityLevel::Privileged { "privileged" } else { "baseline" };
        let message = format!("`{}` in a patch needs the Pod Security level `{word}`", entry.key);
        let problem = Problem::new(&POD_SECURITY_LEVEL, entry.key_span, message);
        let hint = format!("set `podSecurityLevel: {word}` under `security`, or remove `{}`", entry.key);
        problems.push(problem.hint(hint));
    };
    walk(patch, &mut each);
}

/// Calls a function for each field of a patch, at any depth, except below labels and annotations.
fn walk(part: &Node, each: &mut impl FnMut(&Entry)) {
    for entry in part.entries().iter().filter(|entry| entry.key != "metadata") {
        each(entry);
        walk(&entry.value, each);
    }
    part.items().iter().for_each(|item| walk(item, each));
}

/// The level that a field needs.
fn needed(entry: &Entry) -> Option<PodSecurityLevel> {
    let value = entry.value.scalar();
    match entry.key.as_str() {
        "hostPID" | "hostIPC" | "privileged" if value == Some(Scalar::Bool(true)) => Some(PodSecurityLevel::Privileged),
        "hostPath" if !entry.value.entries().is_empty() => Some(PodSecurityLevel::Privileged),
        "nfs" if !entry.value.entries().is_empty() => Some(PodSecurityLevel::Baseline),
        "hostPort" if !matches!(value, Some(Scalar::Null | Scalar::Int(0))) => Some(PodSecurityLevel::Privileged),
        "allowPrivilegeEscalation" if value == Some(Scalar::Bool(true)) => Some(PodSecurityLevel::Baseline),
        "runAsNonRoot" if value == Some(Scalar::Bool(false)) => Some(PodSecurityLevel::Baseline),
        "runAsUser" if value == Some(Scalar::Int(0)) => Some(PodSecurityLevel::Baseline),
        "capabilities" => {
            let added = || entry.value.get("add").map_or(&[][..], Node::items).iter().filter_map(Node::text);
            match added().all(|name| BASELINE.contains(&name)) {
                false => Some(PodSecurityLevel::Privileged),
                true => added().any(|name| name != NET_BIND_SERVICE).then_some(PodSecurityLevel::Baseline),
            }
        }
        _ => None,
    }
}
