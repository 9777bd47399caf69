//! The ServiceAccount, Role and RoleBinding of the pods of a run. They permit the launcher to read and scale its own
//! StatefulSets, to read and end its own Job, and to read which workers have an address. With `observability.events`,
//! they also permit the launcher to create events. The workers have the same account, because the first workers release
//! the GPUs if no launcher runs any more. These objects are left out if `security.apiAccess` is false, if the workers
//! are kept, or if the spec sets `security.serviceAccountName`.
//!
//! If the order of the ranks depends on labels of nodes, a ClusterRole and a ClusterRoleBinding permit the pods to read
//! nodes. These two objects belong to the job, so that a finished run leaves no objects outside the namespace.

use serde::Serialize;

use super::meta::{Metadata, NAMESPACE, Text};
use super::{Body, Object};
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccount {
    automount_service_account_token: bool,
}

#[derive(Debug, Serialize)]
pub struct Role<'a> {
    rules: Vec<Rule<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'a> {
    api_groups: [&'static str; 1],
    resources: [&'static str; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

/// Whether the ServiceAccount, the Role and the RoleBinding are rendered.
pub fn is_needed(plan: &Plan) -> bool {
    plan.own_job().is_some() && plan.spec.security.service_account.is_none()
}

/// The ServiceAccount.
pub fn build(plan: &Plan) -> Object<'_> {
    Object::new(
        "spec.security.serviceAccountName",
        Metadata::of_run(plan, plan.stem()).component("launcher"),
        Body::ServiceAccount(ServiceAccount { automount_service_account_token: false }),
    )
}

/// The Role.
pub fn role(plan: &Plan) -> Object<'_> {
    let rule = |group, resource, resource_names, verbs| Rule {
        api_groups: [group],
        resources: [resource],
        resource_names,
        verbs,
    };
    let mut rules = Vec::with_capacity(5);
    if plan.scales() {
        let sets: Vec<_> = plan.teams.iter().map(|team| Text::from(&team.workload)).collect();
        rules.push(rule("apps", "statefulsets", sets.clone(), &["get"]));
        rules.push(rule("apps", "statefulsets/scale", sets, &["get", "patch"]));
    }
    // A launcher ends its own Job by setting `backoffLimit`, because the Job has no failure policy.
    rules.push(rule("batch", "jobs", plan.own_job().into_iter().map(Text::from).collect(), &["get", "patch"]));
    if plan.uses_ssh() {
        // The launcher checks which workers have an address before it resolves their names, because DNS caches negative answers.
        rules.push(rule("", "endpoints", vec![plan.service()], &["get"]));
    }
    if plan.spec.observability.events {
        // Kubernetes cannot limit this permission to events about one object. So the pods get this permission only if
        // the spec asks for it.
        rules.push(rule("", "events", Vec::new(), &["create"]));
    }
    Object::new(
        "spec.security.apiAccess",
        Metadata::of_run(plan, plan.stem()).component("launcher"),
        Body::Role(Role { rules }),
    )
}

/// The subject of the bindings: the ServiceAccount of the run.
fn subject(plan: &Plan) -> Subject<'_> {
    Subject { kind: "ServiceAccount", name: plan.stem().into(), namespace: namespace(plan) }
}

/// The namespace of the ServiceAccount. A subject must have it, because neither the API server nor kubectl sets a default.
fn namespace(plan: &Plan) -> &str {
    plan.spec.namespace.as_deref().unwrap_or("default")
}

/// The RoleBinding.
pub fn binding(plan: &Plan) -> Object<'_> {
    Object::new(
        "spec.security.apiAccess",
        Metadata::of_run(plan, plan.stem()).component("launcher"),
        Body::RoleBinding(RoleBinding {
            role_ref: RoleRef { api_group: "rbac.authorization.k8s.io", kind: "Role", name: plan.stem().into() },
            subjects: [subject(plan)],
        }),
    )
}

/// The ClusterRole and the ClusterRoleBinding, if the pods read nodes.
pub fn cluster_role(plan: &Plan) -> impl Iterator<Item = Object<'_>> {
    const ORIGIN: &str = "spec.placement.topology.rankOrder";
    let name = || ["khorovod-", namespace(plan), "-", &plan.spec.name].concat();
    let metadata = move || {
        let mut metadata = Metadata::of_job(plan, name());
        metadata.namespace = None;
        metadata.labels.set(NAMESPACE, namespace(plan));
        metadata
    };
    let objects = (is_needed(plan) && plan.reads_nodes()).then(|| {
        let rule = Rule { api_groups: [""], resources: ["nodes"], resource_names: Vec::new(), verbs: &["get"] };
        let role_ref = RoleRef { api_group: "rbac.authorization.k8s.io", kind: "ClusterRole", name: name().into() };
        [
            Object::new(ORIGIN, metadata(), Body::ClusterRole(Role { rules: vec![rule] })),
            Object::new(
                ORIGIN,
                metadata(),
                Body::ClusterRoleBinding(RoleBinding { role_ref, subjects: [subject(plan)] }),
            ),
        ]
    });
    objects.into_iter().flatten()
}
