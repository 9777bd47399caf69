//! Commands for a running job, to paste into a shell: to follow its output and to delete it.

use std::fmt::Write as _;

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
        Shape::Agents => {
            let most = plan.spec.elastic.as_ref().map_or(pods, |elastic| elastic.max_replicas.max(pods));
            format!("--tail=-1 --prefix --max-log-requests={most} -l {run}")
        }
        Shape::IndexedJob if plan.spec.target.pod_index.is_none() => format!("--tail=-1 -l {run},{INDEX}=0"),
        // If a target gives pods their index in another way, the pods have no label with the index. They have fixed
        // names instead.
        Shape::IndexedJob => plan.launcher_host().split('.').next().unwrap_or_default().to_owned(),
    };
    Commands {
        follow: format!("kubectl logs{namespace} -f {logs}"),
        delete: delete(
            &plan.spec.name,
            plan.spec.namespace.as_deref(),
            objects.iter().map(|object| (object.kind.as_str(), object.api_group)),
        ),
    }
}

/// The command that deletes or cancels the job of a plan.
pub(crate) fn delete_job(plan: &Plan, description: &Description, objects: &[Object]) -> String {
    commands(plan, description, objects, 0).delete
}

/// The command that deletes the objects of a job. `objects` are the kinds and API groups of these objects.
pub(super) fn delete<'o>(
    job: &str,
    namespace: Option<&str>,
    objects: impl Iterator<Item = (&'o str, &'o str)> + Clone,
) -> String {
    let of = namespace.map_or(String::new(), |name| format!(" -n {name}"));
    let mut line = format!("kubectl delete{of} -l khorovod.dev/job={job} {}", kinds(objects.clone()));
    if objects.map(|(kind, _)| kind).any(is_outside) {
        let namespace = namespace.unwrap_or("default");
        let _ = write!(
            line,
            " && kubectl delete -l khorovod.dev/job={job},khorovod.dev/namespace={namespace} clusterrole,clusterrolebinding"
        );
    }
    line
}

/// The kinds of the objects of a job, as an argument of kubectl. Claims and volumes are left out, because they hold
/// data.
fn kinds<'o>(objects: impl Iterator<Item = (&'o str, &'o str)>) -> String {
    let mut kinds: Vec<String> = KINDS.split(',').map(str::to_owned).collect();
    for (kind, api_group) in objects {
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
