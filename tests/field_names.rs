//! The rule for field names in CONTRIBUTING.md, held over the declarations.

use std::collections::BTreeSet;

use k8s_openapi::api::{
    apps::v1 as apps, batch::v1 as batch, core::v1 as core, networking::v1 as net, resource::v1 as resource,
};
use serde_json::{Map, Value as Json, json};

/// The fields that are also fields of Kubernetes: the shape, its fields, and the type of Kubernetes that has them.
const KUBERNETES: &[(&str, &[&str], Roundtrip)] = &[
    ("Body", &["args", "envFrom", "workingDir"], roundtrip::<core::Container>),
    ("EnvSource", &["configMapKeyRef", "fieldRef", "secretKeyRef"], roundtrip::<core::EnvVarSource>),
    ("Workers", &["resources"], roundtrip::<core::Container>),
    ("Workers", &["replicas"], roundtrip::<apps::StatefulSetSpec>),
    ("Workers", &["resourceClaims"], roundtrip::<core::PodSpec>),
    ("ResourceClaim", &["name", "resourceClaimName", "resourceClaimTemplateName"], roundtrip::<core::PodResourceClaim>),
    ("ResourceClaim", &["devices"], roundtrip::<resource::ResourceClaimSpec>),
    ("Storage", &["mountPath", "name", "readOnly", "subPath"], roundtrip::<core::VolumeMount>),
    ("Storage", &["emptyDir", "hostPath", "nfs"], roundtrip::<core::Volume>),
    ("Claim", &["accessModes", "storageClassName"], roundtrip::<core::PersistentVolumeClaimSpec>),
    (
        "Placement",
        &["hostNetwork", "nodeSelector", "priorityClassName", "runtimeClassName", "tolerations"],
        roundtrip::<core::PodSpec>,
    ),
    ("Scheduling", &["schedulerName"], roundtrip::<core::PodSpec>),
    ("Scheduling", &["suspend"], roundtrip::<batch::JobSpec>),
    ("Security", &["serviceAccountName"], roundtrip::<core::PodSpec>),
    ("Workers", &["serviceAccountName"], roundtrip::<core::PodSpec>),
    ("Security", &["fsGroup", "runAsUser"], roundtrip::<core::PodSecurityContext>),
    ("Security", &["readOnlyRootFilesystem"], roundtrip::<core::SecurityContext>),
    ("Metrics", &["from"], roundtrip::<net::NetworkPolicyIngressRule>),
];

/// Fields that take the name of an object and do not end in `Name`: words of Helm charts, Kueue and Volcano.
const OBJECT_NAMES: &[&str] = &["existingClaim", "localQueue", "name", "volcanoQueue"];

type Roundtrip = fn(Json) -> Json;

/// Reads a value as a type of Kubernetes and writes it again, which drops fields that the type does not have.
fn roundtrip<T: serde::de::DeserializeOwned + serde::Serialize>(value: Json) -> Json {
    serde_json::to_value(serde_json::from_value::<T>(value).unwrap()).unwrap()
}

fn shapes(root: &Json) -> impl Iterator<Item = (&String, &Map<String, Json>)> {
    root["$defs"].as_object().unwrap().iter().filter_map(|(name, shape)| Some((name, shape["properties"].as_object()?)))
}

#[test]
fn fields_of_kubernetes_have_its_names_and_its_shape() {
    let root = khorovod::schema();
    for (shape, fields, roundtrip) in KUBERNETES {
        for field in *fields {
            let declared = &root["$defs"][shape]["properties"][field];
            let default = declared.get("default").into_iter();
            let value = declared["examples"].as_array().into_iter().flatten().chain(default).next();
            let value = value.unwrap_or_else(|| panic!("{shape}.{field} has neither an example nor a default"));
            let mut given = json!({ *field: value });
            // Lists that the types of Kubernetes require.
            for required in ["containers", "name", "mountPath", "template", "selector"] {
                let empty = match required {
                    "containers" => json!([]),
                    "template" | "selector" => json!({}),
                    _ => json!("a"),
                };
                given.as_object_mut().unwrap().entry(required).or_insert(empty);
            }
            assert_eq!(roundtrip(given.clone())[field], given[field], "{shape}.{field} is another field in Kubernetes");
        }
    }
}

#[test]
fn names_follow_the_rule() {
    let root = khorovod::schema();
    let mut wrong = BTreeSet::new();
    for (shape, fields) in shapes(&root) {
        for (name, field) in fields {
            let mut check = |is_right: bool, rule: &str| {
                if !is_right {
                    wrong.insert(format!("{shape}.{name}: {rule}"));
                }
            };
            let is_camel =
                name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(|b| b.is_ascii_alphanumeric());
            check(is_camel, "camelCase, as in Kubernetes");
            let about = field["description"].as_str().unwrap();
            check(
                field["type"] != "boolean" || about.starts_with("Whether "),
                "a boolean is a statement: `Whether ...`",
            );
            // A number has no unit. `tolerationSeconds` is Kubernetes' own.
            let units =
                ["Seconds", "Minutes", "Millis", "Ms", "Bytes", "Mb", "Gb", "Timeout", "Interval", "Period", "Time"];
            let is_amount = units.iter().any(|unit| name.ends_with(unit)) && name != "tolerationSeconds";
            check(field["type"] != "integer" || !is_amount, "a duration is `10m` and a size is `64Gi`");
            let takes_object =
                field["maxLength"] == 253 && field["pattern"].as_str().is_some_and(|it| it.contains(r"(\."));
            let is_named =
                name.ends_with("Name") || OBJECT_NAMES.contains(&name.as_str()) || about.contains("node label");
            check(!takes_object || is_named, "the name of an object ends in `Name`, as in Kubernetes");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_rule_refuses_wrong_names() {
    let lost = roundtrip::<core::PodSpec>(json!({"containers": [], "priorityClass": "high"}));
    assert_eq!(lost.get("priorityClass"), None);
}
