//! Finds misspelt fields of pods and containers in patches. See [`find_misspelt`].

use super::UNKNOWN_PATCH_FIELD;
use crate::job::nearest;
use crate::kubernetes::strategic::Type;
use crate::problem::Problem;
use crate::yaml::Node;

/// The fields of a PodSpec in Kubernetes 1.36.
const POD_SPEC: &[&str] = &[
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "containers",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "os",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "resourceClaims",
    "resources",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "schedulingGroup",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
    "workloadRef",
];

/// The fields of a container in Kubernetes 1.36.
const CONTAINER: &[&str] = &[
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resizePolicy",
    "resources",
    "restartPolicy",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
];

/// The warning for the first field of a pod or a container that is similar to a known field. A field that is similar to none may
/// belong to a newer Kubernetes.
pub fn find_misspelt(patch: &Node, of: Type) -> Option<Problem> {
    let (known, what): (&[&str], _) = match of {
        Type::PodSpec => (POD_SPEC, "pods"),
        Type::Container => (CONTAINER, "containers"),
        _ => (&[], ""),
    };
    let entries = patch.entries().iter().filter(|entry| !entry.key.starts_with('$'));
    entries.into_iter().find_map(|entry| {
        let is_known = known.is_empty() || known.contains(&entry.key.as_str());
        if let Some(near) = nearest(&entry.key, known.iter().copied()).filter(|_| !is_known) {
            let message = format!("{what} have no field `{}`: Kubernetes refuses or ignores it", entry.key);
            let problem = Problem::new(&UNKNOWN_PATCH_FIELD, entry.key_span, message);
            return Some(problem.hint(format!("did you mean `{near}`?")).fix(entry.key_span, near));
        }
        let below = of.field(&entry.key).0;
        let items = entry.value.items().iter().find_map(|item| find_misspelt(item, below));
        items.or_else(|| find_misspelt(&entry.value, below))
    })
}
