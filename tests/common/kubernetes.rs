//! Checks objects with the types of the Kubernetes API.

use k8s_openapi::api::{
    apps::v1 as apps, batch::v1 as batch, core::v1 as core, networking::v1 as net, rbac::v1 as rbac,
    resource::v1 as resource,
};
use serde_json::Value as Json;

/// Deserializes an object into its Kubernetes type and serializes it again: no field may be lost. Returns whether the object
/// has a Kubernetes type.
pub fn is_of_its_type(object: &Json, place: &str) -> bool {
    let read = match object["kind"].as_str().unwrap() {
        "NetworkPolicy" => strict::<net::NetworkPolicy>,
        "ServiceAccount" => strict::<core::ServiceAccount>,
        "Secret" => strict::<core::Secret>,
        "PersistentVolume" => strict::<core::PersistentVolume>,
        "PersistentVolumeClaim" => strict::<core::PersistentVolumeClaim>,
        "ConfigMap" => strict::<core::ConfigMap>,
        "Service" => strict::<core::Service>,
        "Role" => strict::<rbac::Role>,
        "RoleBinding" => strict::<rbac::RoleBinding>,
        "ResourceClaimTemplate" => strict::<resource::ResourceClaimTemplate>,
        "ClusterRole" => strict::<rbac::ClusterRole>,
        "ClusterRoleBinding" => strict::<rbac::ClusterRoleBinding>,
        "StatefulSet" => strict::<apps::StatefulSet>,
        "Job" if object["apiVersion"] == "batch/v1" => strict::<batch::Job>,
        _ => return false,
    };
    read(object, place);
    true
}

fn strict<T: serde::de::DeserializeOwned + serde::Serialize>(ours: &Json, place: &str) {
    let theirs: T = serde_json::from_value(ours.clone()).unwrap_or_else(|error| panic!("{place}: {error}"));
    let back = serde_json::to_value(theirs).unwrap();
    let lost = lost(ours, &back, String::new());
    assert!(lost.is_empty(), "{place}: Kubernetes does not know {lost:?}");
}

/// The paths of values that are in `ours` and not in `theirs`. Empty values may be missing.
fn lost(ours: &Json, theirs: &Json, path: String) -> Vec<String> {
    match (ours, theirs) {
        (Json::Object(ours), theirs) => ours
            .iter()
            .filter(|(_, value)| !matches!(value, Json::Null))
            .flat_map(|(key, value)| match theirs.get(key) {
                Some(other) => lost(value, other, format!("{path}.{key}")),
                None => vec![format!("{path}.{key}")],
            })
            .collect(),
        (Json::Array(ours), Json::Array(theirs)) if ours.len() == theirs.len() => {
            ours.iter().zip(theirs).enumerate().flat_map(|(at, (a, b))| lost(a, b, format!("{path}[{at}]"))).collect()
        }
        (ours, theirs) if ours == theirs => Vec::new(),
        _ => vec![path],
    }
}
