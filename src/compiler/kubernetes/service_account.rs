//! The ServiceAccount, Role and RoleBinding of the launcher. They permit it to scale its own StatefulSets, to read its own Job,
//! and to read which workers have an address. They are rendered only if the launcher scales the workers and the spec sets no
//! `security.serviceAccount`.

use serde::Serialize;

use super::meta::{Metadata, Text};
use super::{Body, Object};
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccount {
    automount_service_account_token: bool,
}

#[derive(Debug, Serialize)]
pub struct Role<'a> {
    rules: [Rule<'a>; 3],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'a> {
    api_groups: [&'static str; 1],
    resources: [&'static str; 1],
    resource_names: Vec<Text<'a>>,
    verbs: &'static [&'static str],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleBinding<'a> {
    role_ref: RoleRef<'a>,
    subjects: [Subject<'a>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RoleRef<'a> {
    api_group: &'static str,
    kind: &'static str,
    name: Text<'a>,
}

#[derive(Debug, Serialize)]
struct Subject<'a> {
    kind: &'static str,
    name: Text<'a>,
    namespace: &'a str,
}

/// Whether these objects are rendered.
pub fn wanted(plan: &Plan) -> bool {
    plan.scales() && plan.spec.security.service_account.is_none()
}

/// The ServiceAccount.
pub fn build(plan: &Plan) -> Object<'_> {
    Object::new(
        "spec.security.serviceAccount",
        Metadata::of_run(plan, plan.stem()).component("launcher"),
        Body::ServiceAccount(ServiceAccount { automount_service_account_token: false }),
    )
}

/// The Role.
pub fn role(plan: &Plan) -> Object<'_> {
    let sets = plan.teams.iter().map(|team| Text::from(&team.workload)).collect();
    Object::new(
        "spec.lifecycle.release",
        Metadata::of_run(plan, plan.stem()).component("launcher"),
        Body::Role(Role {
            rules: [
                Rule {
                    api_groups: ["apps"],
                    resources: ["statefulsets/scale"],
                    resource_names: sets,
                    verbs: &["get", "patch"],
                },
                Rule {
                    api_groups: ["batch"],
                    resources: ["jobs"],
                    resource_names: vec![super::meta::launcher_name(plan)],
                    verbs: &["get"],
                },
                // The launcher checks which workers have an address before it resolves their names, because DNS caches negative
                // answers.
                Rule {
                    api_groups: [""],
                    resources: ["endpoints"],
                    resource_names: vec![plan.service()],
                    verbs: &["get"],
                },
            ],
        }),
    )
}

/// The RoleBinding.
pub fn binding(plan: &Plan) -> Object<'_> {
    Object::new(
        "spec.lifecycle.release",
        Metadata::of_run(plan, plan.stem()).component("launcher"),
        Body::RoleBinding(RoleBinding {
            role_ref: RoleRef { api_group: "rbac.authorization.k8s.io", kind: "Role", name: plan.stem().into() },
            subjects: [Subject {
                kind: "ServiceAccount",
                name: plan.stem().into(),
                // The API server requires the namespace of a subject, and neither it nor kubectl sets a default.
                namespace: plan.spec.namespace.as_deref().unwrap_or("default"),
            }],
        }),
    )
}
