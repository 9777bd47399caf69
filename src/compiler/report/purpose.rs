//! [`Plan`] → the purpose of each object: why the job has the object, the key fact about it, and what Kubernetes or an
//! operator creates from the object. See [`describe`].

use super::{Created, Description, Object, Storage};
use crate::job::valid::{ClaimSource, LauncherKind, VolumeSource};
use crate::plan::{Document, Plan, Shape, Team};
use crate::problem::count;

/// Fills in the fact and the purpose of an object, and the objects that a controller creates from it. The kind and the name
/// of the object must be set. `storage` describes the volumes of the job.
pub fn describe(plan: &Plan, description: &Description, storage: &[Storage], object: &mut Object) {
    let (fact, purpose) = match object.kind.as_str() {
        "PersistentVolumeClaim" | "PersistentVolume" => volume(plan, storage, object),
        _ => fact_and_purpose(plan, description, object),
    };
    object.creates = created(plan, object);
    object.fact = fact;
    object.purpose = purpose;
}

/// The workers of a team: `4 workers and 1 spare, 8 GPUs and 8 ranks each`.
fn workers(plan: &Plan, team: &Team) -> String {
    let spares = if team.spares > 0 { format!(" and {}", count(team.spares, "spare")) } else { String::new() };
    format!("{}{spares}, {}", count(team.replicas, "worker"), each(plan, team))
}

fn each(plan: &Plan, team: &Team) -> String {
    let (gpus, ranks) = (plan.spec.groups[team.group].gpus, count(team.slots, "rank"));
    if gpus > 0 { format!("{} and {ranks} each", count(gpus, "GPU")) } else { format!("{ranks} each") }
}

fn all_pods(plan: &Plan) -> u32 {
    plan.teams.iter().map(Team::pods).sum::<u32>() + u32::from(plan.shape == Shape::StatefulSet)
}

/// Whether an object is the workload of a target that renders no workloads of Kubernetes' own kinds.
fn is_custom(plan: &Plan, object: &Object) -> bool {
    let target = plan.spec.target;
    let is_template = object.kind == "TrainingRuntime";
    !target.own_workloads && !is_template && !target.api_group.is_empty() && object.api_group == target.api_group
}

fn is_launcher(plan: &Plan, object: &Object) -> bool {
    plan.shape == Shape::StatefulSet && object.name == plan.launcher_pod()
}

/// The fact and the purpose of an object.
fn fact_and_purpose(plan: &Plan, description: &Description, object: &Object) -> (String, String) {
    let spec = &plan.spec;
    let pair = |fact: &str, purpose: &str| (fact.to_owned(), purpose.to_owned());
    if is_custom(plan, object) {
        let fact = format!("{}, {}", count(all_pods(plan), "pod"), count(plan.np, "rank"));
        let purpose =
            format!("Describes the whole run for {}, which creates the pods and stops them.", description.controller);
        return (fact, purpose);
    }
    match object.kind.as_str() {
        "StatefulSet" => {
            let Some(team) = plan.teams.iter().find(|team| team.workload == object.name) else {
                return pair("", "");
            };
            let replaced = if team.spares > 0 { " A spare takes the place of a worker that is lost." } else { "" };
            let purpose = format!(
                "Keeps the workers running under fixed host names, at which the launcher starts their ranks.{replaced}"
            );
            (workers(plan, team), purpose)
        }
        "Job" if is_launcher(plan, object) => {
            let end = if plan.scales() { ", and scales the workers to 0 at the end" } else { "" };
            let fact = format!("1 pod, {}", program(spec.launcher.kind));
            if spec.launcher.interactive {
                let purpose = "Runs a pod in which you start commands with `kubectl exec`. It ends the session after some time without use.";
                return ("1 pod".to_owned(), purpose.to_owned());
            }
            (fact, format!("Runs the launcher in a pod of its own. It waits for the workers, starts the ranks{end}."))
        }
        "Job" => {
            let fact = plan.teams.first().map_or_else(String::new, |team| workers(plan, team));
            let start = match plan.shape {
                Shape::Agents => "Each pod starts its own ranks, which meet at the pod with index 0.",
                _ => "The pod with index 0 also starts the ranks of all pods.",
            };
            (fact, format!("Runs each worker as a pod with a fixed index. {start}"))
        }
        "TrainingRuntime" => pair("template", "Contains the template from which the TrainJob creates its Jobs."),
        "Service" => (
            "headless".to_owned(),
            format!("Gives each pod a DNS name such as {}, so that the pods find each other.", plan.first_host()),
        ),
        "ConfigMap" if object.name == format!("{}-current", spec.name) => {
            let has_spec = matches!(plan.document, Document::Kept(_));
            let restores = if has_spec { " It also contains the spec, which `khorovod import` reads." } else { "" };
            let purpose = "Names the current run of the job. The launcher reads limits such as the deadline from it, so they can \
                           change while the run trains.";
            let fact = if has_spec { "limits of the run, and the spec" } else { "limits of the run" };
            (fact.to_owned(), format!("{purpose}{restores}"))
        }
        "ConfigMap" if object.name == plan.stem() => {
            let hostfile = if plan.hostfile.is_some() { " and hostfile" } else { "" };
            let purpose = "Contains what the pods run: the scripts that wait for workers, start ranks and watch them. It is \
                           immutable, and a changed spec gets a new one.";
            (format!("scripts{hostfile}"), purpose.to_owned())
        }
        "ConfigMap" => {
            let path = spec.code.as_ref().map_or("", |code| code.mount_path.as_str());
            (
                format!("mounted at {path}"),
                "Contains files of `code.files`, so that they need not be in the image.".to_owned(),
            )
        }
        "Secret" if !plan.uses_ssh() => {
            pair("one key", "Contains the key with which the pods authenticate each other when they pass on downloads.")
        }
        "Secret" => pair(
            "one key pair",
            "Contains the ssh keys with which the launcher logs in to the workers. Each run has its own.",
        ),
        "NetworkPolicy" => {
            let fact = if spec.placement.host_network { "no effect with hostNetwork" } else { "only pods of this job" };
            pair(fact, "Blocks connections from other pods, because the ranks do not authenticate their peers.")
        }
        "ServiceAccount" => pair(
            "identity of the pods",
            "Gives the pods an identity of their own at the Kubernetes API, which has only the permissions below.",
        ),
        "Role" => {
            let scales = if plan.scales() { "scale the workers and " } else { "" };
            let reads = if plan.uses_ssh() { ", and to read which workers have an address" } else { "" };
            (format!("{scales}end the Job"), format!("Permits the pods to {scales}end the Job of this run{reads}."))
        }
        "RoleBinding" => pair("", "Gives the Role to the ServiceAccount."),
        "ClusterRole" => {
            pair("read nodes", "Permits the pods to read the labels of nodes, by which the launcher sorts the ranks.")
        }
        "ClusterRoleBinding" => pair("", "Gives the ClusterRole to the ServiceAccount."),
        "PodMonitor" => pair("metrics", "Makes the Prometheus Operator read the metrics of the pods."),
        "PodGroup" => (
            format!("{} together", count(plan.min_members(), "pod")),
            "Makes the scheduler start these pods together or none of them, so that half of a job never holds GPUs."
                .to_owned(),
        ),
        "ResourceClaimTemplate" => {
            let name = spec.groups.iter().flat_map(|group| &group.claims);
            let name = name.filter(|claim| matches!(claim.source, ClaimSource::Devices(_)));
            let name = name.map(|claim| claim.name.as_str()).find(|name| object.name.ends_with(name));
            (
                name.unwrap_or_default().to_owned(),
                "Describes the devices that each worker gets by Dynamic Resource Allocation.".to_owned(),
            )
        }
        "ComputeDomain" => {
            pair("multi-node NVLink", "Makes NVIDIA's driver connect the GPUs of all workers over NVLink.")
        }
        "sbatch" => (
            format!("{}, {}", count(plan.workers, "node"), count(plan.np, "rank")),
            "Asks Slurm for the nodes, and starts the ranks on them.".to_owned(),
        ),
        _ => pair("", ""),
    }
}

/// The program that the launcher starts.
fn program(kind: LauncherKind) -> &'static str {
    if kind == LauncherKind::Shell { "your command" } else { kind.name() }
}

/// The fact and the purpose of a claim or a volume.
fn volume(plan: &Plan, storage: &[Storage], object: &Object) -> (String, String) {
    // The name of a PersistentVolume starts with the namespace, and that of the launcher's claim ends with `-launcher`.
    let name = object.name.strip_suffix("-launcher").unwrap_or(&object.name);
    let Some(index) = plan.spec.storage.iter().position(|volume| name.ends_with(&plan.spec.claim_of(volume))) else {
        return (String::new(), String::new());
    };
    let Storage { mount_path, source, .. } = &storage[index];
    let fact = source.split_once(": ").map_or(source.as_str(), |(_, claim)| claim);
    let start =
        if object.kind == "PersistentVolume" { "Describes the storage for" } else { "Requests the storage for" };
    (fact.to_owned(), format!("{start} {mount_path} in the pods. Its data remains if you delete the job."))
}

/// The pods, and the claims of each worker, that a controller creates from an object.
fn created(plan: &Plan, object: &Object) -> Vec<Created> {
    let pod = |name: String, count: u32, fact: String| Created { kind: "Pod", name, count, fact };
    let first = |host: String| host.split('.').next().unwrap_or_default().to_owned();
    let team_pods = |team: &Team| pod(first(team.host(0, &plan.service())), team.pods(), each(plan, team));
    let launcher = || pod(first(plan.launcher_host()), 1, program(plan.spec.launcher.kind).to_owned());
    if is_custom(plan, object) {
        let own = (plan.shape == Shape::StatefulSet).then(launcher);
        return own.into_iter().chain(plan.teams.iter().map(team_pods)).collect();
    }
    match object.kind.as_str() {
        "StatefulSet" => {
            let Some(team) = plan.teams.iter().find(|team| team.workload == object.name) else { return Vec::new() };
            let claims = plan.spec.storage.iter().filter_map(|volume| match &volume.source {
                VolumeSource::PerWorker(claim) => Some(Created {
                    kind: "PersistentVolumeClaim",
                    name: format!("{}-{}-0", volume.name, team.workload),
                    count: team.pods(),
                    fact: format!("{}, {}", claim.size, volume.mount_path),
                }),
                _ => None,
            });
            [team_pods(team)].into_iter().chain(claims).collect()
        }
        "Job" if is_launcher(plan, object) => vec![launcher()],
        "Job" => plan.teams.iter().map(team_pods).collect(),
        _ => Vec::new(),
    }
}
