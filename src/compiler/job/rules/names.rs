//! Rules about the names in a spec, from which the names of pods and other objects derive.

use super::Case;
use crate::job::types::spec::LauncherPod;
use crate::job::types::target::{NameParts, RUN};
use crate::problem::{Problem, codes};

codes! {
    /// The job's name is too long for the names of its pods
    ///
    /// The name of a pod contains the name of the job, the run and the worker (`mnist-k4x2vq-worker-3`). Kubernetes copies
    /// it into labels of at most 63 characters, and appends a hash to the name of the StatefulSet. The name of a job can
    /// therefore have about 36 characters, or fewer with long names of groups.
    Error NAME_TOO_LONG = "name-too-long";

    /// Two entries have the same name
    ///
    /// Storage entries and worker groups need unique names.
    Error DUPLICATE_NAME = "duplicate-name";

    /// A label or annotation that khorovod sets
    ///
    /// `khorovod.dev/...` and the `app.kubernetes.io/` labels `name`, `component` and `managed-by`
    /// select the pods of the job, so their values are fixed. Use another key. For a queue of Kueue, write
    /// `scheduling.localQueue` instead of the label `kueue.x-k8s.io/queue-name`: khorovod then renders one Job, which Kueue can admit.
    Error RESERVED_LABEL = "reserved-label";

    /// A name that khorovod uses
    ///
    /// khorovod names the volumes of its own files `khorovod-...`. Use another prefix for storage entries.
    Error RESERVED_NAME = "reserved-name";
}

const LABEL: usize = 63;

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    name_length(case, problems);
    duplicates(case, problems);
    reserved(case, problems);
    launchers_claim(case, problems);
}

fn name_length(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["workers", "storage", "launcher.kind", "scheduling"]) {
        return;
    }
    let Some(name) = case.job.metadata.as_ref().and_then(|metadata| metadata.name.as_ref()) else { return };
    let spec = case.spec;
    let group =
        spec.groups.iter().filter_map(|group| group.name.as_ref()).map(|name| name.len() + 1).max().unwrap_or(0);
    let digits = spec
        .groups
        .iter()
        .map(|group| {
            group.replicas.saturating_add(group.spares).saturating_sub(1).max(elastic_last(case)).to_string().len()
        })
        .max()
        .unwrap_or(1);
    let tail = (spec.target.longest_suffix)(&NameParts {
        worker: RUN + "-worker".len() + group,
        launcher: RUN + "-launcher".len(),
        digits,
        is_indexed_job: spec.launcher.runs_in == LauncherPod::FirstWorker,
    });
    let storage = spec.storage.iter().map(|volume| volume.name.len() + 1).max().unwrap_or(0);
    let room = LABEL.saturating_sub(tail.max(storage));
    if name.0.len() > room {
        let message = format!(
            "`metadata.name` has {} characters; at most {room} are possible with the names that derive from it",
            name.0.len()
        );
        let mut problem = Problem::new(&NAME_TOO_LONG, name.span, message);
        let groups = case.groups();
        let longest = groups.filter_map(|group| group.name.as_ref()).max_by_key(|name| name.0.len());
        if let Some(group) = longest {
            problem = problem.and(group.span, "part of the names of its pods");
        }
        problems.push(match shortened(&name.0, room) {
            "" => problem.hint("shorten the names of the groups and of `storage`"),
            shorter => {
                problem.hint(format!("shorten it, for example to `{shorter}`")).fix(name.span, shorter).by_choice()
            }
        });
    }
}

/// Shortens a name to at most `room` bytes, at the end of a word if one is near.
fn shortened(name: &str, room: usize) -> &str {
    let cut = name.get(..room).unwrap_or(name);
    let word = cut.rfind('-').filter(|end| *end > room / 2).map_or(cut, |end| &cut[..end]);
    word.trim_end_matches('-')
}

fn elastic_last(case: &Case<'_>) -> u32 {
    case.spec.elastic.as_ref().map_or(0, |elastic| elastic.max_replicas.saturating_sub(1))
}

fn duplicates(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let storage = case.storage().filter_map(|at| at.name.as_ref());
    let groups = case.groups();
    let groups = groups.filter_map(|at| at.name.as_ref());
    for (what, names) in [("storage entries", storage.collect::<Vec<_>>()), ("worker groups", groups.collect())] {
        for (index, name) in names.iter().enumerate() {
            if let Some(first) = names[..index].iter().find(|other| other.0 == name.0) {
                let message = format!("two {what} have the name `{}`", name.0);
                let problem = Problem::new(&DUPLICATE_NAME, name.span, message).here("again here");
                problems.push(problem.and(first.span, "first here").hint("use different names"));
            }
        }
    }
}

/// Reports a volume whose claim would have the same name as the claim of a launcher that runs ranks. For each volume
/// `perWorker`, such a launcher has the claim `<job>-<storage>-launcher`.
fn launchers_claim(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let storage = || case.storage();
    let per_worker = storage().filter(|entry| entry.per_worker.is_some() && case.spec.launcher.runs_ranks);
    for name in per_worker.filter_map(|entry| entry.name.as_ref()) {
        let own = format!("{}-launcher", name.0);
        if let Some(other) = storage()
            .filter(|entry| entry.claim.is_some() || entry.persistent_volume.is_some())
            .find_map(|entry| entry.name.as_ref().filter(|other| other.0 == own))
        {
            let message =
                format!("the claim of the launcher for `{}` would have the same name as the claim for `{own}`", name.0);
            let problem = Problem::new(&DUPLICATE_NAME, other.span, message).and(name.span, "a claim for each");
            problems.push(problem.hint("give it another name"));
        }
    }
}

fn reserved(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(metadata) = &case.job.metadata else { return };
    let labels = metadata.labels.iter().flat_map(|at| &at.0).map(|(key, _)| key);
    let annotations = metadata.annotations.iter().flat_map(|at| &at.0).map(|(key, _)| key);
    for key in labels.chain(annotations) {
        let own = ["app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/managed-by"];
        if key.0.starts_with("khorovod.dev/") || own.contains(&key.0.as_str()) {
            let problem = Problem::new(&RESERVED_LABEL, key.span, format!("khorovod sets `{}`", key.0));
            problems.push(problem.hint("use another key, such as `acme.com/team`"));
        } else if key.0 == "kueue.x-k8s.io/queue-name" {
            let problem = Problem::new(&RESERVED_LABEL, key.span, "khorovod sets `kueue.x-k8s.io/queue-name` itself");
            problems.push(problem.hint("remove it, and write `scheduling: {localQueue: NAME}`"));
        }
    }
    for name in case.storage().filter_map(|at| at.name.as_ref()) {
        if name.0.starts_with("khorovod-") {
            let problem = Problem::new(&RESERVED_NAME, name.span, "names that start with `khorovod-` are reserved");
            problems.push(problem.hint(format!("call it `{}`", name.0.trim_start_matches("khorovod-"))));
        }
    }
}
