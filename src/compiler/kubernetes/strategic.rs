//! Strategic merge patches, as in `kubectl patch` and Kustomize: see [`merge`]. [`Type`] has the table of the lists that
//! Kubernetes merges by a key. The result is that of `StrategicMergePatch` in k8s.io/apimachinery, with two exceptions: new
//! containers come after the existing ones, and new values contain no directives. `tests/output` compares the results with
//! those of apimachinery.
//!
//! [`merge`] expects a valid patch: `pipeline::patches` has checked each patch before.

use serde_json::Value as Json;

/// The directive of a map, or of an item of a list. Its value is `delete` or `replace`.
pub const PATCH: &str = "$patch";
/// The directive that lists the fields of a map that remain.
pub const RETAIN_KEYS: &str = "$retainKeys";
/// The start of a directive with the order of the items of a list.
pub const ORDER: &str = "$setElementOrder/";
/// The start of a directive with the values that are removed from a list of scalars.
pub const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

/// A type of Kubernetes in which a list is merged instead of replaced, or which contains such a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Any other type, including custom resources. Its lists are replaced.
    Any,
    Metadata,
    Pod,
    PodSpec,
    Container,
    Service,
    ServiceSpec,
    ServiceAccount,
}

/// How a list of a patch changes a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    Replace,
    /// Items with the same value of this field are merged.
    ByKey(&'static str),
    /// Scalars that the list does not contain yet are added.
    Add,
}

/// The fields with a `patchStrategy` in the types of k8s.io/api 0.34.3, and the fields that lead to them. A row has the
/// type, the field, the type of the field or of its items, and how its list is merged. Fields of a status are left out,
/// because khorovod renders no status.
const FIELDS: &[(Type, &str, Type, Lists)] = &[
    (Type::Metadata, "finalizers", Type::Any, Lists::Add),
    (Type::Metadata, "ownerReferences", Type::Any, Lists::ByKey("uid")),
    (Type::Any, "template", Type::Pod, Lists::Replace),
    (Type::Pod, "spec", Type::PodSpec, Lists::Replace),
    (Type::PodSpec, "containers", Type::Container, Lists::ByKey("name")),
    (Type::PodSpec, "ephemeralContainers", Type::Container, Lists::ByKey("name")),
    (Type::PodSpec, "hostAliases", Type::Any, Lists::ByKey("ip")),
    (Type::PodSpec, "imagePullSecrets", Type::Any, Lists::ByKey("name")),
    (Type::PodSpec, "initContainers", Type::Container, Lists::ByKey("name")),
    (Type::PodSpec, "resourceClaims", Type::Any, Lists::ByKey("name")),
    (Type::PodSpec, "schedulingGates", Type::Any, Lists::ByKey("name")),
    (Type::PodSpec, "topologySpreadConstraints", Type::Any, Lists::ByKey("topologyKey")),
    (Type::PodSpec, "volumes", Type::Any, Lists::ByKey("name")),
    (Type::Container, "env", Type::Any, Lists::ByKey("name")),
    (Type::Container, "ports", Type::Any, Lists::ByKey("containerPort")),
    (Type::Container, "volumeDevices", Type::Any, Lists::ByKey("devicePath")),
    (Type::Container, "volumeMounts", Type::Any, Lists::ByKey("mountPath")),
    (Type::Service, "spec", Type::ServiceSpec, Lists::Replace),
    (Type::ServiceSpec, "ports", Type::Any, Lists::ByKey("port")),
    (Type::ServiceAccount, "secrets", Type::Any, Lists::ByKey("name")),
];

impl Type {
    /// The type of the objects of a kind.
    pub fn of_kind(kind: &str) -> Self {
        match kind {
            "Pod" => Self::Pod,
            "Service" => Self::Service,
            "ServiceAccount" => Self::ServiceAccount,
            _ => Self::Any,
        }
    }

    /// The type of a field or of its items, and how a list in it is merged.
    pub fn field(self, name: &str) -> (Self, Lists) {
        match FIELDS.iter().find(|(of, field, ..)| (*of, *field) == (self, name)) {
            Some(&(.., below, lists)) => (below, lists),
            None if name == "metadata" => (Self::Metadata, Lists::Replace),
            None => (Self::Any, Lists::Replace),
        }
    }
}

impl Lists {
    /// The value that identifies an item of the list.
    pub fn identity(self, item: &Json) -> &Json {
        if let Self::ByKey(key) = self { &item[key] } else { item }
    }
}

/// The value of the directive `$patch`.
fn directive(value: &Json) -> Option<&str> {
    value.get(PATCH)?.as_str()
}

/// Merges a patch into a value of a type. The order of keys is kept.
pub fn merge(target: &mut Json, patch: &Json, of: Type) {
    let (Json::Object(fields), Json::Object(changes)) = (&mut *target, patch) else {
        *target = without_directives(patch);
        return;
    };
    match directive(patch) {
        Some("delete") => return fields.clear(),
        Some("replace") => {
            *target = without_directives(patch);
            return;
        }
        _ => {}
    }
    if let Some(Json::Array(kept)) = changes.get(RETAIN_KEYS) {
        fields.retain(|field, _| kept.iter().any(|name| name == field));
    }
    for (key, change) in changes {
        if let Some(list) = key.strip_prefix(DELETE_FROM) {
            if let (Some(Json::Array(items)), Json::Array(deleted)) = (fields.get_mut(list), change) {
                items.retain(|item| !deleted.contains(item));
            }
        } else if let Some(list) = key.strip_prefix(ORDER) {
            if let (Some(Json::Array(items)), None) = (fields.get_mut(list), changes.get(list)) {
                merge_lists(items, &[], of, list, Some(change));
            }
        } else if key.starts_with('$') {
            // The other directives have been applied above.
        } else if change.is_null() {
            fields.shift_remove(key);
        } else {
            match (fields.get_mut(key), change) {
                (Some(Json::Array(items)), Json::Array(new)) => {
                    merge_lists(items, new, of, key, changes.get(&[ORDER, key].concat()));
                }
                (Some(field), _) => merge(field, change, of.field(key).0),
                (None, _) if directive(change) == Some("delete") => {}
                (None, _) => {
                    fields.insert(key.clone(), without_directives(change));
                }
            }
        }
    }
}

/// Merges a list of a patch into the list of the field `name` of a type. `order` is the directive with the order of the
/// items.
fn merge_lists(items: &mut Vec<Json>, patch: &[Json], of: Type, name: &str, order: Option<&Json>) {
    let (below, lists) = of.field(name);
    let new: Vec<&Json> = patch.iter().filter(|item| directive(item).is_none()).collect();
    if lists == Lists::Replace || patch.iter().any(|item| directive(item) == Some("replace")) {
        *items = new.into_iter().map(without_directives).collect();
        return;
    }
    let same = |one: &Json, other: &Json| lists.identity(one) == lists.identity(other);
    items.retain(|item| !patch.iter().any(|other| directive(other) == Some("delete") && same(item, other)));
    let before = items.clone();
    for change in &new {
        match items.iter_mut().find(|item| same(item, change)) {
            Some(item) => merge(item, change, below),
            None => items.push(without_directives(change)),
        }
    }
    let place = |list: &[Json], item: &Json| list.iter().position(|other| same(other, item));
    let order: Vec<Json> = match order.and_then(Json::as_array) {
        Some(order) => order.clone(),
        // `kubectl logs` and the MPI Operator use the first container, which must remain khorovod's.
        None if name == "containers" => return,
        None => new.into_iter().cloned().collect(),
    };
    // The items that `order` names get this order. Each other item is compared with these ordered items: if it preceded
    // some of them in the old list, it goes in front of the first of these; otherwise, it goes to the end.
    let (mut first, rest): (Vec<_>, Vec<_>) = items.drain(..).partition(|item| place(&order, item).is_some());
    first.sort_by_key(|item| place(&order, item));
    let (mut first, mut rest) = (first.into_iter().peekable(), rest.into_iter().peekable());
    while let (Some(one), Some(other)) = (first.peek(), rest.peek()) {
        let stays = matches!((place(&before, other), place(&before, one)), (Some(left), Some(right)) if left < right);
        items.extend(if stays { rest.next() } else { first.next() });
    }
    items.extend(first.chain(rest));
}

/// A value that a patch adds, as the object contains it: without directives and without fields that are null.
fn without_directives(value: &Json) -> Json {
    match value {
        Json::Object(fields) => {
            let remains = |(key, value): &(&String, &Json)| {
                !key.starts_with('$') && !value.is_null() && directive(value) != Some("delete")
            };
            fields.iter().filter(remains).map(|(key, value)| (key.clone(), without_directives(value))).collect()
        }
        Json::Array(items) => items.iter().filter(|item| directive(item).is_none()).map(without_directives).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Merges a patch into the spec of a pod.
    #[allow(clippy::needless_pass_by_value)] // Values are written in the call.
    fn pod(spec: Json, patch: Json) -> String {
        let mut target = json!({"spec": spec});
        merge(&mut target, &json!({"spec": patch}), Type::Pod);
        target["spec"].to_string()
    }

    /// A list of items with only a key: `a b`.
    fn list(key: &str, items: &str) -> Json {
        items.split_whitespace().map(|item| json!({key: item})).collect()
    }

    #[test]
    fn maps_merge_and_null_removes() {
        // The examples of RFC 7386 that have no list, which are the same in a strategic merge patch.
        for (mut target, patch, result) in [
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            merge(&mut target, &patch, Type::Any);
            assert_eq!(target, result);
        }
        let mut target = json!({"a": 1, "b": 2, "c": 3, "d": 4});
        merge(&mut target, &json!({"b": null, "e": 5, "c": 6}), Type::Any);
        assert_eq!(target.to_string(), r#"{"a":1,"c":6,"d":4,"e":5}"#);
    }

    #[test]
    fn lists_merge_as_in_the_types_of_kubernetes() {
        let pod_lists = [
            ("initContainers", "name"),
            ("volumes", "name"),
            ("imagePullSecrets", "name"),
            ("hostAliases", "ip"),
            ("topologySpreadConstraints", "topologyKey"),
            ("resourceClaims", "name"),
            ("schedulingGates", "name"),
            ("ephemeralContainers", "name"),
        ];
        for (name, key) in pod_lists {
            let merged =
                pod(json!({name: [{key: "a", "x": 1}, {key: "b"}]}), json!({name: [{key: "c"}, {key: "a", "y": 2}]}));
            assert_eq!(merged, json!({name: [{key: "c"}, {key: "a", "x": 1, "y": 2}, {key: "b"}]}).to_string());
        }
        for (name, key) in [
            ("env", "name"),
            ("volumeMounts", "mountPath"),
            ("volumeDevices", "devicePath"),
            ("ports", "containerPort"),
        ] {
            for list in ["containers", "initContainers", "ephemeralContainers"] {
                let merged = pod(
                    json!({list: [{"name": "m", name: [{key: 1, "x": 1}, {key: 2}]}]}),
                    json!({list: [{"name": "m", name: [{key: 2, "y": 2}, {key: 3}]}]}),
                );
                let both = json!([{key: 1, "x": 1}, {key: 2, "y": 2}, {key: 3}]);
                assert_eq!(merged, json!({list: [{"name": "m", name: both}]}).to_string());
            }
        }
        for name in ["tolerations", "readinessGates"] {
            assert_eq!(
                pod(json!({name: [{"key": "a"}]}), json!({name: [{"key": "b"}]})),
                json!({name: [{"key": "b"}]}).to_string()
            );
        }
        // A pod template in any object, a Service, and lists of scalars.
        for (kind, target, patch, result) in [
            (
                "MPIJob",
                json!({"spec": {"a": {"template": {"spec": {"volumes": list("name", "a b")}}}}}),
                json!({"spec": {"a": {"template": {"spec": {"volumes": list("name", "c")}}}}}),
                json!({"spec": {"a": {"template": {"spec": {"volumes": list("name", "c a b")}}}}}),
            ),
            (
                "Service",
                json!({"spec": {"ports": [{"port": 1}]}}),
                json!({"spec": {"ports": [{"port": 1, "name": "a"}]}}),
                json!({"spec": {"ports": [{"port": 1, "name": "a"}]}}),
            ),
            (
                "JobSet",
                json!({"spec": {"ports": [{"port": 1}]}}),
                json!({"spec": {"ports": [{"port": 2}]}}),
                json!({"spec": {"ports": [{"port": 2}]}}),
            ),
            (
                "ServiceAccount",
                json!({"secrets": list("name", "a")}),
                json!({"secrets": list("name", "b")}),
                json!({"secrets": list("name", "b a")}),
            ),
            (
                "Job",
                json!({"metadata": {"finalizers": ["a", "b"]}}),
                json!({"metadata": {"finalizers": ["c", "a"]}}),
                json!({"metadata": {"finalizers": ["c", "a", "b"]}}),
            ),
            (
                "Job",
                json!({"metadata": {"finalizers": ["a", "b"]}}),
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}),
                json!({"metadata": {"finalizers": ["b"]}}),
            ),
        ] {
            let mut target = target;
            merge(&mut target, &patch, Type::of_kind(kind));
            assert_eq!(target.to_string(), result.to_string(), "{kind}");
        }
    }

    #[test]
    fn items_have_the_order_of_kubernetes() {
        let order = |before: &str, patch: Json| {
            let mut spec = json!({"spec": {"volumes": list("name", before)}});
            merge(&mut spec, &json!({"spec": patch}), Type::Pod);
            let names = spec["spec"]["volumes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["name"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order("a b c", json!({"volumes": list("name", "x")})), "x a b c");
        assert_eq!(order("a b c", json!({"volumes": list("name", "b x")})), "a b x c");
        assert_eq!(order("a b c", json!({"volumes": list("name", "c a")})), "b c a");
        assert_eq!(order("a b c", json!({"$setElementOrder/volumes": list("name", "c b a")})), "c b a");
        let both = json!({"$setElementOrder/volumes": list("name", "a x"), "volumes": list("name", "x")});
        assert_eq!(order("a b c", both), "a x b c");
        // khorovod's container remains the first.
        assert_eq!(
            pod(json!({"containers": list("name", "worker")}), json!({"containers": list("name", "sidecar")})),
            json!({"containers": list("name", "worker sidecar")}).to_string()
        );
    }

    #[test]
    fn directives_delete_replace_and_retain() {
        let volume = json!({"volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}, {"name": "b"}]});
        for (patch, result) in [
            (json!([{"name": "tmp", "$patch": "delete"}]), json!([{"name": "b"}])),
            (json!([{"name": "c"}, {"$patch": "replace"}]), json!([{"name": "c"}])),
            (
                json!([{"name": "tmp", "emptyDir": {"$patch": "replace", "sizeLimit": "1Gi"}}]),
                json!([{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "b"}]),
            ),
            (
                json!([{"name": "tmp", "emptyDir": {"$patch": "delete"}}]),
                json!([{"name": "tmp", "emptyDir": {}}, {"name": "b"}]),
            ),
            (
                json!([{"name": "tmp", "$retainKeys": ["name", "nfs"], "nfs": {"path": "/"}}]),
                json!([{"name": "tmp", "nfs": {"path": "/"}}, {"name": "b"}]),
            ),
            (
                json!([{"name": "c", "$retainKeys": ["name"], "nfs": null}]),
                json!([{"name": "c"}, {"name": "tmp", "emptyDir": {"medium": "Memory"}}, {"name": "b"}]),
            ),
        ] {
            assert_eq!(pod(volume.clone(), json!({"volumes": patch})), json!({"volumes": result}).to_string());
        }
        assert_eq!(
            pod(json!({}), json!({"dnsConfig": {"$patch": "delete"}, "a": {"b": [{"c": null}]}})),
            r#"{"a":{"b":[{}]}}"#
        );
    }
}
