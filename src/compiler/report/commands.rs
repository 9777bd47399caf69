//! Commands for a running job, to paste into a shell: to follow its output and to delete it.

use super::{Commands, Description, Object};
use crate::plan::{Plan, Shape};

/// The kinds of objects that the runs of any job may have, without the kinds that hold data. An earlier run may have
/// had other kinds than the current one.
pub const KINDS: &str = "statefulset,job,service,configmap,secret,networkpolicy,serviceaccount,role,rolebinding";

/// The label with the index of a pod of an Indexed Job.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The commands for a job with these objects.
pub fn commands(plan: &Plan, description: &Description, objects: &[Object], pods: u32) -> Commands {
    if let Some(batch) = &description.batch {
        return Commands {
            follow: format!("tail -F {}", batch.output),
            delete: format!("scancel --me --name={}", plan.spec.name),
        };
    }
    let namespace = plan.spec.namespace.as_ref().map_or(String::new(), |name| format!(" -n {name}"));
    let job = format!("khorovod.dev/job={}", plan.spec.name);
    let run = format!("{job},khorovod.dev/run={}", plan.run);
    let logs = match plan.shape {
        Shape::StatefulSet => format!("--tail=-1 -l {run},app.kubernetes.io/component=launcher"),
        Shape::Agents => format!("--tail=-1 --prefix --max-log-requests={pods} -l {run}"),
        Shape::IndexedJob if plan.spec.target.pod_index.is_none() => format!("--tail=-1 -l {run},{INDEX}=0"),
        // If a target gives pods their index in another way, the pods have no label with the index. They have fixed
        // names instead.
        Shape::IndexedJob => plan.launcher_host().split('.').next().unwrap_or_default().to_owned(),
    };
    Commands {
        follow: format!("kubectl logs{namespace} -f {logs}"),
        delete: format!("kubectl delete{namespace} -l {job} {}{}", kinds(objects), delete_outside(plan, objects)),
    }
}

/// The kinds of the objects of a job, as an argument of kubectl. Claims and volumes are left out, because they hold
/// data.
fn kinds(objects: &[Object]) -> String {
    let mut kinds: Vec<String> = KINDS.split(',').map(str::to_owned).collect();
    for Object { kind, api_group, .. } in objects {
        let kind = kind.to_ascii_lowercase();
        let resource = if api_group.contains('.') && kind == "job" { format!("{kind}.{api_group}") } else { kind };
        if !kinds.contains(&resource) && !resource.starts_with("persistentvolume") && !is_outside(&resource) {
            kinds.push(resource);
        }
    }
    kinds.join(",")
}

/// Whether objects of this kind are outside of namespaces, where another job may have the same name.
fn is_outside(kind: &str) -> bool {
    kind.to_ascii_lowercase().starts_with("clusterrole")
}

/// The command that deletes the objects outside of namespaces, after another command. Empty if all objects of the job are in its namespace.
fn delete_outside(plan: &Plan, objects: &[Object]) -> String {
    if !objects.iter().any(|object| is_outside(&object.kind)) {
        return String::new();
    }
    let (job, namespace) = (&plan.spec.name, plan.spec.namespace.as_deref().unwrap_or("default"));
    format!(
        " && kubectl delete -l khorovod.dev/job={job},khorovod.dev/namespace={namespace} clusterrole,clusterrolebinding"
    )
}
